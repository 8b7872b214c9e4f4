//! Mistakes in texts of any dialect: finders that check bound texts, one file for each subject. A finder reads data and
//! returns findings; it changes nothing.

pub mod lookalike;

mod block;
mod lone;
mod syntax;
mod unresolved;

use trefoil_front::bound_text::BoundText;

pub(crate) use crate::FindingList;

/// All finders for a text.
const OF_TEXTS: &[fn(&BoundText, &mut FindingList)] = &[
    syntax::find_syntax_errors,
    unresolved::find_unresolved_names,
    block::find_stray_paths,
    block::from_the_root,
    lone::check_lone_placeholder,
    lookalike::check_placeholders,
    lookalike::check_expression_literals,
];

/// The mistakes in a text. Called once for each, whatever its dialect.
pub fn find_text_mistakes(text: &BoundText, found: &mut FindingList) {
    OF_TEXTS.iter().for_each(|find| find(text, found));
}
