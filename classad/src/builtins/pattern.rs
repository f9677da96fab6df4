//! Compiles PCRE patterns, and charges for it.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::builtins::regex_engine::{self, Engine, Regex};
use crate::cache::CallCache;
use crate::dialect::Dialect;
use crate::expr::Expr;

/// How long a pattern may be, in bytes.
const PATTERN_MAX: usize = 1024;

/// The entry in the cache of a call: a pattern compiled by an engine; `None` if that engine refuses it.
struct Kept {
    engine: Engine,
    steps: usize,
    // Shared, because a copy of a pattern would have to build its automaton again.
    regex: Option<Arc<Regex>>,
    _seat: Seat,
}

/// One of the places for cached patterns. Their number is limited, because a pattern takes much more memory than its text.
struct Seat;

static SEATS_TAKEN: AtomicUsize = AtomicUsize::new(0);
const SEATS: usize = 1024;

/// Patterns with more states are compiled each time.
const KEPT_STATES_MAX: usize = 2_000;

impl Seat {
    fn take() -> Option<Self> {
        let more = |taken: usize| (taken < SEATS).then_some(taken + 1);
        SEATS_TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok().map(|_| Self)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        SEATS_TAKEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Steps of compiling a pattern, beside those for its states.
pub(crate) const COMPILE: usize = 2_000;
/// Steps of compiling one state.
pub(crate) const COMPILE_STATE: usize = 48;

/// The functions that match a pattern, and the place of the options among their arguments; the pattern is the first.
const FUNCTIONS: [(&str, usize); 6] = [
    ("regexp", 2),
    ("regexpMember", 2),
    ("regexps", 3),
    ("replace", 3),
    ("replaceAll", 3),
    ("stringList_regexpMember", 3),
];

/// The place of the options among the arguments of a function, if it matches a pattern.
pub(crate) fn options_at(function: &str) -> Option<usize> {
    FUNCTIONS.iter().find(|(own, _)| own.eq_ignore_ascii_case(function)).map(|(_, place)| *place)
}

/// The cache of a call: for a compiled pattern, if the function matches one and the pattern and the options are literals.
pub(crate) fn cache_for(function: &str, arguments: &[Expr]) -> CallCache {
    let Some(options_at) = options_at(function) else { return CallCache::default() };
    let literal = |index: usize| arguments.get(index).is_none_or(|argument| argument.as_literal().is_some());
    if literal(0) && literal(options_at) { CallCache::empty() } else { CallCache::default() }
}

/// The steps of what [`compiled`] will charge that are for work of an earlier evaluation.
pub(crate) fn done_before(cache: &CallCache, dialect: Dialect) -> usize {
    let kept = cache.get::<Kept>();
    kept.filter(|kept| kept.engine == Engine::of(dialect)).map_or(0, |kept| kept.steps)
}

/// The compiled pattern. Literal arguments are the same at every evaluation, so the cached one is right. The charge is as if it were
/// compiled each time, so that the cache makes no difference.
pub(crate) fn compiled<E>(
    cache: &CallCache,
    (pattern, options): (&str, &str),
    wanted: Wanted,
    dialect: Dialect,
    pay: &mut dyn FnMut(usize) -> Result<(), E>,
) -> Result<Option<Arc<Regex>>, E> {
    let engine = Engine::of(dialect);
    if let Some(kept) = cache.get::<Kept>().filter(|kept| kept.engine == engine) {
        pay(kept.steps)?;
        return Ok(kept.regex.clone());
    }
    let ready = Ready::of(pattern, options, wanted, dialect);
    // A short pattern may take long to read, and come to little.
    let reading = ready.reading();
    pay(reading)?;
    let ready = ready.read();
    pay(ready.steps())?;
    let (steps, states) = (reading.saturating_add(ready.steps()), ready.states);
    let regex = ready.compile().map(Arc::new);
    if cache.is_free()
        && states <= KEPT_STATES_MAX
        && let Some(seat) = Seat::take()
    {
        cache.set(Kept { engine, steps, regex: regex.clone(), _seat: seat });
    }
    Ok(regex)
}

/// What the caller wants to know of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Whether there is one.
    Truth,
    /// Its text.
    Text,
}

/// A translated pattern, which is not parsed yet: the cost of parsing is known.
pub(crate) struct Ready<'p> {
    engine: Engine,
    pattern: &'p str,
    options: &'p str,
    translated: Option<String>,
}

impl<'p> Ready<'p> {
    /// Translates a pattern for the engine of the dialect.
    pub(crate) fn of(pattern: &'p str, options: &'p str, wanted: Wanted, dialect: Dialect) -> Self {
        let engine = Engine::of(dialect);
        // Without multi-line mode PCRE's `$` matches before a last newline, too. Where nothing can follow it, and the
        // matched text is not wanted, that newline may as well be matched.
        let newline = wanted == Wanted::Truth && !options.contains('m') && !has_inline_options(pattern);
        let translated = if pattern.len() > PATTERN_MAX { None } else { translated(pattern, newline) };
        Self { engine, pattern, options, translated }
    }

    /// Steps of parsing it, beside those that each pattern takes.
    pub(crate) fn reading(&self) -> usize {
        self.translated.as_deref().map_or(0, |translated| regex_engine::reading(translated, self.options))
    }

    /// Parses it: then the cost of compiling it is known.
    pub(crate) fn read(self) -> Readied<'p> {
        let states = self.translated.as_deref().and_then(|translated| regex_engine::states(translated, self.options));
        let states = states.unwrap_or(self.pattern.len().min(PATTERN_MAX));
        Readied { ready: self, states }
    }
}

/// A parsed pattern: the cost of compiling is known.
pub(crate) struct Readied<'p> {
    ready: Ready<'p>,
    /// About how many states its automaton will have.
    pub(crate) states: usize,
}

impl Readied<'_> {
    /// Steps of compiling it.
    pub(crate) fn steps(&self) -> usize {
        if self.is_too_large() { COMPILE } else { COMPILE + COMPILE_STATE * self.states }
    }

    /// Whether its text or its automaton is too large, which is known before it is compiled.
    fn is_too_large(&self) -> bool {
        self.ready.pattern.len() > PATTERN_MAX || self.states > STATES_MAX
    }

    /// Compiles it; `None` if it is invalid, too large or beyond regular languages.
    pub(crate) fn compile(self) -> Option<Regex> {
        if self.is_too_large() {
            return None;
        }
        let Ready { engine, pattern, options, translated } = self.ready;
        regex_engine::build(engine, translated.as_deref(), self.states, pattern, options)
    }
}

/// Patterns with more states are refused.
const STATES_MAX: usize = 60_000;

/// `(?m)`
fn has_inline_options(pattern: &str) -> bool {
    pattern.split("(?").skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase() || c == '-'))
}

/// Whether the rest of a pattern can only match the empty text: closing parentheses, and alternatives to what precedes it.
fn only_closes(tail: &str) -> bool {
    let mut rest = tail;
    loop {
        rest = rest.trim_start_matches(')');
        match rest.strip_prefix('|') {
            None => return rest.is_empty(),
            // Groups and classes in the alternative would have to be counted: nothing is said about those.
            Some(alternative) => match alternative.find(['(', '[', '\\', ')']) {
                None => return true,
                Some(end) if alternative.get(end..).is_some_and(|rest| rest.starts_with(')')) => {
                    rest = alternative.get(end..).unwrap_or_default();
                }
                Some(_) => return false,
            },
        }
    }
}

/// The pattern for the linear engine: constructs that have another meaning in PCRE are replaced. `None` if the engine would misread it.
fn translated(pattern: &str, newline: bool) -> Option<String> {
    let mut out = String::new();
    let mut rest = pattern;
    let mut quantified = false;
    while let Some(character) = rest.chars().next() {
        let tail = rest.get(character.len_utf8()..).unwrap_or_default();
        let was_quantified = std::mem::take(&mut quantified);
        match character {
            '\\' => {
                let (written, length) = escape(tail, EscapeContext::Outside)?;
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
            '$' if newline && only_closes(tail) => out.push_str("(?:\\n?\\z)"),
            // In PCRE's extended syntax, only blanks of ASCII are ignored.
            blank if blank.is_whitespace() && !blank.is_ascii() => out.push_str(&number(blank)),
            other => out.push(other),
        }
        rest = tail;
    }
    Some(out)
}

/// `{2,3}` after its brace: its translation, and its length. Other braces are literal.
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

/// Where an escape stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum EscapeContext {
    Outside,
    InClass,
}

/// The text after a backslash: its translation, and its length. Classes are ASCII, as PCRE has them by default.
fn escape(tail: &str, context: EscapeContext) -> Option<(String, usize)> {
    let letter = tail.chars().next()?;
    let outside = context == EscapeContext::Outside;
    let plain = |text: &str| Some((text.to_owned(), 1));
    match letter {
        'd' if outside => plain("[0-9]"),
        'd' => plain("0-9"),
        'D' => plain("[^0-9]"),
        'w' if outside => plain("[0-9A-Za-z_]"),
        'w' => plain("0-9A-Za-z_"),
        'W' => plain("[^0-9A-Za-z_]"),
        's' if outside => plain("[\\x20\\t\\n\\r\\x0b\\x0c]"),
        's' => plain("\\x20\\t\\n\\r\\x0b\\x0c"),
        'S' => plain("[^\\x20\\t\\n\\r\\x0b\\x0c]"),
        'h' if outside => plain("[\\x20\\t]"),
        'h' => plain("\\x20\\t"),
        'H' => plain("[^\\x20\\t]"),
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
            Some((literally(literal), length))
        }
        'E' => plain(""),
        'x' | 'p' | 'P' | 'n' | 'r' | 't' | 'f' | 'a' => Some((format!("\\{letter}"), 1)),
        // An octal number: up to two more digits.
        '0' => {
            let digits = tail.bytes().take(3).take_while(|digit| matches!(digit, b'0'..=b'7')).count();
            let code = u32::from_str_radix(tail.get(..digits)?, 8).ok()?;
            Some((format!("\\x{{{code:x}}}"), digits))
        }
        '1'..='9' if outside => None,
        other if other.is_ascii_alphanumeric() => None,
        other => Some((literally(&other.to_string()), other.len_utf8())),
    }
}

/// Characters that stand for themselves. The engine's extended syntax ignores blanks even where PCRE's does not: they are written as numbers.
fn literally(text: &str) -> String {
    let mut out = String::new();
    for part in text.split_inclusive(char::is_whitespace) {
        let blank = part.chars().next_back().filter(|last| last.is_whitespace());
        out.push_str(&regex::escape(blank.map_or(part, |_| part.trim_end_matches(char::is_whitespace))));
        out.extend(blank.map(number));
    }
    out
}

/// A character, written as its number.
fn number(character: char) -> String {
    format!("\\x{{{:x}}}", u32::from(character))
}

/// Writes the translation of a character class, after its bracket, to `out`; returns its length.
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
                let (written, length) = escape(after, EscapeContext::InClass)?;
                out.push_str(&written);
                at += 1 + length;
            }
            // Blanks and comments are ignored in classes by the engine's extended syntax, not by PCRE's.
            blank if blank.is_whitespace() => {
                out.push_str(&number(blank));
                at += blank.len_utf8();
            }
            // Set operations of the engine, plain characters in PCRE.
            '[' | ']' | '&' | '~' | '#' => {
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
