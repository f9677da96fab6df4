//! Patterns at work: in linear time, or with the feature `pcre` and in HTCondor's dialect by bounded backtracking.

use std::ops::Range;

use regex::RegexBuilder;

#[cfg(feature = "pcre")]
use crate::builtins::engine_pcre;
use crate::text::Dialect;

/// How much memory a compiled pattern and its automaton may take, in bytes.
pub(crate) const COMPILED_MAX: usize = 1 << 20;

/// Which engine matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Linear time, no look-around, no references back.
    Linear,
    /// Patterns beyond regular languages, within a number of steps.
    #[cfg(feature = "pcre")]
    Backtracking,
}

impl Engine {
    /// The engine of a dialect: what HTCondor matches is matched in its own dialect only, and only where that is built in.
    pub(crate) fn of(dialect: Dialect) -> Self {
        match dialect {
            #[cfg(feature = "pcre")]
            Dialect::Htcondor => Self::Backtracking,
            _ => Self::Linear,
        }
    }
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) enum Regex {
    Linear(regex::Regex),
    #[cfg(feature = "pcre")]
    Backtracking(engine_pcre::Regex),
}

/// Where the groups of one match are, the whole match first.
pub(crate) type Groups = Vec<Option<Range<usize>>>;

/// A compiled pattern: `translated` is written for the linear engine, `_pcre` as the author wrote it.
pub(crate) fn build(engine: Engine, translated: Option<&str>, _pcre: &str, options: &str) -> Option<Regex> {
    match engine {
        Engine::Linear => RegexBuilder::new(translated?)
            .case_insensitive(options.contains('i'))
            .multi_line(options.contains('m'))
            .dot_matches_new_line(options.contains('s'))
            .ignore_whitespace(options.contains('x'))
            .size_limit(COMPILED_MAX)
            .dfa_size_limit(COMPILED_MAX)
            .build()
            .ok()
            .map(Regex::Linear),
        #[cfg(feature = "pcre")]
        Engine::Backtracking => engine_pcre::build(translated, _pcre, options).map(Regex::Backtracking),
    }
}

impl Regex {
    /// The pattern as the engine has it.
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Linear(regex) => regex.as_str(),
            #[cfg(feature = "pcre")]
            Self::Backtracking(regex) => regex.as_str(),
        }
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        match self {
            Self::Linear(regex) => regex.is_match(text),
            #[cfg(feature = "pcre")]
            Self::Backtracking(regex) => regex.is_match(text),
        }
    }

    /// All matches, one after the other.
    pub(crate) fn matches<'r>(&'r self, text: &'r str) -> Box<dyn Iterator<Item = Groups> + 'r> {
        match self {
            Self::Linear(regex) => Box::new(
                regex
                    .captures_iter(text)
                    .map(|captures| captures.iter().map(|group| group.map(|group| group.range())).collect()),
            ),
            #[cfg(feature = "pcre")]
            Self::Backtracking(regex) => Box::new(regex.matches(text)),
        }
    }
}
