//! A comparison in a value, which is only text there.

use trefoil_ir::TextRole;
use trefoil_syntax::Diagnostic;
use trefoil_template::Template;

use trefoil_front::agntz::binding::AgentText;
use trefoil_front::agntz::names::AgntzTextPurpose;
use trefoil_front::bound_text::{BoundText, ParsedContent};

use super::FindingList;

/// Checks a value.
pub fn check_literals(AgentText { here, bound }: &AgentText, found: &mut FindingList) {
    let ParsedContent::Template(template) = &bound.content else { return };
    let data =
        matches!(here.purpose, AgntzTextPurpose::Data | AgntzTextPurpose::Request) && here.position == TextRole::Data;
    if data && template.literal_text().is_none() {
        found.extend(not_computed(bound, template, here.purpose == AgntzTextPurpose::Request));
    }
}

/// Reports a value that is written like a condition: templates insert values and compute nothing.
fn not_computed(bound: &BoundText, template: &Template, sent: bool) -> Option<Diagnostic> {
    let value = &*bound.source.value;
    // Longer texts are prose or code.
    let short = value.len() <= 200 && !value.trim().contains('\n') && !value.contains("{{#");
    if !short || template.is_single() || !template.inner_expressions().is_empty() {
        return None;
    }
    let clauses = clauses(value, template);
    let message = format!("`{}` is text here: nothing is compared", value.trim());
    let d = Diagnostic::new_warning("not-computed", bound.at, message);
    let d = d.with_help("compare in `when` or `until`, or declare it in an agent's `outputSchema`");
    if clauses.iter().all(|clause| computes(clause, clauses.len() > 1, sent)) { Some(d) } else { None }
}

/// A part of a value.
#[derive(Clone, Copy)]
enum ClausePart<'t> {
    /// The value of a placeholder.
    Placeholder,
    /// The text next to placeholders, without surrounding spaces.
    Text(&'t str),
}

/// The clauses of a value, separated by the operators for "and" and "or".
fn clauses<'t>(value: &'t str, template: &Template) -> Vec<Vec<ClausePart<'t>>> {
    let mut all = vec![Vec::new()];
    let mut end = 0;
    for text in template.literal_text_spans().map(|range| range.start as usize..range.end as usize) {
        if end < text.start {
            all.last_mut().into_iter().for_each(|last| last.push(ClausePart::Placeholder));
        }
        end = text.end;
        let parts = value.get(text).unwrap_or_default().split("&&").flat_map(|part| part.split("||"));
        for (at, part) in parts.map(str::trim).enumerate() {
            if at > 0 {
                all.push(Vec::new());
            }
            all.last_mut().into_iter().filter(|_| !part.is_empty()).for_each(|last| last.push(ClausePart::Text(part)));
        }
    }
    if end < value.len() {
        all.last_mut().into_iter().for_each(|last| last.push(ClausePart::Placeholder));
    }
    all
}

/// Whether a clause was meant as a condition rather than as text with operators. `joined`: it is one of several.
/// `sent`: it is sent to another system, whose own language may have such operators (`age >= {{min}}`), so only a
/// comparison with a number or a boolean counts.
fn computes(clause: &[ClausePart<'_>], joined: bool, sent: bool) -> bool {
    const OPERATORS: [&str; 6] = ["==", "!=", ">=", "<=", ">", "<"];
    let (text, with) = match clause {
        [ClausePart::Placeholder] => return joined && !sent,
        [ClausePart::Placeholder, ClausePart::Text(text)] => (text, false),
        [ClausePart::Placeholder, ClausePart::Text(text), ClausePart::Placeholder] => (text, true),
        _ => return false,
    };
    let Some(operator) = OPERATORS.into_iter().find(|operator| text.starts_with(operator)) else { return false };
    let right = text.get(operator.len()..).unwrap_or_default().trim();
    if right.is_empty() != with || OPERATORS.iter().any(|operator| right.contains(operator)) {
        return false;
    }
    // `3 ? yes : no`
    let choice = right.starts_with(|c: char| c.is_ascii_digit()) && right.contains(" ? ");
    let sure = choice || right.parse::<f64>().is_ok() || matches!(right, "true" | "false" | "null");
    sure || !sent && !matches!(operator, "<" | ">")
}
