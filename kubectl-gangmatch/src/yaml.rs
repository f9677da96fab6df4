//! YAML into the values that kubectl would send to an API server. kubectl reads YAML 1.1, where `yes` is a boolean and `010` is 8; and a
//! number without a fraction becomes an integer on the way, however it is written.

use std::borrow::Cow;

use granit_parser::{Event, Parser, ScalarStyle};
use serde_json::{Number, Value};

/// A plain scalar that is something else than a text, or than it seems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadOtherwise {
    /// The line that it stands on, from 1.
    pub(crate) line: usize,
    /// As it is written.
    pub(crate) written: String,
    /// As what it is read.
    pub(crate) read: String,
}

/// The value of one document, and what in it is read as something else than it seems.
pub(crate) fn read(text: &str) -> Result<(Value, Vec<ReadOtherwise>), serde_saphyr::Error> {
    let (text, otherwise) = as_yaml_1_2(text);
    let mut value = serde_saphyr::from_str(&text)?;
    whole_numbers(&mut value);
    Ok((value, otherwise))
}

/// The same text, with those plain scalars written in other words that YAML 1.2 reads otherwise. Lines stay what they are. A text that
/// cannot be read is left as it is.
fn as_yaml_1_2(text: &str) -> (Cow<'_, str>, Vec<ReadOtherwise>) {
    let as_it_is = || (Cow::Borrowed(text), Vec::new());
    let is_part = |of: char| of.is_ascii_alphanumeric() || "_+-.".contains(of);
    if !text.split(|of| !is_part(of)).any(|word| in_yaml_1_2(word).is_some()) {
        return as_it_is();
    }
    let (mut written, mut otherwise) = (String::with_capacity(text.len()), Vec::new());
    let mut end = 0;
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else { return as_it_is() };
        let Event::Scalar(scalar, ScalarStyle::Plain, _, None) = event else { continue };
        let Some((read, range)) = in_yaml_1_2(&scalar).zip(span.byte_range()) else { continue };
        let (Some(before), Some(own)) = (text.get(end..range.start), text.get(range.clone())) else { continue };
        if own == scalar {
            written.push_str(before);
            written.push_str(&read);
            end = range.end;
            otherwise.push(ReadOtherwise { line: span.start.line(), written: scalar.into_owned(), read });
        }
    }
    written.push_str(text.get(end..).unwrap_or_default());
    (Cow::Owned(written), otherwise)
}

/// How YAML 1.2 writes what a plain scalar is in YAML 1.1, if it is another thing there.
fn in_yaml_1_2(word: &str) -> Option<String> {
    match word {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => return Some("true".to_owned()),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => return Some("false".to_owned()),
        _ => {}
    }
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let is_number = unsigned.trim_start_matches('.').starts_with(|first: char| first.is_ascii_digit());
    let is_decimal =
        unsigned == "0" || !unsigned.starts_with('0') && unsigned.bytes().all(|digit| digit.is_ascii_digit());
    if !is_number || is_decimal {
        return None;
    }
    let digits = unsigned.replace('_', "");
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, digits.get(2..)?),
        Some("0o" | "0O") => (8, digits.get(2..)?),
        Some("0b" | "0B") => (2, digits.get(2..)?),
        // An octal number with an 8 or 9 in it is read as a decimal one.
        _ if digits.starts_with('0') && digits.bytes().all(|digit| (b'0'..=b'7').contains(&digit)) => {
            (8, digits.as_str())
        }
        _ => (10, digits.as_str()),
    };
    let sign = if word.starts_with('-') { "-" } else { "" };
    match i64::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with(['+', '-'])) {
        Some(number) => Some(format!("{sign}{number}")),
        // A real may have `_` between its digits as well, which YAML 1.2 does not know.
        None if unsigned.contains('_') && is_real(&unsigned.replace('_', "")) => {
            Some(format!("{sign}{}", unsigned.replace('_', "")))
        }
        None => None,
    }
}

/// Whether a text is a real number of decimal digits: `1.5`, `.5`, `1.`, `1e3`.
fn is_real(text: &str) -> bool {
    let is_part = |of: u8| of.is_ascii_digit() || b".eE+-".contains(&of);
    text.bytes().all(is_part) && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// From here on a real has no neighbour that is an integer of 64 bits.
const INTEGERS_END: f64 = 9_223_372_036_854_775_808.0;

/// Writes reals without a fraction as integers: `4.0` reaches an API server as 4.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let real = number.as_f64().filter(|real| real.fract() == 0.0 && real.abs() < INTEGERS_END);
            if let Some(whole) = real.and_then(|real| format!("{real:.0}").parse::<i64>().ok()) {
                *value = Value::Number(Number::from(whole));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::read;

    /// As `kubectl label --local -o json` prints it.
    #[test]
    fn a_text_is_read_as_by_kubectl() {
        let text = "{a: yes, b: y, c: NO, d: On, e: 010, f: 0o10, g: 1_000, h: 4.0, i: 1e3, j: 0x1F, k: 0b11, l: .5, m: 1:30, \
                    n: 2020-01-01, o: \"yes\", p: 089, q: +5, r: -010, s: 1.50, t: 0.1, u: ~, z: on, \
                    aa: 1_000.5, ab: 1_0., ac: 1_e3, ad: -1_0.5, ae: .5_0, af: 1_a}\n";
        let wanted = json!({
            "a": true, "b": true, "c": false, "d": true, "e": 8, "f": 8, "g": 1000, "h": 4, "i": 1000, "j": 31, "k": 3, "l": 0.5,
            "m": "1:30", "false": "2020-01-01", "o": "yes", "p": 89, "q": 5, "r": -8, "s": 1.5, "t": 0.1, "u": null, "z": true,
            "aa": 1000.5, "ab": 10, "ac": 1000, "ad": -10.5, "ae": 0.5, "af": "1_a",
        });
        assert_eq!(read(text).unwrap().0, wanted);
    }

    #[test]
    fn only_plain_scalars_are_words() {
        let text = "on: # yes\n  - no way\n  - 'no'\n  - |\n    yes\n    010\n  - é no\n  - no\n  - !!str no\n";
        let wanted = json!({"true": ["no way", "no", "yes\n010\n", "é no", false, "no"]});
        assert_eq!(read(text).unwrap().0, wanted);
    }

    #[test]
    fn a_mistake_is_told_where_it_stands() {
        let error = read("a: yes\nb: {c: no\n").unwrap_err();
        assert!(error.location().is_some_and(|at| at.line() >= 2), "{error}");
    }

    #[test]
    fn what_is_a_text_to_both_stays_one() {
        for text in ["0x", "0b2", "0o9", "1_a", "0x1G", "+-1", "--1", "0-1", "1.2.3", "no-one", "_1"] {
            assert_eq!(read(&format!("a: {text}")).unwrap(), (json!({"a": text}), Vec::new()), "{text}");
        }
    }
}
