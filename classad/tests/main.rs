//! The language, with a file for each subject.
#![cfg(test)]

mod analysis;
mod costs;
mod diagnostics;
mod format;
mod forms;
mod hide;
mod laws;
mod manual;
mod patterns;
mod reading;
mod scopes;
mod trees;
mod work;
