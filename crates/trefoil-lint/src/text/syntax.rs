//! Syntax errors of a text's language, as reported by its parser.

use trefoil_syntax::{Diagnostic, suggestions, yaml};
use trefoil_template::SyntaxError;

use super::FindingList;
use trefoil_front::bound_text::{BoundText, ParsedContent};

/// The mistakes in an invalid template or condition.
pub fn find_syntax_errors(text: &BoundText, found: &mut FindingList) {
    if let ParsedContent::Broken { broken, .. } = &text.content {
        found.extend(broken.errors.iter().map(|error| mistake(text, error.clone())));
    }
}

fn mistake(text: &BoundText, error: SyntaxError) -> Diagnostic {
    let at = text.place_of(error.span.clone());
    let unclosed = error.is_unclosed();
    let mut d = Diagnostic::new_error(error.code, at, error.message);
    if let Some(help) = error.help {
        d = d.with_help(help);
    }
    match error.meant {
        Some(meant) if unclosed => {
            // Only if the file spells the text as decoded, because the rest of the line is rewritten.
            let straight = at.span.end - at.span.start == error.span.end - error.span.start;
            if straight { d.with_suggestion("close it with `}}`", at, meant) } else { d }
        }
        // Use other quotes than those around the whole text.
        Some(meant) if meant.starts_with('\'') && text.source.style == yaml::YamlStyle::Single => {
            let meant = meant.replace('\'', "\"");
            d.with_safe_fix(format!("write `{meant}`"), at, meant)
        }
        Some(meant) => {
            let wrong = text.source.value.get(error.span.start as usize..error.span.end as usize).unwrap_or_default();
            // A sign has one meaning, but a word may be another one.
            // One of the two quotes needs no escape in the scalar.
            let meant = if text.source.style == yaml::YamlStyle::Single { meant.replace('\'', "\"") } else { meant };
            let near = suggestions::find_near_match(wrong, [meant.trim()]);
            let sure = error.sure || !wrong.contains(char::is_alphanumeric) || near.is_some_and(|near| near.sure);
            let message = format!("write `{}`", meant.trim());
            if sure { d.with_safe_fix(message, at, meant) } else { d.with_suggestion(message, at, meant) }
        }
        None => d,
    }
}
