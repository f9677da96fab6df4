//! Turns one text into the words in it that have a standard replacement. Code counts like prose: `second_look`, `SecondLook` and "second
//! look" are the same two words.

use super::Source;
use super::exceptions::{Found, Rule, Thing};

/// Where the words stand that are looked for.
const HERE: &str = "xtask/src/tidy/words.rs";

/// A word or several, lower case; also found with an `s` at its end.
struct Word {
    said: &'static str,
    instead: &'static str,
    /// Words after which it means something else.
    unless_before: &'static [&'static str],
}

const fn word(said: &'static str, instead: &'static str) -> Word {
    Word { said, instead, unless_before: &[] }
}

const WORDS: [Word; 27] = [
    word("advert", "ad"),
    word("pairing", "bilateral match"),
    word("counterparty", "partner"),
    word("scheduling round", "negotiation cycle"),
    word("whitelist", "allow"),
    word("blacklist", "refuse"),
    word("how manieth", "attempt number, from 1"),
    word("naysayer", "refusing offer"),
    word("put out", "evicted"),
    word("second look", "verification"),
    word("haunted", "recreated under live claims"),
    Word {
        said: "standing",
        instead: "normalized usage, or state",
        unless_before: &["still", "claim", "claims", "ones"],
    },
    word("farewell", "shutdown"),
    word("usurper", "ignores its Lease"),
    word("hold off", "backoff"),
    word("holdoff", "backoff"),
    word("pulse", "agent Lease"),
    word("alarm", "timer queue"),
    word("shelf", "store"),
    word("sieve", "filters"),
    word("untold", "never reported"),
    word("unproven", "unverified"),
    word("outlook", "cycle inputs"),
    word("bury", "delete, with a tombstone"),
    word("buried", "deleted, with a tombstone"),
    word("terrain", "scenario"),
    word("befall", "inject"),
];

/// Every such word in a text, with its lines.
pub(crate) fn found(source: &Source) -> Found {
    let mut found = Found::new();
    if source.path == HERE {
        return found;
    }
    for (number, line) in source.text.lines().enumerate() {
        let line = split(line);
        for word in &WORDS {
            for _ in 0..times(&line, word) {
                let instead = word.instead;
                let thing = Thing { rule: Rule::Word, place: source.path.clone(), what: word.said.to_owned() };
                found.entry(thing).or_default().push(format!("line {} (say: {instead})", number + 1));
            }
        }
    }
    found
}

/// How often a line, in words, has this one.
fn times(line: &[String], word: &Word) -> usize {
    let length = word.said.split(' ').count();
    let is_said = |(at, window): &(usize, &[String])| {
        let here = window.join(" ");
        let after = line.get(at + length).map_or("", String::as_str);
        (here == word.said || here.strip_suffix('s') == Some(word.said)) && !word.unless_before.contains(&after)
    };
    line.windows(length).enumerate().filter(is_said).count()
}

/// The words of a line, lower case: taken apart where anything but letters and digits stands, and before a capital after a small letter.
fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut small_before = false;
    for letter in line.chars() {
        if !letter.is_alphanumeric() || (small_before && letter.is_uppercase()) {
            words.push(String::new());
        }
        small_before = letter.is_lowercase() || letter.is_ascii_digit();
        if let Some(last) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            last.extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
