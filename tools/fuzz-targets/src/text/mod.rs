//! Shared by the targets for templates and conditions: problematic states, and a scope with every kind of source.

pub(crate) mod aegis;
pub(crate) mod agntz;
pub(crate) mod sirenspec;
mod world;

use std::ops::Range;

use trefoil_template::{Reference, SyntaxError};

pub(crate) use world::{World, fill, mark};

/// Asserts that a range is inside the text.
pub(crate) fn inside(text: &str, span: &Range<u32>) {
    assert!(text.get(span.start as usize..span.end as usize).is_some(), "{span:?} is not in {text:?}");
}

/// Asserts the requirements for every list of mistakes.
pub(crate) fn check_mistakes(text: &str, mistakes: &[SyntaxError]) {
    assert!(!mistakes.is_empty(), "refused without a reason");
    assert!(mistakes.is_sorted_by_key(|e| e.span.start), "mistakes in the order of the text");
    for mistake in mistakes {
        inside(text, &mistake.span);
        assert!(trefoil_check::find_rule(mistake.code).is_some(), "{}", mistake.code);
        assert!(!mistake.message.is_empty() && !mistake.message.ends_with('.'), "{}", mistake.message);
    }
}

/// Asserts the requirements for every reference.
pub(crate) fn check_references(text: &str, references: &[Reference]) {
    for reference in references {
        inside(text, &reference.span);
        for segment in &reference.path {
            inside(text, &segment.span);
            assert!(
                reference.span.start <= segment.span.start && segment.span.end <= reference.span.end,
                "{segment:?} is outside of its path {reference:?}"
            );
        }
    }
}
