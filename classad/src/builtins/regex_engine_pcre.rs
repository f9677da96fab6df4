//! The engine for patterns with the feature `pcre`: what the linear engine refuses is matched by backtracking, with a bound.

use fancy_regex::RegexBuilder;

use crate::builtins::regex_engine::{CACHE_MAX, COMPILED_MAX, Groups};

/// How often one match may go back. What needs more does not match.
const BACKTRACKS_MAX: usize = 10_000;

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Regex(fancy_regex::Regex);

/// A compiled pattern: `translated` is written for the linear engine, `pcre` as the author wrote it.
pub(crate) fn build(translated: Option<&str>, pcre: &str, options: &str) -> Option<Regex> {
    let compile = |pattern: &str| {
        RegexBuilder::new(pattern)
            .case_insensitive(options.contains('i'))
            .multi_line(options.contains('m'))
            .dot_matches_new_line(options.contains('s'))
            .ignore_whitespace(options.contains('x'))
            .backtrack_limit(BACKTRACKS_MAX)
            .delegate_size_limit(COMPILED_MAX)
            .delegate_dfa_size_limit(CACHE_MAX)
            .build()
            .ok()
    };
    translated.and_then(compile).or_else(|| compile(pcre)).map(Regex)
}

impl Regex {
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.0.is_match(text).unwrap_or(false)
    }

    pub(crate) fn matches<'r>(&'r self, text: &'r str) -> impl Iterator<Item = Groups> + 'r {
        let found = self.0.captures_iter(text).map_while(Result::ok);
        found.map(|captures| captures.iter().map(|group| group.map(|group| group.range())).collect())
    }
}
