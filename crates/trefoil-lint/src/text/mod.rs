//! What people get wrong in texts of any dialect: finders over what was bound, one file a subject. A finder reads data and gives
//! findings; it changes nothing.

pub mod lookalike;

mod block;
mod syntax;

use trefoil_front::bound::BoundText;

pub(crate) use crate::Found;

/// The finders of mistakes in a text.
const OF_TEXTS: &[fn(&BoundText, &mut Found)] =
    &[syntax::mistakes, block::strays, block::from_the_root, lookalike::placeholders, lookalike::literals];

/// The mistakes in a text.
pub fn find(text: &BoundText, found: &mut Found) {
    OF_TEXTS.iter().for_each(|find| find(text, found));
}
