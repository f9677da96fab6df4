//! `completion`: scripts for shells, and the answers that they ask for. The names of objects come from the cluster.

use std::io::Write;
use std::process::ExitCode;

use clap::{Arg, Command, ValueEnum};

use crate::cluster::{ClusterOptions, Kind, Kubectl, Scope};
use crate::subject::AD_KINDS;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
`kubectl gangmatch ...` is completed by the completion of kubectl, which asks an executable kubectl_complete-gangmatch on the PATH. The
scripts for bash, zsh and fish complete the program's own name, kubectl-gangmatch.

Examples:
  kubectl gangmatch completion kubectl > ~/bin/kubectl_complete-gangmatch; chmod +x ~/bin/kubectl_complete-gangmatch
  source <(kubectl gangmatch completion bash)
  kubectl gangmatch completion zsh > \"${fpath[1]}/_kubectl-gangmatch\"
  kubectl gangmatch completion fish > ~/.config/fish/completions/kubectl-gangmatch.fish

Exit status:
  0  the script was printed
  2  there is no such shell";

/// For what to print a script.
#[derive(Debug, clap::Args)]
pub(crate) struct CompletionArguments {
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shell {
    /// The executable that the completion of kubectl asks, in any shell.
    Kubectl,
    Bash,
    Zsh,
    Fish,
}

/// The words of a command line that is being written; the last one is not complete.
#[derive(Debug, clap::Args)]
pub(crate) struct CompleteArguments {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORD")]
    words: Vec<String>,
}

/// Prints the script.
pub(crate) fn run(arguments: &CompletionArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    out.write_all(match arguments.shell {
        Shell::Kubectl => KUBECTL.as_bytes(),
        Shell::Bash => BASH.as_bytes(),
        Shell::Zsh => ZSH.as_bytes(),
        Shell::Fish => FISH.as_bytes(),
    })?;
    Ok(ExitCode::SUCCESS)
}

const KUBECTL: &str = "#!/bin/sh\nexec kubectl-gangmatch __complete \"$@\"\n";

const BASH: &str = r#"_kubectl_gangmatch() {
    local out files IFS=$'\n'
    out=$(kubectl-gangmatch __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null) || return
    files=${out##*:}
    COMPREPLY=($(compgen -W "$(printf '%s' "${out%:*}" | cut -f1)" -- "${COMP_WORDS[COMP_CWORD]}"))
    [ "$files" = 0 ] || compopt +o default
}
complete -o default -F _kubectl_gangmatch kubectl-gangmatch
"#;

const ZSH: &str = r#"#compdef kubectl-gangmatch
_kubectl_gangmatch() {
    local -a lines
    lines=(${(f)"$(kubectl-gangmatch __complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
    if [[ ${lines[-1]} == :0 ]]; then
        _files
        return
    fi
    lines=(${lines[1,-2]//:/\\:})
    lines=(${lines//$'\t'/:})
    _describe 'kubectl gangmatch' lines
}
compdef _kubectl_gangmatch kubectl-gangmatch
"#;

const FISH: &str = r#"function __kubectl_gangmatch
    set -l words (commandline -opc) (commandline -ct)
    set -l lines (kubectl-gangmatch __complete $words[2..-1] 2>/dev/null)
    if test "$lines[-1]" = :0
        __fish_complete_path (commandline -ct)
    else
        printf '%s\n' $lines[1..-2]
    end
end
complete -c kubectl-gangmatch -f -a '(__kubectl_gangmatch)'
"#;

/// Prints the words that could be meant, each with its description after a tab, and at the end `:4`; or `:0` if files are meant. This is
/// the form in which kubectl and its completion scripts expect it.
pub(crate) fn complete(
    arguments: &CompleteArguments,
    whole: &Command,
    out: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let (last, before) = arguments.words.split_last().map_or(("", [].as_slice()), |(last, before)| (last, before));
    let found = meant(whole, before, last);
    let is_files = matches!(found, Meant::Files);
    for (word, about) in words(found, before) {
        // A word of a cluster, such as the name of a context, may be anything.
        let shows = !word.is_empty() && word.starts_with(last) && word.chars().all(crds::ad::shows_as_written);
        match about.as_str() {
            _ if !shows => {}
            "" => writeln!(out, "{word}")?,
            about => writeln!(out, "{word}\t{about}")?,
        }
    }
    writeln!(out, ":{}", if is_files { 0 } else { 4 })?;
    Ok(ExitCode::SUCCESS)
}

/// What the last word of a command line may be.
#[derive(Debug, PartialEq, Eq)]
enum Meant {
    /// One of these words, each with its description.
    Words(Vec<(String, String)>),
    /// A job, by its name.
    Job,
    /// An object of these kinds, as KIND/NAME.
    Object(&'static [Kind]),
    Namespace,
    Context,
    Files,
}

fn meant(whole: &Command, before: &[String], last: &str) -> Meant {
    let (mut command, mut verbs) = (whole, before.iter().filter(|word| !word.starts_with('-')));
    while command.has_subcommands() {
        let Some(verb) = verbs.next().and_then(|name| command.find_subcommand(name)) else {
            let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
            let word = |command: &Command| (command.get_name().to_owned(), about(command.get_about()));
            return Meant::Words(shown.map(word).collect());
        };
        command = verb;
    }
    let flag = |word: &str| -> Option<&Arg> {
        let is_it = |arg: &&Arg| {
            let long = arg.get_long().is_some_and(|long| word.strip_prefix("--") == Some(long));
            long || arg.get_short().is_some_and(|short| word == format!("-{short}"))
        };
        command.get_arguments().find(is_it)
    };
    if let Some((name, _)) = last.split_once('=').filter(|_| last.starts_with("--")) {
        return match flag(name).map(value) {
            Some(Meant::Words(words)) => {
                Meant::Words(words.into_iter().map(|(word, about)| (format!("{name}={word}"), about)).collect())
            }
            _ => Meant::Words(Vec::new()),
        };
    }
    if let Some(arg) = before.last().and_then(|word| flag(word)).filter(|arg| arg.get_action().takes_values()) {
        return value(arg);
    }
    if last.starts_with('-') {
        let flags = command.get_arguments().filter(|arg| !arg.is_hide_set());
        let word = |arg: &Arg| Some((format!("--{}", arg.get_long()?), about(arg.get_help())));
        return Meant::Words(flags.filter_map(word).collect());
    }
    command.get_positionals().next().map_or(Meant::Words(Vec::new()), value)
}

/// The first sentence of a help text.
fn about(text: Option<&clap::builder::StyledStr>) -> String {
    let text = text.map(ToString::to_string).unwrap_or_default();
    text.split([';', ':', '\n'])
        .next()
        .and_then(|text| text.split(". ").next())
        .unwrap_or("")
        .trim_end_matches('.')
        .to_owned()
}

/// What the value of an argument may be.
fn value(arg: &Arg) -> Meant {
    let possible = arg.get_possible_values();
    if !possible.is_empty() {
        let word = |value: &clap::builder::PossibleValue| (value.get_name().to_owned(), about(value.get_help()));
        return Meant::Words(possible.iter().map(word).collect());
    }
    let value_name = arg.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    match (arg.get_id().as_str(), value_name) {
        ("namespace" | "controller_namespace", _) => Meant::Namespace,
        ("context", _) => Meant::Context,
        (_, "JOB") => Meant::Job,
        (_, "OFFER") => Meant::Object(&[Kind::Machine, Kind::License]),
        (_, "KIND/NAME") => Meant::Object(&AD_KINDS),
        (_, "KIND") => Meant::Words(AD_KINDS.iter().map(|kind| (kind.word().to_owned(), String::new())).collect()),
        (_, "PATH" | "FILE" | "DIR") => Meant::Files,
        _ => Meant::Words(Vec::new()),
    }
}

/// The words; names are asked of the cluster that the command line names.
fn words(meant: Meant, before: &[String]) -> Vec<(String, String)> {
    let given = |names: &[&str]| {
        let place = before.iter().position(|word| names.contains(&word.as_str()));
        let after = place.and_then(|place| before.get(place + 1)).cloned();
        let joined = before.iter().find_map(|word| {
            names.iter().find_map(|name| word.strip_prefix(name)?.strip_prefix('=').map(str::to_owned))
        });
        after.or(joined)
    };
    let options = ClusterOptions {
        context: given(&["--context"]),
        kubeconfig: given(&["--kubeconfig"]).map(Into::into),
        user: given(&["--as"]),
        groups: Vec::new(),
        request_timeout: Some("2s".to_owned()),
    };
    let kubectl = Kubectl::of(&options);
    let names = |resource: &str, namespaced: bool| -> Vec<String> {
        let namespace = given(&["-n", "--namespace"]);
        let scope = match namespaced {
            true => namespace.unwrap_or_else(|| kubectl.current_namespace()),
            false => String::new(),
        };
        let scope = if namespaced { Scope::One(&scope) } else { Scope::All };
        let listed = kubectl.list(&[resource], scope, &[]).unwrap_or_default();
        let name = |item: &serde_json::Value| item.pointer("/metadata/name")?.as_str().map(str::to_owned);
        listed.items.iter().filter_map(name).collect()
    };
    let plain = |names: Vec<String>| names.into_iter().map(|name| (name, String::new())).collect();
    match meant {
        Meant::Words(words) => words,
        Meant::Job => plain(names(Kind::Job.resource(), true)),
        Meant::Object(kinds) => {
            let of_kind = |kind: &Kind| {
                let word = kind.word();
                names(kind.resource(), true).into_iter().map(move |name| (format!("{word}/{name}"), String::new()))
            };
            kinds.iter().flat_map(of_kind).collect()
        }
        Meant::Namespace => plain(names("namespaces", false)),
        Meant::Context => {
            let said = kubectl.run(&["config", "get-contexts", "--output=name"]).unwrap_or_default();
            plain(said.lines().map(str::to_owned).collect())
        }
        Meant::Files => Vec::new(),
    }
}
