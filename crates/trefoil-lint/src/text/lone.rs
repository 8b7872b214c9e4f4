//! A single placeholder with spaces or a line break around it, in a position that would keep its type: it is text.

use trefoil_ir::Position;
use trefoil_ir::types::Kind;
use trefoil_syntax::yaml::Style;
use trefoil_syntax::{Diagnostic, Severity};

use super::Found;
use trefoil_front::bound::BoundText;

/// Checks a value that keeps its type only if it is a single placeholder.
pub fn placeholder(text: &BoundText, found: &mut Found) {
    let value = &*text.source.value;
    let trimmed = value.trim();
    let lone = trimmed.len() < value.len()
        && trimmed.starts_with("{{")
        && trimmed.ends_with("}}")
        && trimmed.matches("{{").count() == 1
        && !trimmed.starts_with("{{#");
    // What text gives back, because it is read again.
    let kept: &[Kind] = match text.place.position() {
        Position::Data => &[Kind::Text],
        Position::Json => &[Kind::Text, Kind::Object, Kind::List],
        _ => return,
    };
    let ([used], true) = (text.uses.as_slice(), lone) else { return };
    let kinds = used.bound.last().and_then(|entry| entry.schema.solid_kinds());
    let severity = match kinds {
        Some(kinds) if kinds.within(kept.iter().copied()) => return,
        Some(kinds) if !kinds.meets(kept.iter().copied().collect()) => Severity::Warning,
        _ => Severity::Info,
    };
    let around = if value.ends_with('\n') { "a line break follows it" } else { "there are spaces around it" };
    let message = format!("this value is text, because {around}: only a single placeholder keeps its type");
    let d = Diagnostic::new("schema-mismatch", severity, used.at, message);
    let meant = format!("\"{trimmed}\"");
    found.push(match text.source.style {
        Style::Plain | Style::Single | Style::Double if !trimmed.contains(['"', '\\']) => {
            d.suggestion(format!("write `{meant}`"), text.at, meant)
        }
        _ => d.help(format!("write `{meant}` on the line of the key")),
    });
}
