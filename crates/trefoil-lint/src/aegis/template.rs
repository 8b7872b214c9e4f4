//! Placeholders in texts that are not templates.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::YamlText;

use super::unit::{FindingList, with_help};
use trefoil_front::ManifestSource;

/// Checks a text that is not a template. `what` is the key; `named` says whether a path names something.
pub fn check_literal_text(
    file: ManifestSource<'_>,
    source: &YamlText,
    what: &str,
    help: &str,
    named: &dyn Fn(&str) -> bool,
    found: &mut FindingList,
) {
    let text = &*source.value;
    for (open, _) in text.match_indices("{{") {
        let Some(len) = text.get(open..).and_then(|rest| rest.find("}}")) else { return };
        let path = text.get(open + 2..open + len).unwrap_or_default().trim();
        if quoted(text, open) || !named(path) {
            continue;
        }
        let at = file.location_of(source.source_span(open as u32..(open + len + 2) as u32));
        let message = format!("`{{{{{path}}}}}` stays as it is: `{what}` is not a template");
        found.push(with_help(Diagnostic::new_warning("not-a-placeholder", at, message), help));
    }
}

/// Whether the braces at `open` are in quotes or in backticks: prose about a placeholder.
fn quoted(text: &str, open: usize) -> bool {
    let Some(before) = text.get(..open) else { return false };
    let line = before.rsplit('\n').next().unwrap_or_default();
    let inside = |quote: char| {
        let rest = text.get(open..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        line.matches(quote).count() % 2 == 1 && rest.contains(quote)
    };
    before.ends_with(['`', '"', '\'', '\\', '{']) || inside('`') || inside('"')
}
