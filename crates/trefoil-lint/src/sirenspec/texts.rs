//! What is wrong with a text whatever its dialect.

use super::subject::{Found, Subject};
use crate::text;

/// Looks at every text.
pub fn check(subject: &Subject<'_>, found: &mut Found) {
    subject.texts.all().iter().for_each(|bound| text::find(&bound.text, found));
}
