//! Errors of the lexer, with what to write instead.

use crate::diagnostic::Span;
use crate::dialect::Dialect;
use crate::text::number::Fault;
use crate::text::report::{Report, Reported};
use crate::text::time;

/// `a /* comment`
pub(crate) fn open_comment(report: &mut Report<'_>, span: Span) -> Reported {
    report.error("open-comment", span, "comment is not closed".into(), Some("write `*/` where it ends".into()))
}

/// `"text`
pub(crate) fn open_quote(report: &mut Report<'_>, span: Span, quote: u8) -> Reported {
    let (what, mark) = if quote == b'"' { ("string", "\"") } else { ("quoted name", "'") };
    report.error(
        "open-quote",
        span,
        format!("missing closing quote: the {what} that begins here does not end"),
        Some(format!("write `{mark}` where it ends; a `{mark}` inside is written `\\{mark}`")),
    )
}

/// How a NUL is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Nul {
    /// `\0`, `\u0000`
    Escape,
    /// The byte itself.
    Byte,
}

/// `"\0"`
pub(crate) fn nul(report: &mut Report<'_>, span: Span, how: Nul) -> Reported {
    let message = match how {
        Nul::Escape => "escape stands for the character NUL, which strings and names cannot contain",
        Nul::Byte => "found the character NUL, which strings and names cannot contain",
    };
    report.error("nul", span, message.into(), Some("remove it".into()))
}

/// `"\351"`
pub(crate) fn not_unicode(report: &mut Report<'_>, span: Span) -> Reported {
    report.error(
        "not-unicode",
        span,
        "octal escapes do not make up UTF-8 text".into(),
        Some("write the character itself".into()),
    )
}

/// `''`
pub(crate) fn empty_name(report: &mut Report<'_>, span: Span) -> Reported {
    report.error(
        "empty-name",
        span,
        "`''` is a quoted name without characters".into(),
        Some("write `\"\"` for the empty string".into()),
    )
}

/// Whether there is a colon between digits.
pub(crate) fn looks_like_time(name: &str) -> bool {
    let clock =
        |window: &[u8]| matches!(window, [hours, b':', minutes] if hours.is_ascii_digit() && minutes.is_ascii_digit());
    name.as_bytes().windows(3).any(clock)
}

/// `'00:15'`: true if it was refused.
pub(crate) fn quoted_time(report: &mut Report<'_>, span: Span, text: &str) -> bool {
    if !looks_like_time(text) {
        return false;
    }
    let length = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'+' | b'.' | b'-' | b' '));
    let hint = if !length {
        "write `absTime(\"2000-02-28T14:22:22Z\")` for an instant, `\"...\"` for a string".to_owned()
    } else {
        // The papers' short form is hours and minutes; relTime would read minutes and seconds.
        let full = if text.matches(':').count() == 1 { format!("{text}:00") } else { text.to_owned() };
        match time::parse_relative(&full) {
            Some(seconds) => format!("write `relTime(\"{full}\")`, which is {seconds} seconds"),
            None => "write `relTime(\"00:15:00\")` for a quarter of an hour".to_owned(),
        }
    };
    report.error(
        "quoted-time",
        span,
        format!("`'{text}'` looks like a time, but single quotes make it an attribute name"),
        Some(hint),
    );
    true
}

/// `010`, `28Mb`, `9223372036854775808`
pub(crate) fn number(report: &mut Report<'_>, span: Span, text: &str, dialect: Dialect, fault: Fault) -> Reported {
    let (code, message, hint) = match fault {
        Fault::Range => (
            "number-range",
            format!("`{text}` does not fit an integer of 64 bits"),
            Some(format!("write `{text}.0` for a real number")),
        ),
        Fault::LeadingZero => leading_zero(text),
        Fault::NoFraction => {
            let whole = text.split('.').next().unwrap_or(text);
            let exponent = text.split_once('.').map_or("", |(_, exponent)| exponent);
            let hint = format!("write `{whole}.0{exponent}` or `{whole}{exponent}`");
            ("number", format!("`{text}` has no digits after the decimal point"), Some(hint))
        }
        Fault::NoExponent => {
            let number = text.split(['e', 'E']).next().unwrap_or(text);
            ("number", format!("`{text}` has no digits in the exponent"), Some(format!("write `{number}e3`")))
        }
        Fault::Suffix(at) => suffix(text, at, dialect),
    };
    report.error(code, span, message, hint)
}

type Remark = (&'static str, String, Option<String>);

fn leading_zero(text: &str) -> Remark {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
    if let Some(("0", hexadecimal)) = digits.split_once(['x', 'X']) {
        let value = i64::from_str_radix(hexadecimal, 16).ok();
        let hint = value.map(|value| format!("write `{sign}{value}`"));
        return ("number", format!("`{text}` is hexadecimal, which is not supported"), hint);
    }
    let decimal = digits.trim_start_matches('0');
    let decimal = if decimal.is_empty() { "0" } else { decimal };
    (
        "number",
        format!("`{text}` begins with a zero, but there are no octal numbers"),
        Some(format!("write `{sign}{decimal}`")),
    )
}

fn suffix(text: &str, at: usize, dialect: Dialect) -> Remark {
    let (number, suffix) = (text.get(..at).unwrap_or(text), text.get(at..).unwrap_or_default());
    let unit = match suffix.bytes().next().map(|byte| byte.to_ascii_uppercase()) {
        Some(unit @ (b'K' | b'M' | b'G' | b'T')) if suffix.len() <= 3 => Some(char::from(unit)),
        _ => None,
    };
    let hint = match (unit, dialect) {
        (Some(unit), Dialect::Gangmatch) => Some(format!("write `{number}{unit}i`, in powers of 1024")),
        (Some(_), Dialect::Htcondor) => Some(format!("write the number out, as in `{number} * 1024`")),
        (None, _) => None,
    };
    ("number-suffix", format!("`{text}`: a number cannot end in `{suffix}`"), hint)
}

/// `“`, `#`, `−`
pub(crate) fn character(report: &mut Report<'_>, span: Span, character: &str) -> Reported {
    let hint = match character {
        "\u{201c}" | "\u{201d}" | "\u{201e}" | "\u{ab}" | "\u{bb}" => Some("write straight double quotes, `\"`"),
        "\u{2018}" | "\u{2019}" | "`" | "\u{b4}" => Some("write `\"` around strings, `'` around odd names"),
        "\u{2212}" | "\u{2013}" | "\u{2014}" => Some("write the minus sign of the keyboard, `-`"),
        "\u{d7}" | "\u{22c5}" => Some("write `*`"),
        "\u{2264}" => Some("write `<=`"),
        "\u{2265}" => Some("write `>=`"),
        "\u{2260}" => Some("write `!=`"),
        "\u{a0}" => Some("this is a no-break space; write a plain one"),
        "#" => Some("comments begin with `//`"),
        "$" => Some("macros such as `$(x)` are not expanded here; write the attribute's name"),
        "\\" => Some("an expression goes on over line ends without a mark"),
        _ => Some("letters outside ASCII stand only in strings and in quoted names"),
    };
    let hint = hint.filter(|_| !character.is_ascii() || matches!(character, "#" | "$" | "\\" | "`"));
    report.error(
        "unexpected-character",
        span,
        format!("unexpected character `{}`", character.escape_debug()),
        hint.map(str::to_owned),
    )
}
