//! Regular expressions: PCRE patterns translated for an engine that takes linear time.

use std::fmt::Write;
use std::sync::{Arc, OnceLock};

use regex::{Captures, Regex, RegexBuilder};

use crate::builtins::strict;
use crate::builtins::stringlist::{delimiters, items};
use crate::eval::lazy::Lazy;
use crate::eval::machine::{Machine, Outcome, ScopeId};
use crate::expr::{Call, Expr};

/// How long a pattern may be, in bytes.
const PATTERN_MAX: usize = 1024;

/// How much memory a compiled pattern and its automaton may take, in bytes.
const COMPILED_MAX: usize = 1 << 20;

/// The pattern of a call whose pattern and options are literals; compiled by the first evaluation, kept with the tree.
#[derive(Clone, Default)]
pub(crate) struct Compiled(Option<Arc<OnceLock<Option<Regex>>>>);

impl Compiled {
    /// A place for a pattern, if the function has one and its arguments can be known before evaluation.
    pub(crate) fn for_call(function: &str, arguments: &[Expr]) -> Self {
        let options_at = match function.to_ascii_lowercase().as_str() {
            "regexp" | "regexpmember" => 2,
            "regexps" | "replace" | "replaceall" | "stringlist_regexpmember" => 3,
            _ => return Self(None),
        };
        let literal = |index: usize| arguments.get(index).is_none_or(|argument| argument.as_literal().is_some());
        Self((literal(0) && literal(options_at)).then(Arc::default))
    }

    fn get(&self, pattern: &str, options: &str) -> Option<Regex> {
        match &self.0 {
            Some(cell) => cell.get_or_init(|| compile(pattern, options)).clone(),
            None => compile(pattern, options),
        }
    }
}

/// A compiled pattern; none if it is wrong, too large or beyond regular languages.
pub(crate) fn compile(pattern: &str, options: &str) -> Option<Regex> {
    if pattern.len() > PATTERN_MAX {
        return None;
    }
    let extended = options.contains('x');
    RegexBuilder::new(&translated(pattern)?)
        .case_insensitive(options.contains('i'))
        .multi_line(options.contains('m'))
        .dot_matches_new_line(options.contains('s'))
        .ignore_whitespace(extended)
        .size_limit(COMPILED_MAX)
        .dfa_size_limit(COMPILED_MAX)
        .build()
        .ok()
}

/// The pattern with what PCRE reads differently written out; none for what the engine would misread.
fn translated(pattern: &str) -> Option<String> {
    let mut out = String::new();
    let mut rest = pattern;
    let mut quantified = false;
    while let Some(character) = rest.chars().next() {
        let tail = rest.get(character.len_utf8()..).unwrap_or_default();
        let was_quantified = std::mem::take(&mut quantified);
        match character {
            '\\' => {
                let (written, length) = escape(tail, Place::Outside)?;
                out.push_str(&written);
                rest = tail.get(length..)?;
                continue;
            }
            '[' => {
                let length = class(tail, &mut out)?;
                rest = tail.get(length..)?;
                continue;
            }
            // `a++` is possessive in PCRE; the engine would read (a+)+.
            '+' if was_quantified => return None,
            '*' | '+' | '?' => {
                quantified = !was_quantified;
                out.push(character);
            }
            '{' => match repetition(tail) {
                Some((written, length)) => {
                    out.push_str(&written);
                    rest = tail.get(length..)?;
                    quantified = true;
                    continue;
                }
                None => out.push_str("\\{"),
            },
            '}' => out.push_str("\\}"),
            other => out.push(other),
        }
        rest = tail;
    }
    Some(out)
}

/// `{2,3}` after its brace: as the engine wants it, and its length. Other braces stand for themselves.
fn repetition(tail: &str) -> Option<(String, usize)> {
    let end = tail.find('}')?;
    let inside = tail.get(..end)?;
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let written = match inside.split_once(',') {
        None if number(inside) => format!("{{{inside}}}"),
        Some((min, "")) if number(min) => format!("{{{min},}}"),
        Some((min, max)) if number(min) && number(max) => format!("{{{min},{max}}}"),
        Some(("", max)) if number(max) => format!("{{0,{max}}}"),
        _ => return None,
    };
    Some((written, end + 1))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    InClass,
}

/// What follows a backslash: as the engine wants it, and its length. Classes are ASCII, as PCRE has them by default.
fn escape(tail: &str, place: Place) -> Option<(String, usize)> {
    let letter = tail.chars().next()?;
    let outside = place == Place::Outside;
    let plain = |text: &str| Some((text.to_owned(), 1));
    match letter {
        'd' if outside => plain("[0-9]"),
        'd' => plain("0-9"),
        'D' => plain("[^0-9]"),
        'w' if outside => plain("[0-9A-Za-z_]"),
        'w' => plain("0-9A-Za-z_"),
        'W' => plain("[^0-9A-Za-z_]"),
        's' if outside => plain("[ \\t\\n\\r\\x0b\\x0c]"),
        's' => plain("\\x20\\t\\n\\r\\x0b\\x0c"),
        'S' => plain("[^ \\t\\n\\r\\x0b\\x0c]"),
        'h' if outside => plain("[ \\t]"),
        'h' => plain("\\x20\\t"),
        'H' => plain("[^ \\t]"),
        'v' if outside => plain("[\\n\\x0b\\x0c\\r]"),
        'v' => plain("\\n\\x0b\\x0c\\r"),
        'N' if outside => plain("[^\\n]"),
        'R' if outside => plain("(?:\\r\\n|[\\n\\x0b\\x0c\\r])"),
        'b' if outside => plain("(?-u:\\b)"),
        'b' => plain("\\x08"),
        'B' if outside => plain("(?-u:\\B)"),
        'A' if outside => plain("\\A"),
        'z' if outside => plain("\\z"),
        'e' => plain("\\x1b"),
        'Q' => {
            let inside = tail.get(1..)?;
            let (literal, length) = match inside.find("\\E") {
                Some(end) => (inside.get(..end)?, end + 3),
                None => (inside, tail.len()),
            };
            Some((regex::escape(literal), length))
        }
        'E' => plain(""),
        'x' | 'p' | 'P' | 'n' | 'r' | 't' | 'f' | 'a' => Some((format!("\\{letter}"), 1)),
        '0' => plain("\\x00"),
        '1'..='9' if outside => None,
        other if other.is_ascii_alphanumeric() => None,
        other => Some((regex::escape(&other.to_string()), other.len_utf8())),
    }
}

/// A character class after its bracket, written to `out`; its length.
fn class(tail: &str, out: &mut String) -> Option<usize> {
    out.push('[');
    let mut at = 0;
    if tail.starts_with('^') {
        out.push('^');
        at = 1;
    }
    let mut first = true;
    loop {
        let rest = tail.get(at..)?;
        let character = rest.chars().next()?;
        let after = rest.get(character.len_utf8()..)?;
        match character {
            ']' if !first => {
                out.push(']');
                return Some(at + 1);
            }
            '[' if after.starts_with(':') && after.contains(":]") => {
                let end = rest.find(":]")? + 2;
                out.push_str(rest.get(..end)?);
                at += end;
            }
            '\\' => {
                let (written, length) = escape(after, Place::InClass)?;
                out.push_str(&written);
                at += 1 + length;
            }
            // Set operations of the engine, plain characters in PCRE.
            '[' | ']' | '&' | '~' => {
                write!(out, "\\{character}").ok()?;
                at += 1;
            }
            '-' if after.starts_with('-') => {
                out.push_str("\\-");
                at += 1;
            }
            other => {
                out.push(other);
                at += other.len_utf8();
            }
        }
        first = false;
    }
}

/// The values of a call's arguments and its pattern at argument 0 with the options at `options_at`.
struct Matching {
    arguments: Vec<Lazy>,
    pattern: Option<Regex>,
    options: Arc<str>,
}

/// Evaluates the arguments; the outer error is the value that the call has instead.
fn prepare(machine: &mut Machine<'_>, call: &Call, scope: ScopeId, options_at: usize) -> Outcome<Result<Matching, Lazy>> {
    let arguments = machine.eval_all(&call.arguments, scope)?;
    let options: Arc<str> = match arguments.get(options_at) {
        None => "".into(),
        Some(Lazy::String(options)) => Arc::clone(options),
        Some(_) => return Ok(Err(strict(&arguments).unwrap_or(Lazy::Error))),
    };
    let pattern = match arguments.first() {
        Some(Lazy::String(pattern)) => {
            machine.charge(pattern.len())?;
            call.pattern.get(pattern, &options)
        }
        _ => None,
    };
    Ok(Ok(Matching { arguments, pattern, options }))
}

/// Pays for matching `text`: the time is the product of both lengths at worst.
fn pay(machine: &mut Machine<'_>, pattern: &Regex, text: &str, at: &Expr) -> Outcome<()> {
    let cells = pattern.as_str().len().saturating_mul(text.len()) / 256;
    machine.spend(u64::try_from(cells).unwrap_or(u64::MAX), at)
}

/// `regexp(pattern, text [, options])`
pub(crate) fn regexp(machine: &mut Machine<'_>, expr: &Expr, call: &Call, scope: ScopeId) -> Outcome {
    let matching = match prepare(machine, call, scope, 2)? {
        Ok(matching) => matching,
        Err(instead) => return Ok(instead),
    };
    if let Some(value) = strict(&matching.arguments) {
        return Ok(value);
    }
    match (&matching.pattern, matching.arguments.get(1)) {
        (Some(pattern), Some(Lazy::String(text))) => {
            pay(machine, pattern, text, expr)?;
            Ok(Lazy::Boolean(pattern.is_match(text)))
        }
        _ => Ok(Lazy::Error),
    }
}

/// `regexpMember(pattern, list [, options])`: an UNDEFINED element counts unless another one matches.
pub(crate) fn regexp_member(machine: &mut Machine<'_>, expr: &Expr, call: &Call, scope: ScopeId) -> Outcome {
    let matching = match prepare(machine, call, scope, 2)? {
        Ok(matching) => matching,
        Err(instead) => return Ok(instead),
    };
    if let Some(value) = strict(&matching.arguments) {
        return Ok(value);
    }
    let [Lazy::String(_), Lazy::List(list), ..] = matching.arguments.as_slice() else {
        return Ok(Lazy::Error);
    };
    let mut result = Lazy::Boolean(false);
    for item in machine.items(list)? {
        match item {
            Lazy::String(text) => {
                // A pattern that is none matches nothing here.
                let Some(pattern) = &matching.pattern else { continue };
                pay(machine, pattern, &text, expr)?;
                if pattern.is_match(&text) {
                    return Ok(Lazy::Boolean(true));
                }
            }
            Lazy::Undefined => result = Lazy::Undefined,
            _ => return Ok(Lazy::Error),
        }
    }
    Ok(result)
}

/// `stringList_regexpMember(pattern, list [, delimiters [, options]])`
pub(crate) fn string_list_regexp_member(machine: &mut Machine<'_>, expr: &Expr, call: &Call, scope: ScopeId) -> Outcome {
    let arguments = machine.eval_all(&call.arguments, scope)?;
    let text = |index: usize| match arguments.get(index) {
        Some(Lazy::String(text)) => Some(Arc::clone(text)),
        _ => None,
    };
    let options = if arguments.len() > 3 { text(3) } else { Some("".into()) };
    let (Some(pattern), Some(list), Some(delimiters), Some(options)) =
        (text(0), text(1), delimiters(&arguments, 2), options)
    else {
        return Ok(Lazy::Error);
    };
    // Here, and only here, the letters of the options may be in upper case.
    let Some(pattern) = call.pattern.get(&pattern, &options.to_ascii_lowercase()) else { return Ok(Lazy::Error) };
    let items = items(&list, delimiters);
    if items.is_empty() {
        return Ok(Lazy::Undefined);
    }
    pay(machine, &pattern, &list, expr)?;
    Ok(Lazy::Boolean(items.into_iter().any(|item| pattern.is_match(item))))
}

/// `regexps(pattern, text, substitute [, options])`: the substitute alone, unless option `f` asks for the full text.
pub(crate) fn regexps(machine: &mut Machine<'_>, expr: &Expr, call: &Call, scope: ScopeId) -> Outcome {
    substitute(machine, expr, call, scope, "")
}

/// `replace(pattern, text, substitute [, options])`: the full text with the first match replaced.
pub(crate) fn replace(machine: &mut Machine<'_>, expr: &Expr, call: &Call, scope: ScopeId) -> Outcome {
    substitute(machine, expr, call, scope, "f")
}

/// `replaceAll(pattern, text, substitute [, options])`: the full text with every match replaced.
pub(crate) fn replace_all(machine: &mut Machine<'_>, expr: &Expr, call: &Call, scope: ScopeId) -> Outcome {
    substitute(machine, expr, call, scope, "fg")
}

fn substitute(machine: &mut Machine<'_>, expr: &Expr, call: &Call, scope: ScopeId, implied: &str) -> Outcome {
    let matching = match prepare(machine, call, scope, 3)? {
        Ok(matching) => matching,
        Err(instead) => return Ok(instead),
    };
    if let Some(value) = strict(&matching.arguments) {
        return Ok(value);
    }
    let (Some(pattern), [_, Lazy::String(text), Lazy::String(template), ..]) =
        (&matching.pattern, matching.arguments.as_slice())
    else {
        return Ok(Lazy::Error);
    };
    let option = |letter: char| implied.contains(letter) || matching.options.contains(letter);
    let (full, all) = (option('f'), option('g'));
    pay(machine, pattern, text, expr)?;
    let mut out = String::new();
    let mut at = 0;
    for captures in pattern.captures_iter(text).take(if all { usize::MAX } else { 1 }) {
        let Some(whole) = captures.get(0) else { continue };
        if full {
            out.push_str(text.get(at..whole.start()).unwrap_or_default());
        }
        let Some(()) = expand(template, &captures, &mut out) else { return Ok(Lazy::Error) };
        at = whole.end();
        machine.charge(out.len())?;
        machine.spend(1, expr)?;
    }
    if full {
        out.push_str(text.get(at..).unwrap_or_default());
    }
    Ok(Lazy::string(out))
}

/// The substitute with `\0` to `\9` filled in; none if a group lies beyond the last one that matched.
fn expand(template: &str, captures: &Captures<'_>, out: &mut String) -> Option<()> {
    let matched = (0..captures.len()).rfind(|group| captures.get(*group).is_some()).unwrap_or(0);
    let mut characters = template.chars();
    while let Some(character) = characters.next() {
        let mut after = characters.clone();
        match (character, after.next().and_then(|next| next.to_digit(10))) {
            ('\\', Some(group)) => {
                let group = usize::try_from(group).ok()?;
                if group > matched {
                    return None;
                }
                out.push_str(captures.get(group).map_or("", |group| group.as_str()));
                characters = after;
            }
            _ => out.push(character),
        }
    }
    Some(())
}
