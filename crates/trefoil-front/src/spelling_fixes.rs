//! Fixes of misspelt names: whole scalars, and names inside templates and conditions.
//!
//! A fix replaces only the bytes of one name. If their place is unknown (there is an escape in the name), there is no
//! fix.

use trefoil_syntax::hash::HashSet;
use trefoil_syntax::suggestions::NearMatch;
use trefoil_syntax::yaml::{YamlStyle, YamlText};
use trefoil_syntax::{Diagnostic, Location};

/// A finding about a misspelt word, with a fix. The quotes around the word are kept.
pub fn fix_spelling(d: Diagnostic, at: Location, text: &YamlText, near: NearMatch<'_>) -> Diagnostic {
    let at = match text.style {
        YamlStyle::Plain => at,
        YamlStyle::Single | YamlStyle::Double => Location::new(at.file, text.content_span()),
        YamlStyle::Literal | YamlStyle::Folded => return d,
    };
    let message = format!("write `{}`", near.name);
    if near.sure { d.with_safe_fix(message, at, near.name) } else { d.with_suggestion(message, at, near.name) }
}

/// Adds a fix that replaces a name in a path. `sure`: it is certainly a misspelling.
pub fn fix_name(d: Diagnostic, at: Option<Location>, near: NearMatch<'_>, sure: bool) -> Diagnostic {
    fix_path(d, at, near.name, sure && near.sure)
}

/// Adds a fix that replaces a part of a path by another path.
pub fn fix_path(d: Diagnostic, at: Option<Location>, path: &str, sure: bool) -> Diagnostic {
    // A name with other characters is written differently in a path.
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let Some(at) = at else { return d };
    if path.is_empty() || !path.chars().all(plain) {
        return d;
    }
    let message = format!("write `{path}`");
    if sure { d.with_safe_fix(message, at, path) } else { d.with_suggestion(message, at, path) }
}

/// The quotes for a text inside a scalar of this style, so that they need no escape.
pub fn inner_quote(style: YamlStyle) -> char {
    if style == YamlStyle::Single { '"' } else { '\'' }
}

/// The maximum number of names that a message lists.
const MOST_LISTED: usize = 12;

/// Names in backticks, separated by commas, up to the maximum.
pub fn join_names<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut seen = HashSet::default();
    let mut list = String::new();
    for name in names {
        if !seen.insert(name) {
            continue;
        }
        if seen.len() > MOST_LISTED {
            list.push_str(", ...");
            break;
        }
        if !list.is_empty() {
            list.push_str(", ");
        }
        list.push('`');
        list.push_str(name);
        list.push('`');
    }
    list
}
