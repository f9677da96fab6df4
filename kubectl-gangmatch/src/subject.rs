//! Words of a command line, such as `job/sim`, into the objects they name.

use anyhow::bail;

use crate::amounts::listed_with;
use crate::cluster::Kind;
use crate::schema::similar;

/// The kinds that a command line can name, each with its names: singular, plural, short.
const NAMES: [(Kind, [&str; 3]); 7] = [
    (Kind::Job, ["job", "jobs", "gmj"]),
    (Kind::Machine, ["machine", "machines", "gmm"]),
    (Kind::License, ["license", "licenses", "gml"]),
    (Kind::Match, ["match", "matches", "gmatch"]),
    (Kind::MachineClass, ["machineclass", "machineclasses", "gmc"]),
    (Kind::Account, ["account", "accounts", "gma"]),
    (Kind::PoolPolicy, ["poolpolicy", "poolpolicies", "gmp"]),
];

/// An object that is named on the command line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Subject {
    pub(crate) kind: Kind,
    pub(crate) name: String,
}

impl Kind {
    /// Its name, in lower case.
    pub(crate) fn word(self) -> &'static str {
        NAMES.iter().find(|(kind, _)| *kind == self).map_or("namespace", |(_, [singular, ..])| singular)
    }

    /// Its name, as manifests write it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Job => "Job",
            Kind::Machine => "Machine",
            Kind::License => "License",
            Kind::Match => "Match",
            Kind::MachineClass => "MachineClass",
            Kind::Account => "Account",
            Kind::PoolPolicy => "PoolPolicy",
            Kind::Namespace => "Namespace",
        }
    }

    /// The name of an object as `-o name` prints it, and kubectl takes it.
    pub(crate) fn full_name(self, name: &str) -> String {
        format!("{}.gangmatch.dev/{name}", self.word())
    }
}

/// The kind of this name; `None` if there is none.
fn kind_of(word: &str) -> Option<Kind> {
    let lower = word.to_ascii_lowercase();
    let bare = lower.strip_suffix(".gangmatch.dev").unwrap_or(&lower);
    NAMES.iter().find(|(_, names)| names.contains(&bare)).map(|(kind, _)| *kind)
}

/// The kind of this name, which must be one of `allowed`.
///
/// # Errors
/// There is no such kind, or it is another one; the message says which there are.
pub(crate) fn kind(word: &str, allowed: &[Kind]) -> anyhow::Result<Kind> {
    let words: Vec<&str> = allowed.iter().map(|kind| kind.word()).collect();
    let list = listed_with(&words, "or");
    match kind_of(word) {
        Some(kind) if allowed.contains(&kind) => Ok(kind),
        Some(kind) => {
            let article = if kind.word().starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
            let shown = if kind == Kind::Account { "; quota and userprio show accounts" } else { "" };
            bail!("{article} {} cannot be used here; write {list}{shown}", kind.word())
        }
        None => {
            let all = NAMES.iter().filter(|(kind, _)| allowed.contains(kind)).flat_map(|(_, names)| *names);
            let meant = similar(word, all).map(|other| format!("; did you mean {other}?"));
            bail!("there is no kind `{word}`{}", meant.unwrap_or_else(|| format!("; write {list}")))
        }
    }
}

/// Whether an object may have this name: kubectl would take a word such as `--all` for an option.
fn check(subject: Subject) -> anyhow::Result<Subject> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.';
    if subject.name.starts_with('-') || !subject.name.bytes().all(fits) {
        bail!("`{}` is not the name of an object; names have lower-case letters, digits, `-` and `.`", subject.name);
    }
    Ok(subject)
}

/// The objects that words name: `KIND/NAME` each, or `KIND NAME...`, or, if only jobs are meant, `NAME` each.
///
/// # Errors
/// A word names no kind, one that is not allowed, or no object.
pub(crate) fn subjects(words: &[String], allowed: &[Kind]) -> anyhow::Result<Vec<Subject>> {
    named(words, allowed)?.into_iter().map(check).collect()
}

fn named(words: &[String], allowed: &[Kind]) -> anyhow::Result<Vec<Subject>> {
    let bare = !words.iter().any(|word| word.contains('/'));
    if let ([first, names @ ..], true) = (words, bare)
        && (kind_of(first).is_some() || allowed.len() > 1)
        && (!names.is_empty() || kind_of(first).is_some() && allowed.len() > 1)
    {
        let kind = kind(first, allowed)?;
        if names.is_empty() {
            bail!("the name is missing; write {first}/NAME");
        }
        return Ok(names.iter().map(|name| Subject { kind, name: name.clone() }).collect());
    }
    let one = |word: &String| match (word.split_once('/'), allowed) {
        (Some((_, "")), _) => bail!("the name is missing in `{word}`; write {word}NAME"),
        (Some((first, name)), _) => Ok(Subject { kind: kind(first, allowed)?, name: name.to_owned() }),
        (None, [only]) => Ok(Subject { kind: *only, name: word.clone() }),
        (None, _) => {
            let ways: Vec<String> = allowed.iter().map(|kind| format!("{}/{word}", kind.word())).collect();
            bail!("the kind of `{word}` is missing; write {}", ways.join(" or "))
        }
    };
    words.iter().map(one).collect()
}

/// The object that is meant by the name of a workload: the job that was made for it. Otherwise the object that is named.
pub(crate) fn meant<'n>(
    subject: &Subject,
    namespace: &str,
    names: impl Iterator<Item = (&'n str, &'n str)>,
) -> Subject {
    let here: Vec<&str> = names.filter(|(other, _)| *other == namespace).map(|(_, name)| name).collect();
    let is_it = |name: &&&str| **name == subject.name;
    let mut made = here.iter().filter(|name| is_made_for(name, &subject.name));
    match (subject.kind, here.iter().find(is_it), made.next(), made.next()) {
        (Kind::Job, None, Some(made), None) => Subject { kind: Kind::Job, name: (*made).to_owned() },
        _ => subject.clone(),
    }
}

/// What is said of a name that no object has.
pub(crate) fn no_such<'n>(
    subject: &Subject,
    namespace: &str,
    names: impl Iterator<Item = (&'n str, &'n str)>,
) -> anyhow::Error {
    let all: Vec<(&str, &str)> = names.collect();
    let here = || all.iter().filter(|(other, _)| *other == namespace).map(|(_, name)| *name);
    if let Some(made) = here().find(|name| is_made_for(name, &subject.name)) {
        let word = subject.kind.word();
        return anyhow::anyhow!(
            "there is no {word} `{0}` in namespace {namespace}; that of the workload `{0}` is {made}",
            subject.name
        );
    }
    let elsewhere: Vec<&str> = all.iter().filter(|(_, name)| *name == subject.name).map(|(other, _)| *other).collect();
    let hint = match (elsewhere.as_slice(), similar(&subject.name, here())) {
        ([], None) => String::new(),
        ([], Some(meant)) => format!("; did you mean {meant}?"),
        ([only], _) => format!("; there is one in namespace {only}, write -n {only}"),
        (several, _) => format!("; there are some in the namespaces {}, choose one with -n", several.join(", ")),
    };
    anyhow::anyhow!("there is no {} `{}` in namespace {namespace}{hint}", subject.kind.word(), subject.name)
}

/// What is said of a name that no object has in any namespace.
pub(crate) fn no_such_anywhere<'n>(subject: &Subject, names: impl Iterator<Item = &'n str>) -> anyhow::Error {
    let hint = similar(&subject.name, names).map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
    anyhow::anyhow!("there is no {} `{}` in any namespace that you may read{hint}", subject.kind.word(), subject.name)
}

/// Whether a Job has the name of one that gangmatch makes for a workload: its name, and eight hexadecimal digits.
pub(crate) fn is_made_for(name: &str, workload: &str) -> bool {
    let digits = name.strip_prefix(workload).and_then(|rest| rest.strip_prefix('-'));
    digits.is_some_and(|digits| digits.len() == 8 && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// A kind of ad, as an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AdKindArgument(pub(crate) Kind);

/// The kinds of ads.
pub(crate) const AD_KINDS: [Kind; 3] = [Kind::Job, Kind::Machine, Kind::License];

impl std::str::FromStr for AdKindArgument {
    type Err = anyhow::Error;

    fn from_str(word: &str) -> anyhow::Result<AdKindArgument> {
        kind(word, &AD_KINDS).map(AdKindArgument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    fn subject(kind: Kind, name: &str) -> Subject {
        Subject { kind, name: name.to_owned() }
    }

    #[test]
    fn objects_are_named_as_with_kubectl() {
        let all = [Kind::Job, Kind::Machine, Kind::License];
        for text in ["job/sim", "gmj/sim", "jobs.gangmatch.dev/sim", "job.gangmatch.dev/sim", "Job sim", "gmj sim"] {
            assert_eq!(subjects(&words(text), &all).unwrap(), [subject(Kind::Job, "sim")], "{text}");
        }
        assert_eq!(
            subjects(&words("machine/a license/b"), &all).unwrap(),
            [subject(Kind::Machine, "a"), subject(Kind::License, "b")]
        );
        assert_eq!(
            subjects(&words("machines a b"), &all).unwrap(),
            [subject(Kind::Machine, "a"), subject(Kind::Machine, "b")]
        );
    }

    #[test]
    fn a_verb_for_jobs_takes_bare_names() {
        assert_eq!(subjects(&words("a b"), &[Kind::Job]).unwrap(), [subject(Kind::Job, "a"), subject(Kind::Job, "b")]);
        assert_eq!(subjects(&words("job/a"), &[Kind::Job]).unwrap(), [subject(Kind::Job, "a")]);
        assert_eq!(subjects(&words("job"), &[Kind::Job]).unwrap(), [subject(Kind::Job, "job")]);
    }

    #[test]
    fn other_words_are_answered_with_what_to_write() {
        let both = [Kind::Machine, Kind::License];
        for (text, said) in [
            ("machin/a", "there is no kind `machin`; did you mean machine?"),
            ("pod/a", "there is no kind `pod`; write machine or license"),
            ("job/a", "a job cannot be used here; write machine or license"),
            ("account/a", "an account cannot be used here; write machine or license; quota and userprio show accounts"),
            ("machine", "the name is missing; write machine/NAME"),
            ("machine/", "the name is missing in `machine/`; write machine/NAME"),
            ("machine/a b", "the kind of `b` is missing; write machine/b or license/b"),
            ("foo", "the kind of `foo` is missing; write machine/foo or license/foo"),
            (
                "machine/--all",
                "`--all` is not the name of an object; names have lower-case letters, digits, `-` and `.`",
            ),
        ] {
            assert_eq!(subjects(&words(text), &both).unwrap_err().to_string(), said, "{text}");
        }
    }

    #[test]
    fn the_name_of_a_workload_means_the_job_that_was_made_for_it() {
        let of = |names: &[&str]| meant(&subject(Kind::Job, "sm"), "eda", names.iter().map(|name| ("eda", *name))).name;
        assert_eq!(of(&["sm-2", "sm-7874ae41"]), "sm-7874ae41");
        assert_eq!(of(&["sm", "sm-7874ae41"]), "sm");
        assert_eq!(of(&["sm-7874ae42", "sm-7874ae41"]), "sm");
        let machine = meant(&subject(Kind::Machine, "sm"), "eda", [("eda", "sm-7874ae41")].into_iter());
        assert_eq!(machine.name, "sm");
    }

    #[test]
    fn a_name_that_no_object_has_is_answered_with_the_one_that_was_meant() {
        let job = subject(Kind::Job, "sm");
        let said = |names: &[(&str, &str)]| no_such(&job, "eda", names.iter().copied()).to_string();
        assert_eq!(said(&[("eda", "sim")]), "there is no job `sm` in namespace eda; did you mean sim?");
        assert_eq!(
            said(&[("bio", "sm")]),
            "there is no job `sm` in namespace eda; there is one in namespace bio, write -n bio"
        );
        assert_eq!(
            said(&[("eda", "sm-2"), ("eda", "sm-7874ae41")]),
            "there is no job `sm` in namespace eda; that of the workload `sm` is sm-7874ae41"
        );
        assert_eq!(said(&[("bio", "other")]), "there is no job `sm` in namespace eda");
    }
}
