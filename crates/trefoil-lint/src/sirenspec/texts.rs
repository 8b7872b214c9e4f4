//! Mistakes inside a text, in any dialect.

use super::subject::{Found, Subject};
use crate::text;

/// Checks every text.
pub fn check(subject: &Subject<'_>, found: &mut Found) {
    subject.texts.all().iter().for_each(|bound| text::find(&bound.text, found));
}
