//! Compiled patterns, which match in linear time; with the feature `pcre` and in HTCondor's dialect, by bounded backtracking.

use std::convert::Infallible;
use std::ops::Range;

use regex::RegexBuilder;
use regex_syntax::ParserBuilder;
use regex_syntax::ast::parse::ParserBuilder as AstBuilder;
use regex_syntax::ast::{self, Ast, ClassSetItem, Flag, FlagsItemKind};
use regex_syntax::hir::{Class, Hir, HirKind};

use crate::dialect::Dialect;
use crate::eval::costs::READ;

/// How much memory a compiled pattern may take, in bytes.
const COMPILED_MAX: usize = 1 << 20;

/// How much memory the cached part of its automaton may take while it matches.
const CACHE_MAX: usize = 1 << 18;

/// States that are compared with a letter in one step.
const STATES_OF_A_STEP: usize = 8;

/// Which engine matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// Linear time, no look-around, no references back.
    Linear,
    /// Patterns beyond regular languages, within a number of steps.
    #[cfg(feature = "pcre")]
    Backtracking,
}

impl Engine {
    /// The engine of a dialect: backtracking in HTCondor's dialect only, and only with the feature `pcre`.
    pub(crate) fn of(dialect: Dialect) -> Self {
        match dialect {
            #[cfg(feature = "pcre")]
            Dialect::Htcondor => Self::Backtracking,
            _ => Self::Linear,
        }
    }
}

/// A compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Regex {
    matcher: Matcher,
    /// About how many states its automaton has.
    states: usize,
}

#[derive(Clone, Debug)]
enum Matcher {
    Linear(regex::Regex),
    #[cfg(feature = "pcre")]
    Backtracking(fancy_regex::Regex),
}

/// Steps of parsing a pattern for the linear engine, beside those for its length. Without regard to case, each character of each class
/// is looked up: a few bytes of pattern can mean a million characters.
pub(crate) fn reading(translated: &str, options: &str) -> usize {
    let Ok(tree) = AstBuilder::new().ignore_whitespace(options.contains('x')).build().parse(translated) else {
        return 0;
    };
    let cost = ClassCost { folds: options.contains('i'), tables: 0, characters: 0 };
    ast::visit(&tree, cost).unwrap_or_else(|never| match never {})
}

/// The cost of parsing the character classes of a pattern.
struct ClassCost {
    /// Letters of both cases match, somewhere.
    folds: bool,
    /// Classes that are tables of Unicode.
    tables: usize,
    /// The characters of all classes.
    characters: usize,
}

/// The number of code points of Unicode.
const CHARACTERS: usize = 0x11_0000;
/// Steps of copying a table of Unicode.
const TABLE: usize = 500;
/// Characters that are looked up in one step: a pattern is parsed twice.
const CHARACTERS_OF_A_STEP: usize = 4;

impl ClassCost {
    fn table(&mut self) {
        self.tables = self.tables.saturating_add(1);
        self.characters = self.characters.saturating_add(CHARACTERS);
    }

    fn flags(&mut self, flags: &ast::Flags) {
        self.folds |= flags.items.iter().any(|item| item.kind == FlagsItemKind::Flag(Flag::CaseInsensitive));
    }
}

impl ast::Visitor for ClassCost {
    type Output = usize;
    type Err = Infallible;

    fn finish(self) -> Result<usize, Infallible> {
        let folding = if self.folds { self.characters / CHARACTERS_OF_A_STEP } else { 0 };
        Ok(self.tables.saturating_mul(TABLE).saturating_add(folding))
    }

    fn visit_pre(&mut self, tree: &Ast) -> Result<(), Infallible> {
        match tree {
            Ast::Flags(set) => self.flags(&set.flags),
            Ast::Group(group) => group.flags().into_iter().for_each(|flags| self.flags(flags)),
            Ast::ClassUnicode(_) | Ast::ClassPerl(_) => self.table(),
            _ => {}
        }
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Infallible> {
        let more = match item {
            ClassSetItem::Range(range) => (range.end.c as usize).saturating_sub(range.start.c as usize),
            ClassSetItem::Unicode(_) | ClassSetItem::Perl(_) => {
                self.table();
                0
            }
            // A negated class inside another class contains all other characters.
            ClassSetItem::Bracketed(class) if class.negated => CHARACTERS,
            ClassSetItem::Ascii(class) if class.negated => CHARACTERS,
            ClassSetItem::Ascii(_) => 128,
            _ => 1,
        };
        self.characters = self.characters.saturating_add(more);
        Ok(())
    }
}

/// About how many states the automaton of a pattern for the linear engine has; `None` if the pattern is invalid.
pub(crate) fn states(translated: &str, options: &str) -> Option<usize> {
    let hir = ParserBuilder::new()
        .case_insensitive(options.contains('i'))
        .multi_line(options.contains('m'))
        .dot_matches_new_line(options.contains('s'))
        .ignore_whitespace(options.contains('x'))
        .build()
        .parse(translated)
        .ok()?;
    Some(states_of(&hir))
}

fn states_of(hir: &Hir) -> usize {
    // A character beyond ASCII is several bytes, each with its own state.
    const WIDE: usize = 8;
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len(),
        HirKind::Class(Class::Unicode(class)) => {
            class.iter().map(|range| if range.end().is_ascii() { 1 } else { WIDE }).sum()
        }
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(repetition.min.saturating_add(1)).max(1);
            states_of(&repetition.sub).saturating_add(1).saturating_mul(usize::try_from(most).unwrap_or(usize::MAX))
        }
        // Where a group begins and ends is kept for each state.
        HirKind::Capture(capture) => states_of(&capture.sub).saturating_add(4),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().map(states_of).fold(1, usize::saturating_add)
        }
    }
}

/// Where the groups of one match are, the whole match first.
pub(crate) type Groups = Vec<Option<Range<usize>>>;

/// Compiles a pattern: `translated` is the pattern for the linear engine, `_pcre` the pattern as the author wrote it.
pub(crate) fn build(
    engine: Engine,
    translated: Option<&str>,
    states: usize,
    _pcre: &str,
    options: &str,
) -> Option<Regex> {
    let matcher = match engine {
        Engine::Linear => RegexBuilder::new(translated?)
            .case_insensitive(options.contains('i'))
            .multi_line(options.contains('m'))
            .dot_matches_new_line(options.contains('s'))
            .ignore_whitespace(options.contains('x'))
            .size_limit(COMPILED_MAX)
            .dfa_size_limit(CACHE_MAX)
            .build()
            .ok()
            .map(Matcher::Linear),
        #[cfg(feature = "pcre")]
        Engine::Backtracking => backtracking(translated, _pcre, options).map(Matcher::Backtracking),
    };
    matcher.map(|matcher| Regex { matcher, states })
}

/// How often one match may go back. A text that needs more does not match.
#[cfg(feature = "pcre")]
const BACKTRACKS_MAX: usize = 10_000;

/// A pattern for the backtracking engine, which also matches what the linear engine refuses.
#[cfg(feature = "pcre")]
fn backtracking(translated: Option<&str>, pcre: &str, options: &str) -> Option<fancy_regex::Regex> {
    let compile = |pattern: &str| {
        fancy_regex::RegexBuilder::new(pattern)
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
    translated.and_then(compile).or_else(|| compile(pcre))
}

impl Regex {
    /// Steps that it takes to search a text once, at most: each letter may be compared with each state.
    pub(crate) fn steps(&self, text: &str) -> usize {
        text.len().saturating_mul(self.states) / STATES_OF_A_STEP + text.len() / READ
    }

    /// The length of the longest text that can be searched in `steps` steps.
    pub(crate) fn length_max(&self, steps: usize) -> usize {
        steps.saturating_mul(STATES_OF_A_STEP) / (self.states + 1)
    }

    /// Whether the pattern matches somewhere in the text.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        match &self.matcher {
            Matcher::Linear(regex) => regex.is_match(text),
            #[cfg(feature = "pcre")]
            Matcher::Backtracking(regex) => regex.is_match(text).unwrap_or(false),
        }
    }

    /// All matches, in the order of the text.
    pub(crate) fn matches<'r>(&'r self, text: &'r str) -> Box<dyn Iterator<Item = Groups> + 'r> {
        match &self.matcher {
            Matcher::Linear(regex) => Box::new(
                regex
                    .captures_iter(text)
                    .map(|captures| captures.iter().map(|group| group.map(|group| group.range())).collect()),
            ),
            #[cfg(feature = "pcre")]
            Matcher::Backtracking(regex) => {
                let found = regex.captures_iter(text).map_while(Result::ok);
                Box::new(found.map(|captures| captures.iter().map(|group| group.map(|group| group.range())).collect()))
            }
        }
    }
}
