//! Headers of tool nodes in shell notation.

use trefoil_front::sirenspec::manifest::{NodeKind, ToolSettings};
use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::YamlText;

use super::subject::{CheckedWorkflow, FindingList};

/// Checks the headers of every request.
pub fn check_headers(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    for node in &subject.manifest.nodes {
        let NodeKind::Tool(tool) = &node.kind else { continue };
        let Some(ToolSettings::Http { headers, .. }) = &tool.settings else { continue };
        headers.iter().for_each(|(_, value)| variables(subject, value, found));
    }
}

/// `$TOKEN` and `${TOKEN}` in a header: a shell would replace them by the environment variable, but there is no shell here.
fn variables(subject: &CheckedWorkflow<'_>, text: &YamlText, found: &mut FindingList) {
    for (at, _) in text.value.match_indices('$') {
        let rest = text.value.get(at + 1..).unwrap_or_default();
        let inner = rest.strip_prefix('{').unwrap_or(rest);
        let end = inner.find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
        let (name, after) = inner.split_at(end.unwrap_or(inner.len()));
        let closed = inner.len() == rest.len() || after.starts_with('}');
        let word = !after.starts_with(|c: char| c.is_alphanumeric());
        if name.len() < 3 || !closed || !word || !name.starts_with(|c: char| c.is_ascii_uppercase()) {
            continue;
        }
        let end = at + 1 + name.len() + if inner.len() == rest.len() { 0 } else { 2 };
        let place = subject.location_of(text.source_span(at as u32..end as u32));
        let message =
            format!("`{}` is literal text, not an environment variable", text.value.get(at..end).unwrap_or_default());
        let meant = format!("{{{{ env.{name} }}}}");
        let d = Diagnostic::new_warning("not-a-placeholder", place, message);
        // Only if the file spells the text as decoded.
        let straight = (place.span.end - place.span.start) as usize == end - at;
        found.push(if straight {
            d.with_suggestion(format!("write `{meant}`"), place, meant)
        } else {
            d.with_help(format!("write `{meant}`"))
        });
    }
}
