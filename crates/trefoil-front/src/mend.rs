//! Changes that fix misspelt names: whole scalars, and those inside of templates and conditions.
//!
//! A change replaces the bytes of one name and nothing else; if their place is unknown (an escape in the middle of a
//! name), there is none.

use trefoil_syntax::hash::HashSet;
use trefoil_syntax::suggest::Near;
use trefoil_syntax::yaml::{Style, Text};
use trefoil_syntax::{Diagnostic, Location};
use trefoil_template::Reference;

/// A finding about a misspelt word, with the change to the right one; the quotes around it stay.
pub fn respelt(d: Diagnostic, at: Location, text: &Text, near: Near<'_>) -> Diagnostic {
    let at = match text.style {
        Style::Plain => at,
        Style::Single | Style::Double => Location::new(at.file, text.content()),
        Style::Literal | Style::Folded => return d,
    };
    let message = format!("write `{}`", near.name);
    if near.sure { d.fix(message, at, near.name) } else { d.suggestion(message, at, near.name) }
}

/// The place of a segment of a reference in the file; `at` is the place of the whole path.
pub fn segment(reference: &Reference, at: Location, index: usize) -> Option<Location> {
    let span = &reference.path.get(index)?.span;
    part(reference, at, span.start, span.end)
}

/// The place of a range of segments of a reference in the file.
pub fn segments(reference: &Reference, at: Location, from: usize, to: usize) -> Option<Location> {
    part(reference, at, reference.path.get(from)?.span.start, reference.path.get(to)?.span.end)
}

fn part(reference: &Reference, at: Location, start: u32, end: u32) -> Option<Location> {
    trefoil_ir::place::part(&reference.span, at, start..end)
}

/// The finding with the change of a name in a path to the one that was meant. `sure`: it is certainly a misspelling.
pub fn renamed(d: Diagnostic, at: Option<Location>, near: Near<'_>, sure: bool) -> Diagnostic {
    rewritten(d, at, near.name, sure && near.sure)
}

/// The finding with the change of a part of a path to another path.
pub fn rewritten(d: Diagnostic, at: Option<Location>, path: &str, sure: bool) -> Diagnostic {
    // A name with other characters is not written like this in a path.
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let Some(at) = at.filter(|_| !path.is_empty() && path.chars().all(plain)) else { return d };
    let message = format!("write `{path}`");
    if sure { d.fix(message, at, path) } else { d.suggestion(message, at, path) }
}

/// The quotes for a text inside of a scalar of this style: those that need no escape there.
pub fn quote(style: Style) -> char {
    if style == Style::Single { '"' } else { '\'' }
}

/// How many names a message lists.
const MOST_LISTED: usize = 12;

/// Names in backticks with commas, the first dozen.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut seen = HashSet::default();
    let mut names = names.into_iter().filter(|n| seen.insert(*n));
    let mut list = names.by_ref().take(MOST_LISTED).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    if names.next().is_some() {
        list.push_str(", ...");
    }
    list
}
