//! What kind of text a file holds, so that a verb that reads another kind can name the one that reads this.

use crate::command::import::queue::queued;

/// A kind of text that is not simply an ad or an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// YAML or JSON with an apiVersion.
    Manifest,
    /// A submit file of HTCondor.
    SubmitFile,
    /// Ads as `condor_status -long` prints them.
    Dump,
}

impl TextKind {
    /// What is said of a manifest where an ad is read.
    pub(crate) const MANIFEST: &str =
        "found a manifest, not an ad; `lint` checks manifests, and ads stand in files of their own or in spec.classad";
    /// What is said of a submit file where something else is read.
    pub(crate) const SUBMIT_FILE: &str =
        "found a submit file of HTCondor; write `kubectl gangmatch import FILE`, which converts it into Jobs";
    /// What is said of ads where a manifest is read.
    const DUMP: &str = "found ads of HTCondor; write `kubectl gangmatch import FILE`, which converts those of machines";

    /// The kind of a text, as its lines tell.
    pub(crate) fn of(text: &str) -> Option<TextKind> {
        let begins = |start: &str| text.lines().any(|line| line.starts_with(start));
        let is_json = text.trim_start().starts_with('{') && text.contains("\"apiVersion\"");
        if begins("apiVersion:") || is_json {
            return Some(TextKind::Manifest);
        }
        if text.lines().any(|line| queued(line).is_some()) {
            return Some(TextKind::SubmitFile);
        }
        let key = |line: &str| line.split_once('=').is_some_and(|(key, _)| key.trim().eq_ignore_ascii_case("MyType"));
        text.lines().any(key).then_some(TextKind::Dump)
    }

    /// What is said of this kind where a manifest is read.
    pub(crate) fn instead_of_manifest(self) -> Option<&'static str> {
        match self {
            TextKind::Manifest => None,
            TextKind::SubmitFile => Some(TextKind::SUBMIT_FILE),
            TextKind::Dump => Some(TextKind::DUMP),
        }
    }

    /// What is said of this kind where an ad is read.
    pub(crate) fn instead_of_ad(self) -> Option<&'static str> {
        match self {
            TextKind::Manifest => Some(TextKind::MANIFEST),
            TextKind::SubmitFile => Some(TextKind::SUBMIT_FILE),
            TextKind::Dump => None,
        }
    }
}
