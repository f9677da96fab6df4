//! The two dialects of the language.

/// What beyond HTCondor's language is read, and what is refused although HTCondor reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Exactly today's HTCondor.
    Htcondor,
    /// Also `28M` (a real) and `28Mi` (an integer); quoted names that look like times (`'00:15'`) and `f(a; b)` are refused.
    #[default]
    Gangmatch,
}
