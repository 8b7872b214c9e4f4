//! Invariants for arbitrary bytes, as functions that panic if one is violated.
//!
//! libFuzzer calls them from `fuzz/` (nightly); this crate's test calls them with a limited number of mutated seeds
//! (stable). A new target needs one file here and one line in [`TARGETS`]. Targets do not know how inputs are
//! generated.

mod addresses;
mod condition;
mod driver;
mod front;
mod journal;
mod machine;
mod manifest;
mod paths;
mod scalar_map;
mod shell;
mod template;
mod text;
mod tree;
mod views;
mod yaml_tree;

use std::borrow::Cow;

/// A function to test, and its inputs.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, as in `TREFOIL_FUZZ_TARGET`.
    pub name: &'static str,
    /// The invariant, in one line.
    pub about: &'static str,
    /// Initial inputs: valid ones, and ones that failed before.
    pub seeds: Seeds,
    /// Words with a meaning for it.
    pub words: &'static [&'static str],
    /// The form of its inputs, for mutators that know structure.
    pub shape: Shape,
    /// The cost of a call relative to others; a limited run makes fewer calls by this factor.
    pub weight: u64,
    /// Panics if the invariant is violated.
    pub run: fn(&[u8]),
}

/// Initial inputs.
pub type Seeds = fn() -> Vec<Cow<'static, str>>;

impl Target {
    /// A target whose inputs are short texts.
    pub(crate) const fn of_text(
        name: &'static str,
        about: &'static str,
        seeds: Seeds,
        words: &'static [&'static str],
        run: fn(&[u8]),
    ) -> Self {
        Self { name, about, seeds, words, shape: Shape::Bytes, weight: 2, run }
    }
}

/// The form of inputs.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Arbitrary bytes.
    Bytes,
    /// YAML files, each below a line `=== NAME`. The last line may be `=== choices N`: a number that determines the
    /// target's free choices.
    Manifests {
        /// Keys with a meaning.
        keys: &'static [&'static str],
        /// Words that usually make YAML invalid.
        broken: &'static [&'static str],
    },
    /// JSON, one value on each line.
    JsonLines,
}

/// All targets.
pub static TARGETS: &[Target] = &[
    yaml_tree::TARGET,
    scalar_map::TARGET,
    shell::TARGET,
    template::AGNTZ,
    template::AEGIS,
    template::SIRENSPEC,
    condition::AGNTZ,
    condition::AEGIS,
    condition::SIRENSPEC,
    front::AGNTZ,
    front::AEGIS,
    front::SIRENSPEC,
    views::TARGET,
    machine::TARGET,
    driver::TARGET,
    journal::TARGET,
    paths::TARGET,
    addresses::TARGET,
];

/// The target with this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}

/// Seeds that are constants.
fn fixed(seeds: &[&'static str]) -> Vec<Cow<'static, str>> {
    seeds.iter().copied().map(Cow::Borrowed).collect()
}
