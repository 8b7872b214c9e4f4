//! What must hold for any bytes at all, as functions that panic when it does not.
//!
//! libFuzzer calls them from `fuzz/` (nightly), this crate's test with a bounded number of mutated seeds (stable). A new
//! target is one file here and one line in [`TARGETS`]. Knows nothing about how inputs are made.

mod scalar_map;
mod tree;
mod yaml_tree;

/// One function under test and what to feed it.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, as `TREFOIL_FUZZ_TARGET` gives it.
    pub name: &'static str,
    /// What must hold, in a line.
    pub about: &'static str,
    /// Inputs to begin with: valid ones, and ones that went wrong before.
    pub seeds: &'static [&'static str],
    /// Words that mean something to it.
    pub words: &'static [&'static str],
    /// Panics if what must hold does not.
    pub run: fn(&[u8]),
}

/// All targets. Still to come, a line each: templates, conditions, front ends, journal entries.
pub static TARGETS: &[Target] = &[yaml_tree::TARGET, scalar_map::TARGET];

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}
