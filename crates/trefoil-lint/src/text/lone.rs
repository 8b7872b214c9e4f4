//! A single placeholder with spaces or a line break around it, in a position that would keep its type: it is text.

use trefoil_ir::TextRole;
use trefoil_ir::types::ValueKind;
use trefoil_syntax::yaml::YamlStyle;
use trefoil_syntax::{Diagnostic, FindingSeverity};

use super::FindingList;
use trefoil_front::bound_text::BoundText;

/// Checks a value that keeps its type only if it is a single placeholder.
pub fn check_lone_placeholder(text: &BoundText, found: &mut FindingList) {
    let value = &*text.source.value;
    let trimmed = value.trim();
    let lone = trimmed.len() < value.len()
        && trimmed.starts_with("{{")
        && trimmed.ends_with("}}")
        && trimmed.matches("{{").count() == 1
        && !trimmed.starts_with("{{#");
    // What text gives back, because it is read again.
    let kept: &[ValueKind] = match text.place.text_position() {
        TextRole::Data => &[ValueKind::Text],
        TextRole::Json => &[ValueKind::Text, ValueKind::Object, ValueKind::List],
        _ => return,
    };
    let ([used], true) = (text.uses.as_slice(), lone) else { return };
    let kinds = used.bound.last().and_then(|entry| entry.schema.solid_kinds());
    let severity = match kinds {
        Some(kinds) if kinds.is_within(kept.iter().copied()) => return,
        Some(kinds) if !kinds.overlaps_with(kept.iter().copied().collect()) => FindingSeverity::Warning,
        _ => FindingSeverity::Info,
    };
    let around = if value.ends_with('\n') { "a line break follows it" } else { "there are spaces around it" };
    let message = format!("this value is text, because {around}: only a single placeholder keeps its type");
    let d = Diagnostic::new("schema-mismatch", severity, used.at, message);
    let meant = format!("\"{trimmed}\"");
    found.push(match text.source.style {
        YamlStyle::Plain | YamlStyle::Single | YamlStyle::Double if !trimmed.contains(['"', '\\']) => {
            d.with_suggestion(format!("write `{meant}`"), text.at, meant)
        }
        _ => d.with_help(format!("write `{meant}` on the line of the key")),
    });
}
