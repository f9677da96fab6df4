//! Attribute names, which compare without regard to case.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::{Arc, LazyLock};

use foldhash::quality::RandomState;

/// An attribute name: keeps its first spelling, compares, orders and hashes without regard to ASCII case.
///
/// Cloning is O(1).
#[derive(Clone)]
pub struct Name(Arc<Spelling>);

/// What is worked out once for a name, because lookups ask for it again and again.
struct Spelling {
    text: Arc<str>,
    // INVARIANT: `folded_hash(text)`.
    hash: u64,
    builtin: Option<BuiltinName>,
}

/// Names that mean something if no attribute is called so.
#[derive(Clone, Copy)]
pub(crate) enum BuiltinName {
    /// `self`, `my`
    Itself,
    /// `parent`
    Parent,
    /// `toplevel`, `root`
    Root,
    /// `CurrentTime`
    Now,
}

impl BuiltinName {
    /// The names, in small letters, and what they mean.
    pub(crate) const WORDS: [(&str, BuiltinName); 6] = [
        ("self", BuiltinName::Itself),
        ("my", BuiltinName::Itself),
        ("parent", BuiltinName::Parent),
        ("toplevel", BuiltinName::Root),
        ("root", BuiltinName::Root),
        ("currenttime", BuiltinName::Now),
    ];

    fn of(name: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, meaning)| *meaning)
    }
}

/// What the names of hidden attributes begin with. No text that is read, and so no string, contains this character.
const HIDDEN_MARK: char = '\0';

/// What is printed in the place of a hidden name.
const HIDDEN_PRINTED: &str = "private";

impl Name {
    /// The name spelled `text`; any text is a name, those that are no identifiers print in single quotes.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let (hash, builtin) = (folded_hash(&text), BuiltinName::of(&text));
        Self(Arc::new(Spelling { text, hash, builtin }))
    }

    /// The first spelling.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Whether the name can be written without quotes in every place.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        is_identifier(self.as_str()) && !is_reserved(self.as_str())
    }

    /// The name of the same attribute when it is hidden from partners; see [`Ad::hide`](crate::Ad::hide).
    #[must_use]
    pub fn hidden(&self) -> Name {
        if self.is_hidden() { self.clone() } else { Name::new(format!("{HIDDEN_MARK}{}", self.as_str())) }
    }

    /// Whether it is the name of a hidden attribute.
    #[must_use]
    pub fn is_hidden(&self) -> bool {
        self.as_str().starts_with(HIDDEN_MARK)
    }

    /// The name that the author of a hidden attribute wrote; `None` for the name of any other attribute.
    pub(crate) fn revealed(&self) -> Option<Name> {
        self.as_str().strip_prefix(HIDDEN_MARK).map(Name::from)
    }

    /// The text that is printed: for a hidden name a word that is the same for all.
    pub(crate) fn printed(&self) -> &str {
        if self.is_hidden() { HIDDEN_PRINTED } else { self.as_str() }
    }

    /// A number that equal names share.
    pub(crate) fn folded(&self) -> u64 {
        self.0.hash
    }

    /// What the name means if no attribute is called so.
    pub(crate) fn builtin(&self) -> Option<BuiltinName> {
        self.0.builtin
    }
}

/// FNV-1a over the bytes with ASCII letters in lower case: the same for all spellings of a name. It begins with another number in
/// each process, so that names that collide cannot be chosen in advance.
pub(crate) fn folded_hash(text: &str) -> u64 {
    static BASIS: LazyLock<u64> = LazyLock::new(|| RandomState::default().hash_one(0xcbf2_9ce4_8422_2325_u64));
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3);
    text.bytes().fold(*BASIS, fold)
}

/// The words that are no names unless quoted, in small letters.
pub const RESERVED_WORDS: [&str; 6] = ["true", "false", "undefined", "error", "is", "isnt"];

/// The words that stand for an ad in expressions, in small letters.
pub const SCOPE_WORDS: [&str; 7] = ["my", "self", "target", "other", "parent", "root", "toplevel"];

/// Whether `text` is a reserved word, in any case.
pub(crate) fn is_reserved(text: &str) -> bool {
    RESERVED_WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Whether `text` stands for an ad in expressions, in any case.
#[must_use]
pub fn is_scope_word(text: &str) -> bool {
    SCOPE_WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// Whether `text` means something in every expression, in any case: no label can have this name, because it could not be read.
#[must_use]
pub fn is_language_word(text: &str) -> bool {
    is_reserved(text) || is_scope_word(text)
}

/// Whether `text` has the shape of an identifier: a letter or underscore, then letters, digits and underscores.
#[must_use]
pub fn is_identifier(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The order of names: by their bytes with ASCII letters in lower case.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    left.bytes().map(|byte| byte.to_ascii_lowercase()).cmp(right.bytes().map(|byte| byte.to_ascii_lowercase()))
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.hash == other.0.hash && self.0.text.eq_ignore_ascii_case(&other.0.text)
    }
}

impl Eq for Name {}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.0.text.eq_ignore_ascii_case(other)
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.0.text.eq_ignore_ascii_case(other)
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.as_str(), other.as_str())
    }
}

impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.0.hash);
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.printed())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.printed(), f)
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}
