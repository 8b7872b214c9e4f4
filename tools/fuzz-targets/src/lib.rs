//! What must hold for any bytes at all, as functions that panic when it does not.
//!
//! libFuzzer calls them from `fuzz/` (nightly), this crate's test with a bounded number of mutated seeds (stable). A new
//! target is one file here and one line in [`TARGETS`]. Knows nothing about how inputs are made.

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

/// One function under test and what to feed it.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Its name, as `TREFOIL_FUZZ_TARGET` gives it.
    pub name: &'static str,
    /// What must hold, in a line.
    pub about: &'static str,
    /// Inputs to start with: valid ones, and ones that went wrong before.
    pub seeds: Seeds,
    /// Words that mean something to it.
    pub words: &'static [&'static str],
    /// What its inputs look like, for a mutator that knows structure.
    pub shape: Shape,
    /// How much one call costs beside the others': a bounded run makes so many times fewer of them.
    pub weight: u64,
    /// Panics if what must hold does not.
    pub run: fn(&[u8]),
}

/// Inputs to start with.
pub type Seeds = fn() -> Vec<Cow<'static, str>>;

impl Target {
    /// One whose inputs are short texts.
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

/// What inputs look like.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// Like nothing in particular.
    Bytes,
    /// YAML files, each under a line `=== NAME`. At the end there may be a line `=== choices N`: a number that decides
    /// what the target is free to choose.
    Manifests {
        /// Keys that mean something.
        keys: &'static [&'static str],
        /// Words that mostly leave no YAML.
        broken: &'static [&'static str],
    },
    /// JSON, one value a line.
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

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|t| t.name == name)
}

/// Seeds that are there from the start.
fn fixed(seeds: &[&'static str]) -> Vec<Cow<'static, str>> {
    seeds.iter().copied().map(Cow::Borrowed).collect()
}
