//! Values that consist of a name without braces, or in the notation of another language.

use std::sync::Arc;

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{YamlStyle, YamlText};

use crate::text::lookalike;
use trefoil_front::ManifestSource;
use trefoil_front::agntz::manifest::{HttpToolRequest, TemplateTree};
use trefoil_front::agntz::names::{AgntzAgentNames, AgntzScope, PipelinePosition};
use trefoil_front::names::is_path;

use super::FindingList;

/// Keys whose values are fixed words, even if something has such a name.
const WORDS: &[&str] = &[
    "action", "category", "field", "format", "kind", "label", "lang", "language", "level", "method", "mode", "name",
    "role", "source", "state", "status", "style", "target", "title", "tone", "type", "unit", "units",
];

/// Checks a value that may consist of a name without braces. `key` is its key.
pub fn check_bare_name(
    file: ManifestSource<'_>,
    names: &Arc<AgntzAgentNames>,
    source: &YamlText,
    at: PipelinePosition,
    key: &str,
    found: &mut FindingList,
) {
    let value = source.value.trim();
    let is_there = |path: &str| AgntzScope::for_lookup(names, at).has_path(path);
    if let Some(path) = in_signs(value).filter(|path| is_path(path) && is_there(path)) {
        return found.push(lookalike::foreign_name_finding(file.file, source, value, path));
    }
    let path = value;
    let one_word = !path.contains('.');
    if !is_path(path) || (one_word && WORDS.contains(&key)) || !is_there(path) {
        return;
    }
    found.push(lookalike::bare_name_finding(file.file, source, path));
}

/// A whole value in the notation of another language: `$body`, `%body%`, and full-width braces. Not `$.body`, which is
/// a JSONPath, or `<body>`, which is a tag.
fn in_signs(value: &str) -> Option<&str> {
    match value.chars().next()? {
        '$' => value.strip_prefix('$'),
        '%' => value.strip_prefix('%')?.strip_suffix('%'),
        '｛' => Some(value.strip_suffix('｝')?.trim_matches(['｛', '｝', ' '])),
        _ => None,
    }
}

/// Checks the texts of a request for values that are names without braces.
pub fn check_request_values(
    file: ManifestSource<'_>,
    names: &Arc<AgntzAgentNames>,
    http: &HttpToolRequest<'_>,
    found: &mut FindingList,
) {
    for (key, value) in http.params.iter().chain(&http.headers) {
        check_bare_name(file, names, value, PipelinePosition::End, &key.value, found);
    }
    let mut texts: Vec<_> = http.headers.iter().map(|(_, value)| *value).collect();
    if let Some(auth) = &http.auth {
        auth.collect_texts(&mut texts);
    }
    texts.into_iter().for_each(|t| shell(file, t, found));
    if let Some(body) = &http.body {
        leaves(body, &mut |key, value| check_bare_name(file, names, value, PipelinePosition::End, key, found));
    }
}

/// The texts in the objects of a body, with their keys.
fn leaves(node: &TemplateTree<'_>, see: &mut dyn FnMut(&str, &YamlText)) {
    match node {
        TemplateTree::Object(entries) => entries.iter().for_each(|(key, inner)| match inner {
            TemplateTree::Text(text) => see(&key.value, text),
            inner => leaves(inner, see),
        }),
        TemplateTree::List(items) => items.iter().for_each(|inner| leaves(inner, see)),
        TemplateTree::Text(_) | TemplateTree::Data(_) => {}
    }
}

/// An environment variable in shell notation: `$TOKEN`, `${TOKEN}`, `%TOKEN%`.
fn shell(file: ManifestSource<'_>, text: &YamlText, found: &mut FindingList) {
    let value = &*text.value;
    for (start, _) in value.match_indices(['$', '%']) {
        let rest = value.get(start..).unwrap_or_default();
        let forms = [("${", "}"), ("$", ""), ("%", "%")];
        let Some((left, right)) = forms.into_iter().find(|(left, _)| rest.starts_with(left)) else { continue };
        let inner = rest.get(left.len()..).unwrap_or_default();
        let end = inner.find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
        let (name, behind) = inner.split_at(end.unwrap_or(inner.len()));
        let named = name.len() > 2 && name.starts_with(|c: char| c.is_ascii_uppercase());
        if !named || !behind.starts_with(right) {
            continue;
        }
        let whole = start..start + left.len() + name.len() + right.len();
        let place = text.source_span(whole.start as u32..whole.end as u32);
        let straight = (place.end - place.start) as usize == whole.len();
        let message = format!("`{left}{name}{right}` is text, so the environment is not read");
        let d = Diagnostic::new_warning("not-a-placeholder", file.location_of(place), message);
        let meant = format!("{{{{env.{name}}}}}");
        found.push(match straight && text.style != YamlStyle::Plain {
            true => d.with_suggestion(format!("write `{meant}`"), file.location_of(place), meant),
            false => d.with_help(format!("write `{meant}`")),
        });
        return;
    }
}
