//! The arguments and the environment of a submit file into words, as HTCondor divides them.

/// A text without the double quotes around it, if it stands between such.
pub(super) fn unquoted(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"')
}

/// A text in double quotes as HTCondor stores it: without them, and a quote that is written twice is one. None for a text in the old form.
pub(super) fn stored(text: &str) -> Option<String> {
    Some(unquoted(text)?.replace("\"\"", "\""))
}

/// The words of a text. Between double quotes, they are divided at blanks, single quotes keep a word together, and a quote that is written
/// twice is one. Otherwise they are divided wherever `divides` says.
pub(super) fn words(text: &str, divides: impl Fn(char) -> bool) -> Vec<String> {
    match stored(text) {
        Some(inner) => quoted_words(&inner),
        None => text.split(divides).map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect(),
    }
}

fn quoted_words(text: &str) -> Vec<String> {
    let (mut all, mut word, mut is_together) = (Vec::new(), None::<String>, false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' if is_together && letters.next_if_eq(&'\'').is_some() => word.get_or_insert_default().push('\''),
            '\'' => {
                is_together = !is_together;
                // Two quotes with nothing in between are an empty word.
                word.get_or_insert_default();
            }
            blank if blank.is_whitespace() && !is_together => all.extend(word.take()),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    all.extend(word);
    all
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn quoted_arguments_stay_together() {
        let of = |text: &str| words(text, char::is_whitespace);
        assert_eq!(of(r#"-n 3  -v"#), ["-n", "3", "-v"]);
        assert_eq!(of(r#"--title 'two words'"#), ["--title", "'two", "words'"], "the old form has no quotes");
        assert_eq!(of(r#""--title 'two words' --dir=a' b'""#), ["--title", "two words", "--dir=a b"]);
        assert_eq!(of(r#""say 'it''s ""so""' ''""#), ["say", "it's \"so\"", ""]);
        assert!(of("").is_empty() && of("\"\"").is_empty());
    }

    #[test]
    fn an_environment_is_divided_at_semicolons_or_if_it_is_quoted_at_blanks() {
        let of = |text: &str| words(text, |letter| letter == ';');
        assert_eq!(of("A=1; B=two words"), ["A=1", "B=two words"]);
        assert_eq!(of(r#""A=1;2 B='two words'""#), ["A=1;2", "B=two words"]);
    }
}
