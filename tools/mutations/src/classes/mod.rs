//! The classes of mistakes, by subject. A class returns every place of a correct manifest where its mistake can be
//! made; each result is certainly a mistake. A new class needs a function and a line in its file's list.

mod aegis;
mod agntz;
mod conditions;
mod flow;
mod form;
mod names;
mod safety;
mod schemas;
mod sirenspec;
mod states;
mod templates;
mod values;

use crate::Manifest;
use crate::edit::Mutation;

/// A class of mistakes.
pub struct Class {
    /// A description of the mistake.
    pub name: &'static str,
    /// The dialects in which it is possible.
    pub dialects: &'static [&'static str],
    /// Makes the mistake in every possible place.
    pub seed: fn(&Manifest) -> Vec<Mutation>,
}

const ALL: &[&str] = &["agntz", "aegis", "sirenspec"];
const AGNTZ: &[&str] = &["agntz"];
const AEGIS: &[&str] = &["aegis"];
const SIREN: &[&str] = &["sirenspec"];

const fn class(name: &'static str, dialects: &'static [&'static str], seed: fn(&Manifest) -> Vec<Mutation>) -> Class {
    Class { name, dialects, seed }
}

/// Every class.
pub static CLASSES: std::sync::LazyLock<Vec<&'static Class>> = std::sync::LazyLock::new(|| {
    let lists: [&'static [Class]; 12] = [
        form::CLASSES,
        values::CLASSES,
        templates::CLASSES,
        names::CLASSES,
        conditions::CLASSES,
        schemas::CLASSES,
        flow::CLASSES,
        states::CLASSES,
        safety::CLASSES,
        sirenspec::CLASSES,
        agntz::CLASSES,
        aegis::CLASSES,
    ];
    lists.into_iter().flatten().collect()
});
