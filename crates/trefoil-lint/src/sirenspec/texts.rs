//! What is wrong with a text whatever its dialect.

use super::subject::Subject;
use crate::text;

/// Looks at every text.
pub fn check(subject: &Subject<'_, '_>) {
    let mut found = Vec::new();
    subject.texts.all().iter().for_each(|bound| text::find(&bound.text, &mut found));
    found.into_iter().for_each(|d| subject.reader.report(d));
}
