//! Mistakes in texts of any dialect: finders that check bound texts, one file for each subject. A finder reads data and
//! returns findings; it changes nothing.

pub mod lookalike;

mod block;
mod lone;
mod syntax;
mod unresolved;

use trefoil_front::bound::BoundText;

pub(crate) use crate::Found;

/// All finders for a text.
const OF_TEXTS: &[fn(&BoundText, &mut Found)] = &[
    syntax::mistakes,
    unresolved::names,
    block::strays,
    block::from_the_root,
    lone::placeholder,
    lookalike::placeholders,
    lookalike::literals,
];

/// The mistakes in a text. Called once for each, whatever its dialect.
pub fn find(text: &BoundText, found: &mut Found) {
    OF_TEXTS.iter().for_each(|find| find(text, found));
}
