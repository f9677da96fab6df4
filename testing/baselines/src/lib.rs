//! What the product is compared with, and never ships: the rules and the algorithms of the gangmatching paper.

mod paper;
mod ranks;

pub use gangindex::orders;
pub use paper::PaperPool;
pub use ranks::without_ranks;
