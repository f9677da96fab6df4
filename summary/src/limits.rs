//! How large a summary may be.

/// The bounds of a summary. Summaries that are merged must agree on the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most values that a list of numbers or of texts may have.
    pub values: usize,
    /// How many bits a Bloom filter has.
    pub bloom_bits: usize,
    /// The most attributes of one kind.
    pub attributes: usize,
    /// The most resources of one kind of which is told what is free.
    pub resources: usize,
    /// The most kinds.
    pub kinds: usize,
    /// The most bytes of the summary as JSON.
    pub bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { values: 64, bloom_bits: 8192, attributes: 128, resources: 128, kinds: 16, bytes: 64 << 10 }
    }
}
