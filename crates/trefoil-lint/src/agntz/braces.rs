//! Values that consist of a name without braces, or in the notation of another language.

use std::sync::Arc;

use trefoil_syntax::yaml::YamlText;

use crate::habits::find_shell_variable;
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
    for text in texts {
        found.extend(find_shell_variable(file.file, text, ""));
    }
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
