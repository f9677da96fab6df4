//! Environments and argument lists as HTCondor writes them, and what asks the host: without a host, nothing is known.

use crate::builtins::arguments::{argument, strict};
use crate::eval::evaluator::{Bounded, Evaluator, Outcome};
use crate::eval::lazy::Lazy;

/// What separates words.
const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// Blanks and quotes stand in single quotes, a quote in them twice.
fn quoted(word: &str) -> String {
    if word.is_empty() {
        return "''".to_owned();
    }
    let mut out = String::new();
    for character in word.chars() {
        if matches!(character, ' ' | '\t' | '\n' | '\r' | '\'') {
            // A quoted stretch goes on if one has just ended.
            if out.ends_with('\'') {
                out.pop();
            } else {
                out.push('\'');
            }
            if character == '\'' {
                out.push('\'');
            }
            out.push(character);
            out.push('\'');
        } else {
            out.push(character);
        }
    }
    out
}

/// The words of a text with such quotes; none if a quote is not closed.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut inside = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\'' if inside && characters.peek() == Some(&'\'') => {
                characters.next();
                word.get_or_insert_default().push('\'');
            }
            '\'' => {
                inside = !inside;
                word.get_or_insert_default();
            }
            ' ' | '\t' | '\n' | '\r' if !inside => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    (!inside).then_some(words)
}

/// `envV1ToV2(s)`: `A=1;B=2` into `A=1 B=2`.
pub(crate) fn env_v1_to_v2<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(match argument(arguments, 0) {
        Lazy::Undefined => Lazy::Undefined,
        Lazy::String(text) => {
            taken_apart(evaluator, text)?;
            environment(evaluator, text.split(';').map(str::to_owned).collect())?
        }
        _ => Lazy::Error,
    })
}

/// `mergeEnvironment(s, ...)`: later settings replace earlier ones.
pub(crate) fn merge_environment<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let mut settings = Vec::new();
    for value in arguments {
        match value {
            Lazy::Undefined => {}
            Lazy::String(text) => {
                taken_apart(evaluator, text)?;
                match words(text) {
                    Some(words) => settings.extend(words),
                    None => return Ok(Lazy::Error),
                }
            }
            _ => return Ok(Lazy::Error),
        }
    }
    environment(evaluator, settings)
}

/// The settings as one environment; finding the earlier ones of the same name takes the square of their number.
fn environment<'e>(evaluator: &mut Evaluator<'e>, settings: Vec<String>) -> Outcome<'e> {
    evaluator.spend(settings.len().saturating_mul(settings.len()))?;
    match variables(settings) {
        Some(text) => evaluator.string(text),
        None => Ok(Lazy::Error),
    }
}

/// Pays for taking a text apart, letter by letter, into as many pieces as it may have, and for putting them together again.
fn taken_apart(evaluator: &mut Evaluator<'_>, text: &str) -> Bounded<()> {
    const STEPS: usize = 2;
    const BYTES: usize = 48;
    evaluator.spend(text.len().saturating_mul(STEPS))?;
    evaluator.take(text.len().saturating_mul(BYTES))
}

/// Settings in the new form; none if one has no name.
fn variables(settings: Vec<String>) -> Option<String> {
    let mut variables: Vec<(String, String)> = Vec::new();
    for setting in settings {
        if setting.is_empty() {
            continue;
        }
        let (name, value) = setting.split_once('=').filter(|(name, _)| !name.is_empty())?;
        match variables.iter_mut().find(|(own, _)| own == name) {
            Some((_, old)) => value.clone_into(old),
            None => variables.push((name.to_owned(), value.to_owned())),
        }
    }
    let settings: Vec<String> = variables.iter().map(|(name, value)| quoted(&format!("{name}={value}"))).collect();
    Some(settings.join(" "))
}

/// Which form of an argument line a call means: the new one with quotes, or with `1` as the last argument the old one without.
fn is_quoted(arguments: &[Lazy<'_>]) -> Option<bool> {
    match arguments.get(1) {
        None | Some(Lazy::Integer(2)) => Some(true),
        Some(Lazy::Integer(1)) => Some(false),
        Some(_) => None,
    }
}

/// `listToArgs(list [, form])`: `{"a b", "c"}` into `'a b' c`. The old form cannot hold a word with blanks.
pub(crate) fn list_to_args<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let (Lazy::List(items), Some(is_quoted)) = (argument(arguments, 0), is_quoted(arguments)) else {
        return Ok(Lazy::Error);
    };
    let (items, mut words) = (evaluator.items(items)?, Vec::new());
    for item in &*items {
        match item {
            Lazy::String(word) if is_quoted => {
                taken_apart(evaluator, word)?;
                words.push(quoted(word));
            }
            Lazy::String(word) if !word.contains(BLANKS) => {
                taken_apart(evaluator, word)?;
                words.push(word.to_string());
            }
            _ => return Ok(Lazy::Error),
        }
    }
    evaluator.string(words.join(" "))
}

/// `argsToList(s [, form])`: `'a b' c` into `{"a b", "c"}`.
pub(crate) fn args_to_list<'e>(evaluator: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let (Lazy::String(text), Some(is_quoted)) = (argument(arguments, 0), is_quoted(arguments)) else {
        return Ok(Lazy::Error);
    };
    taken_apart(evaluator, text)?;
    if !is_quoted {
        return evaluator.strings(text.split(BLANKS).filter(|word| !word.is_empty()).collect::<Vec<_>>());
    }
    match words(text) {
        Some(words) => evaluator.strings(words),
        None => Ok(Lazy::Error),
    }
}

/// `userHome(user [, default])`: no user has a home here. Only a text that is not empty counts as default.
pub(crate) fn user_home<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    Ok(match (argument(arguments, 0), arguments.get(1)) {
        (_, Some(Lazy::String(default))) if !default.is_empty() => Lazy::String(default.clone()),
        (Lazy::Undefined | Lazy::String(_), _) => Lazy::Undefined,
        _ => Lazy::Error,
    })
}

/// `userMap(map, user [, preferred [, default]])`: no map is configured here.
pub(crate) fn user_map<'e>(_: &mut Evaluator<'e>, arguments: &[Lazy<'e>]) -> Outcome<'e> {
    let lookup = arguments.get(..2).unwrap_or_default();
    Ok(match (strict(lookup), arguments.get(3)) {
        (Some(Lazy::Error), _) => Lazy::Error,
        (_, Some(default)) => default.clone(),
        (_, None) => Lazy::Undefined,
    })
}
