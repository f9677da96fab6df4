//! The lines `if`, `elif`, `else` and `endif` of a submit file: which lines between them count.

use super::macros;

/// The `if` statements that are open.
#[derive(Default)]
pub(super) struct Conditionals(Vec<Open>);

struct Open {
    /// The number of its line.
    line: usize,
    /// The lines that are read now count.
    counts: bool,
    /// One of its conditions was true.
    is_decided: bool,
    has_else: bool,
}

impl Conditionals {
    /// Takes the next line. Whether it counts: it is not one of these statements, and all the conditions around it are true. A variable is
    /// asked for in lower case.
    ///
    /// # Errors
    /// A condition cannot be read, or there is no `if` for the line; what to write instead.
    pub(super) fn take(
        &mut self,
        (line, text): (usize, &str),
        value: &dyn Fn(&str) -> Option<String>,
    ) -> Result<bool, String> {
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let (word, rest) = (word.to_ascii_lowercase(), rest.trim());
        let outer = |open: &[Open]| open.iter().all(|one| one.counts);
        match word.as_str() {
            _ if rest.starts_with('=') => return Ok(outer(&self.0)),
            "if" => {
                let counts = outer(&self.0) && is_true(rest, value)?;
                self.0.push(Open { line, counts, is_decided: counts, has_else: false });
            }
            "elif" | "else" => {
                let Some((last, before)) = self.0.split_last_mut().filter(|(last, _)| !last.has_else) else {
                    return Err(format!("`{word}` without an `if` before it; write `if CONDITION`"));
                };
                let is_asked = outer(before) && !last.is_decided;
                last.has_else = word == "else";
                last.counts = is_asked && (last.has_else || is_true(rest, value)?);
                last.is_decided |= last.counts;
            }
            "endif" => {
                self.0.pop().ok_or("`endif` without an `if` before it; remove it")?;
            }
            _ => return Ok(outer(&self.0)),
        }
        Ok(false)
    }

    /// The line of an `if` that has no `endif`.
    pub(super) fn open_at(&self) -> Option<usize> {
        self.0.last().map(|open| open.line)
    }
}

/// A condition: `defined NAME`, `version >= 9.0`, or a variable or word that is true or false, or a number; with `!` before it, the
/// opposite. A version counts as the newest. A variable without a value is false, and a number or a word that is true or false is defined.
fn is_true(condition: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<bool, String> {
    let condition = condition.trim();
    if let Some(rest) = condition.strip_prefix('!') {
        return is_true(rest, value).map(|found| !found);
    }
    let wrong = || {
        let found = if condition.is_empty() { "nothing".to_owned() } else { format!("`{condition}`") };
        format!("found {found} as a condition; write `defined NAME`, `version >= NUMBER`, true, false or a number")
    };
    let filled = |text: &str| {
        let known = macros::expanded(text, value).text;
        macros::expanded(&known, &|_| Some(String::new())).text.trim().to_ascii_lowercase()
    };
    let (word, rest) = condition.split_once(char::is_whitespace).unwrap_or((condition, ""));
    if word.eq_ignore_ascii_case("defined") {
        let name = filled(rest);
        return Ok(truth(&name).is_some() || value(&name).is_some_and(|found| !found.trim().is_empty()));
    }
    if word.eq_ignore_ascii_case("version") {
        let is_one = |all: [&str; 3]| all.iter().any(|compares| rest.trim().starts_with(compares));
        let is_newer = is_one(["!=", ">=", ">"]);
        return if is_newer || is_one(["==", "<=", "<"]) { Ok(is_newer) } else { Err(wrong()) };
    }
    match filled(condition).as_str() {
        "" if !condition.is_empty() => Ok(false),
        word => truth(word).ok_or_else(wrong),
    }
}

/// The truth of a word or number in lower case.
fn truth(word: &str) -> Option<bool> {
    match word {
        "true" | "yes" | "t" | "y" => Some(true),
        "false" | "no" | "f" | "n" => Some(false),
        number => number.parse::<f64>().ok().map(|number| number != 0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(name: &str) -> Option<String> {
        let known = [("big", "true"), ("none", ""), ("n", "0"), ("which", "big"), ("case", "Maybe")];
        known.iter().find(|(own, _)| *own == name).map(|(_, text)| (*text).to_owned())
    }

    #[test]
    fn conditions_are_of_few_forms() {
        for (condition, expected) in [
            ("defined big", true),
            ("defined BIG", true),
            ("defined none", false),
            ("defined other", false),
            ("! defined other", true),
            ("defined $(which)", true),
            ("version >= 9.0.1", true),
            ("version < 9", false),
            ("$(Big)", true),
            ("!$(n)", true),
            ("$(other:1)", true),
            ("0.5", true),
            ("$(other)", false),
            ("$(none)", false),
            ("defined $(n)", true),
            ("defined $(other)", false),
            ("defined", false),
        ] {
            assert_eq!(is_true(condition, &value), Ok(expected), "{condition}");
        }
        for wrong in ["$(case)", "$(n) > 3", "", "version", "version 9"] {
            assert!(is_true(wrong, &value).is_err(), "{wrong}");
        }
    }

    /// The lines that count.
    fn left(lines: &str) -> Result<String, String> {
        let (mut conditionals, mut left) = (Conditionals::default(), String::new());
        for (number, line) in lines.split_whitespace().enumerate() {
            if conditionals.take((number, &line.replace('_', " ")), &value)? {
                left.push_str(line);
            }
        }
        match conditionals.open_at() {
            None => Ok(left),
            Some(line) => Err(format!("open at {line}")),
        }
    }

    #[test]
    fn the_first_branch_whose_condition_is_true_counts_at_every_depth() {
        for (lines, expected) in [
            ("a if_0 b elif_1 c elif_1 d else e endif f", "acf"),
            ("if_0 a else b endif", "b"),
            ("if_1 a if_0 b else c endif d endif", "acd"),
            ("if_0 if_1 a else b endif elif_1 c endif", "c"),
            ("IF_no a Else b EndIf", "b"),
            // What does not count is not looked into.
            ("if_0 if_?? a endif endif if_1 a elif_?? b endif", "a"),
        ] {
            assert_eq!(left(lines).as_deref(), Ok(expected), "{lines}");
        }
        for wrong in ["else", "endif", "if_1 else else endif", "if_1 a", "if_?? a endif"] {
            assert!(left(wrong).is_err(), "{wrong}");
        }
    }
}
