//! Measuring: contestants of one race run in turn, round after round, and the medians are compared.
//!
//! Criterion measures one thing after the other, which on a shared machine compares the machine with itself at two
//! moments. Here every round runs every contestant once, so a ratio is between neighbours in time.

pub mod race;
pub mod table;

pub use race::{Lane, Race};
