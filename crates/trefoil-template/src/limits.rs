//! Bounds on size and work, so that no manifest and no data can exhaust the process.

/// Bytes of a template's text.
pub const TEMPLATE_BYTES: usize = 1 << 20;
/// Bytes of a condition's text.
pub const CONDITION_BYTES: usize = 64 << 10;
/// Blocks within blocks, parentheses within parentheses, operators applied to operators.
pub const DEPTH: usize = 64;
/// Lists and objects within each other in the value of a step, an input or an output: as many as JSON readers take, with
/// room for what is put around it.
pub const VALUE_DEPTH: usize = 100;
/// Values within such a value, each counted as often as it is there.
pub const VALUE_NODES: usize = 16 << 20;
/// Bytes of rendered text.
pub const OUTPUT_BYTES: usize = 32 << 20;
/// Passes of all loops in one rendering.
pub const PASSES: u64 = 4_000_000;
/// Bytes and items that one evaluation of an expression may make.
pub const WORK: u64 = 16 << 20;
/// Mistakes reported for one text.
pub const MISTAKES: usize = 64;
