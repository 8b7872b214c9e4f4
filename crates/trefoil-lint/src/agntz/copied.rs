//! Entries of a map that were copied and not changed: two have the same value, although the second one's key is also a
//! name. Swapped values are often intended: a judge sees both orders, a translation is reversed.

use std::sync::Arc;

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::YamlText;

use trefoil_front::ManifestSource;
use trefoil_front::agntz::names::{AgntzAgentNames, AgntzScope, PipelinePosition};
use trefoil_front::names::is_path;

use super::FindingList;

/// A map with more entries is a table, which is not compared.
const MOST: usize = 40;

/// Checks the entries of an `input` or an `output`.
pub fn check_copied_entries<'t>(
    file: ManifestSource<'_>,
    names: &Arc<AgntzAgentNames>,
    at: PipelinePosition,
    entries: impl Iterator<Item = (&'t YamlText, &'t YamlText)> + Clone,
    found: &mut FindingList,
) {
    if entries.clone().count() > MOST {
        return;
    }
    for (i, (key, value)) in entries.clone().enumerate() {
        let Some(path) = lone_placeholder_path(value) else { continue };
        let (parent, last) = parts(path);
        if last == &*key.value {
            continue; // Its own.
        }
        let others = || entries.clone().enumerate().filter(|(j, _)| *j != i).map(|(_, entry)| entry);
        let Some((other, theirs)) = others().find(|(k, _)| &*k.value == last) else { continue };
        let Some(other_path) = lone_placeholder_path(theirs) else { continue };
        let own = if parent.is_empty() { key.value.to_string() } else { format!("{parent}.{}", key.value) };
        if other_path == path {
            // If the key is also a name, its value may already be in the map under another key.
            if others().any(|(_, v)| lone_placeholder_path(v) == Some(&own))
                || !AgntzScope::for_lookup(names, at).has_path(&own)
            {
                continue;
            }
            let message =
                format!("`{}` and `{last}` both read `{{{{{path}}}}}`, but there is also a `{own}`", key.value);
            let place = file.location_of(value.span);
            let d = Diagnostic::new_info("copied-value", place, message);
            let d = d.with_label(file.location_of(other.span), format!("`{last}` is set here"));
            let meant = format!("\"{{{{{own}}}}}\"");
            found.push(match value.value.contains('\n') {
                true => d,
                false => d.with_suggestion(format!("write `{meant}`"), place, meant),
            });
        }
    }
}

/// The path of a value that is a single placeholder.
fn lone_placeholder_path(text: &YamlText) -> Option<&str> {
    let path = text.value.trim().strip_prefix("{{")?.strip_suffix("}}")?.trim();
    is_path(path).then_some(path)
}

/// A path without its last segment, and that segment.
fn parts(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}
