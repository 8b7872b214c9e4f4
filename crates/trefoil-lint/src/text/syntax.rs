//! Syntax errors of a text's language, as reported by its parser.

use trefoil_syntax::{Diagnostic, suggest, yaml};
use trefoil_template::SyntaxError;

use super::Found;
use trefoil_front::bound::{BoundText, Content};

/// The mistakes in an invalid template or condition.
pub fn mistakes(text: &BoundText, found: &mut Found) {
    if let Content::Broken { broken, .. } = &text.content {
        found.extend(broken.errors.iter().map(|error| mistake(text, error.clone())));
    }
}

fn mistake(text: &BoundText, error: SyntaxError) -> Diagnostic {
    let at = text.place_of(error.span.clone());
    let unclosed = error.is_unclosed();
    let mut d = Diagnostic::error(error.code, at, error.message);
    if let Some(help) = error.help {
        d = d.help(help);
    }
    match error.meant {
        Some(meant) if unclosed => {
            // Only if the file spells the text as decoded, because the rest of the line is rewritten.
            let straight = at.span.end - at.span.start == error.span.end - error.span.start;
            if straight { d.suggestion("close it with `}}`", at, meant) } else { d }
        }
        // Use other quotes than those around the whole text.
        Some(meant) if meant.starts_with('\'') && text.source.style == yaml::Style::Single => {
            let meant = meant.replace('\'', "\"");
            d.fix(format!("write `{meant}`"), at, meant)
        }
        Some(meant) => {
            let wrong = text.source.value.get(error.span.start as usize..error.span.end as usize).unwrap_or_default();
            // A sign has one meaning, but a word may be another one.
            // One of the two quotes needs no escape in the scalar.
            let meant = if text.source.style == yaml::Style::Single { meant.replace('\'', "\"") } else { meant };
            let near = suggest::near(wrong, [meant.trim()]);
            let sure = error.sure || !wrong.contains(char::is_alphanumeric) || near.is_some_and(|near| near.sure);
            let message = format!("write `{}`", meant.trim());
            if sure { d.fix(message, at, meant) } else { d.suggestion(message, at, meant) }
        }
        None => d,
    }
}
