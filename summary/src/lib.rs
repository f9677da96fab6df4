//! Summaries of pools: what is certainly not there.
