//! Fixes of misspelt names: whole scalars, and names inside templates and conditions.
//!
//! A fix replaces only the bytes of one name. If their place is unknown (there is an escape in the name), there is no
//! fix.

use trefoil_syntax::hash::HashSet;
use trefoil_syntax::suggest::Near;
use trefoil_syntax::yaml::{Style, Text};
use trefoil_syntax::{Diagnostic, Location};

/// A finding about a misspelt word, with a fix. The quotes around the word are kept.
pub fn respelt(d: Diagnostic, at: Location, text: &Text, near: Near<'_>) -> Diagnostic {
    let at = match text.style {
        Style::Plain => at,
        Style::Single | Style::Double => Location::new(at.file, text.content()),
        Style::Literal | Style::Folded => return d,
    };
    let message = format!("write `{}`", near.name);
    if near.sure { d.fix(message, at, near.name) } else { d.suggestion(message, at, near.name) }
}

/// Adds a fix that replaces a name in a path. `sure`: it is certainly a misspelling.
pub fn renamed(d: Diagnostic, at: Option<Location>, near: Near<'_>, sure: bool) -> Diagnostic {
    rewritten(d, at, near.name, sure && near.sure)
}

/// Adds a fix that replaces a part of a path by another path.
pub fn rewritten(d: Diagnostic, at: Option<Location>, path: &str, sure: bool) -> Diagnostic {
    // A name with other characters is written differently in a path.
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let Some(at) = at.filter(|_| !path.is_empty() && path.chars().all(plain)) else { return d };
    let message = format!("write `{path}`");
    if sure { d.fix(message, at, path) } else { d.suggestion(message, at, path) }
}

/// The quotes for a text inside a scalar of this style, so that they need no escape.
pub fn quote(style: Style) -> char {
    if style == Style::Single { '"' } else { '\'' }
}

/// The maximum number of names that a message lists.
const MOST_LISTED: usize = 12;

/// Names in backticks, separated by commas, up to the maximum.
pub fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut seen = HashSet::default();
    let mut names = names.into_iter().filter(|n| seen.insert(*n));
    let mut list = names.by_ref().take(MOST_LISTED).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    if names.next().is_some() {
        list.push_str(", ...");
    }
    list
}
