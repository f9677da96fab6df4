//! The engine for patterns: linear time, no look-around, no references back.

use regex::RegexBuilder;

pub(crate) use regex::{Captures, Regex};

/// Whether patterns beyond regular languages are matched, too.
pub(crate) const BACKTRACKS: bool = false;

/// How much memory a compiled pattern and its automaton may take, in bytes.
const COMPILED_MAX: usize = 1 << 20;

/// A compiled pattern: `translated` is written for this engine, `_pcre` as the author wrote it.
pub(crate) fn build(translated: Option<&str>, _pcre: &str, options: &str) -> Option<Regex> {
    RegexBuilder::new(translated?)
        .case_insensitive(options.contains('i'))
        .multi_line(options.contains('m'))
        .dot_matches_new_line(options.contains('s'))
        .ignore_whitespace(options.contains('x'))
        .size_limit(COMPILED_MAX)
        .dfa_size_limit(COMPILED_MAX)
        .build()
        .ok()
}
