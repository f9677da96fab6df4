//! Warnings and errors about patterns that mean something else, or nothing, to this engine than to PCRE.

use crate::builtins::pattern::{COMPILE, Ready, Wanted, options_at};
use crate::diagnostic::Span;
use crate::dialect::Dialect;
use crate::expr::{Call, Expr};
use crate::value::Value;

/// Why a pattern is refused, or warned of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// `unsupported-regex`: PCRE gives it a meaning, this engine none. `regex-end`: `$` differs before a last newline.
    /// `bad-regex`: no engine reads it.
    pub(crate) code: &'static str,
    /// What is wrong.
    pub(crate) message: String,
    /// What to write instead.
    pub(crate) hint: &'static str,
    /// Where the refused part begins in the pattern, in bytes.
    start: usize,
    /// Where it ends.
    end: usize,
}

/// Openings of groups that only a backtracking engine supports.
const GROUPS: [(&str, &str, &str); 13] = [
    ("(?=", "look-ahead", LOOK),
    ("(?!", "negative look-ahead", "write a second condition: `regexp(a, x) && !regexp(b, x)`"),
    ("(?<=", "look-behind", LOOK),
    ("(?<!", "negative look-behind", "write a second condition: `regexp(a, x) && !regexp(b, x)`"),
    ("(?>", "an atomic group", "write `(?:...)`: matching takes linear time without it"),
    ("(?|", "a branch reset", "write `(?:...)` and number the groups apart"),
    ("(?(", "a conditional group", "write two patterns: `regexp(a, x) || regexp(b, x)`"),
    ("(?R", "recursion", NESTED),
    ("(?&", "recursion", NESTED),
    ("(?P>", "recursion", NESTED),
    ("(?P=", "a back-reference", BACK),
    ("(?#", "a comment", "write it outside the pattern, after `//`"),
    ("(*", "a verb of PCRE", "leave it out"),
];

const LOOK: &str = "write what must follow or precede into the pattern itself, without the group";
const NESTED: &str = "write the pattern out to the depth you need";
const BACK: &str = "write the alternatives out: `(aa|bb)` instead of `([ab])\\1`";

/// Steps that compiling all patterns of a text of `bytes` bytes may take; later patterns are not checked.
pub(crate) fn work_for(bytes: usize) -> usize {
    const STEPS: usize = 120_000;
    const STEPS_OF_A_BYTE: usize = 60;
    bytes.saturating_mul(STEPS_OF_A_BYTE).saturating_add(STEPS)
}

/// The refusal of a call's literal pattern, and the place of that. The steps of compiling it are subtracted from `work`.
pub(crate) fn of_call(call: &Call, work: &mut usize) -> Option<(Span, Refusal)> {
    let options_at = options_at(call.builtin_name())?;
    let substitutes = matches!(call.builtin_name(), "regexps" | "replace" | "replaceAll");
    let text = |expr: &Expr| expr.as_literal().and_then(Value::as_str).map(str::to_owned);
    let argument = call.arguments.first()?;
    let pattern = text(argument)?;
    let options = match call.arguments.get(options_at) {
        Some(options) => text(options)?,
        None => String::new(),
    };
    let refusal = refusal(&pattern, &options, substitutes, work)?;
    Some((place(argument.span(), &pattern, &refusal), refusal))
}

/// The place of a refusal in a string literal; the whole literal if the pattern contains escapes.
fn place(literal: Span, pattern: &str, refusal: &Refusal) -> Span {
    if literal.end.saturating_sub(literal.start) == pattern.len() + 2 {
        Span::new(literal.start + 1 + refusal.start, literal.start + 1 + refusal.end)
    } else {
        literal
    }
}

/// Why the engine does not take a pattern as PCRE does; `None` if it does.
fn refusal(pattern: &str, options: &str, substitutes: bool, work: &mut usize) -> Option<Refusal> {
    let found = scan(pattern, options.contains('m'), substitutes);
    let unsupported = found.as_ref().is_some_and(|found| found.code == "unsupported-regex");
    if unsupported {
        return found;
    }
    let Some(left) = work.checked_sub(COMPILE) else { return found };
    let ready = Ready::of(pattern, options, Wanted::Text, Dialect::Gangmatch);
    let Some(left) = left.checked_sub(ready.reading()) else {
        *work = left;
        return found;
    };
    let ready = ready.read();
    *work = left.saturating_sub(ready.steps());
    if ready.compile().is_none() {
        return Some(Refusal {
            code: "bad-regex",
            message: format!("`{}` is not a supported pattern", shown(pattern)),
            hint: "check its brackets and escapes; a pattern has at most 1024 bytes",
            start: 0,
            end: pattern.len(),
        });
    }
    found
}

fn shown(pattern: &str) -> String {
    const LENGTH_MAX: usize = 40;
    let short: String = pattern.chars().take(LENGTH_MAX).collect();
    if short.len() < pattern.len() { format!("{short}...") } else { short }
}

fn unsupported(pattern: &str, start: usize, length: usize, what: &str, hint: &'static str) -> Option<Refusal> {
    let end = (start + length).min(pattern.len());
    let text = pattern.get(start..end).unwrap_or_default();
    let message = format!("`{text}` is {what}, which is not supported");
    Some(Refusal { code: "unsupported-regex", message, hint, start, end })
}

/// The first construct in the pattern that has another meaning in PCRE.
fn scan(pattern: &str, multi_line: bool, substitutes: bool) -> Option<Refusal> {
    let mut at = 0;
    let mut quantified = false;
    let mut ending = None;
    while let Some(rest) = pattern.get(at..).filter(|rest| !rest.is_empty()) {
        let was_quantified = std::mem::take(&mut quantified);
        let width = rest.chars().next().map_or(1, char::len_utf8);
        if let Some((opening, what, hint)) = GROUPS.iter().find(|(opening, ..)| rest.starts_with(opening)) {
            return unsupported(pattern, at, opening.len(), what, hint);
        }
        // `(?1)`, `(?+1)`
        let of_group = rest.strip_prefix("(?").map(|rest| rest.trim_start_matches(['+', '-']));
        if of_group.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit())) {
            return unsupported(pattern, at, "(?".len(), "recursion", NESTED);
        }
        match rest.as_bytes().first() {
            Some(b'\\') => match escape(pattern, at) {
                Ok(length) => at += length,
                Err(refusal) => return refusal,
            },
            Some(b'[') => at += class(rest),
            Some(b'+') if was_quantified => {
                return unsupported(pattern, at, 1, "a possessive quantifier", "leave out the second `+`");
            }
            Some(b'*' | b'+' | b'?') => {
                quantified = !was_quantified;
                at += 1;
            }
            Some(b'{') => {
                let inside = rest.find('}').and_then(|end| rest.get(1..end)).filter(|inside| is_count(inside));
                quantified = inside.is_some();
                at += inside.map_or(1, |inside| inside.len() + 2);
            }
            Some(b'$') => {
                if !multi_line && ending.is_none() {
                    ending = end_of_text(pattern, at, substitutes);
                }
                at += 1;
            }
            _ => at += width,
        }
    }
    ending
}

fn is_count(inside: &str) -> bool {
    inside.bytes().any(|byte| byte.is_ascii_digit()) && inside.bytes().all(|byte| byte.is_ascii_digit() || byte == b',')
}

/// `$` matches before a last newline in PCRE, and only at the very end here.
fn end_of_text(pattern: &str, at: usize, substitutes: bool) -> Option<Refusal> {
    substitutes.then(|| Refusal {
        code: "regex-end",
        message: format!("`{}` matches at the very end only, not before a last newline as in HTCondor", shown(pattern)),
        hint: "write `\\\\n?$` if the text may end with a newline",
        start: at,
        end: at + 1,
    })
}

/// The length of the escape at `at`, or why it is refused.
fn escape(pattern: &str, at: usize) -> Result<usize, Option<Refusal>> {
    let rest = pattern.get(at + 1..).unwrap_or_default();
    let Some(letter) = rest.chars().next() else { return Ok(1) };
    let refused = |what: &str, hint: &'static str| Err(unsupported(pattern, at, 2, what, hint));
    match letter {
        '1'..='9' | 'g' | 'k' => refused("a back-reference", BACK),
        'K' => refused("a reset of the match", "use groups: `replace(\"(a)b\", x, \"\\\\1c\")`"),
        'G' => refused("an anchor at the last match", "leave it out"),
        'Z' => refused("an anchor before a last newline", "write `\\\\n?\\\\z`"),
        'X' | 'C' => refused("a whole character or byte of PCRE", "write `.`"),
        'Q' => Ok(1 + rest.find("\\E").map_or(rest.len(), |end| end + 2)),
        other => Ok(1 + other.len_utf8()),
    }
}

/// The length of a character class.
fn class(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 1;
    if bytes.get(at) == Some(&b'^') {
        at += 1;
    }
    if bytes.get(at) == Some(&b']') {
        at += 1;
    }
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'[' if bytes.get(at + 1) == Some(&b':') => {
                at += rest.get(at..).and_then(|tail| tail.find(":]")).map_or(1, |end| end + 2);
            }
            b']' => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}
