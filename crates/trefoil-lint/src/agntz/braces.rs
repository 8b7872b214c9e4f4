//! Values that consist of a name without braces, or in the notation of another language.

use std::sync::Arc;

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{Style, Text};

use crate::text::lookalike;
use trefoil_front::Source;
use trefoil_front::agntz::manifest::{Http, Tree};
use trefoil_front::agntz::names::{AgentNames, At, Here};
use trefoil_front::names::is_path;

use super::Found;

/// Keys whose values are fixed words, even if something has such a name.
const WORDS: &[&str] = &[
    "action", "category", "field", "format", "kind", "label", "lang", "language", "level", "method", "mode", "name",
    "role", "source", "state", "status", "style", "target", "title", "tone", "type", "unit", "units",
];

/// Checks a value that may consist of a name without braces. `key` is its key.
pub fn check(file: Source<'_>, names: &Arc<AgentNames>, source: &Text, at: At, key: &str, found: &mut Found) {
    let value = source.value.trim();
    let is_there = |path: &str| Here::anywhere(names, at).has(path);
    if let Some(path) = in_signs(value).filter(|path| is_path(path) && is_there(path)) {
        return found.push(lookalike::bare_as(file.file, source, value, path));
    }
    let path = value;
    let one_word = !path.contains('.');
    if !is_path(path) || (one_word && WORDS.contains(&key)) || !is_there(path) {
        return;
    }
    found.push(lookalike::bare(file.file, source, path));
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
pub fn request(file: Source<'_>, names: &Arc<AgentNames>, http: &Http<'_>, found: &mut Found) {
    for (key, value) in http.params.iter().chain(&http.headers) {
        check(file, names, value, At::End, &key.value, found);
    }
    let mut texts: Vec<_> = http.headers.iter().map(|(_, value)| *value).collect();
    if let Some(auth) = &http.auth {
        auth.texts(&mut texts);
    }
    texts.into_iter().for_each(|t| shell(file, t, found));
    if let Some(body) = &http.body {
        leaves(body, &mut |key, value| check(file, names, value, At::End, key, found));
    }
}

/// The texts in the objects of a body, with their keys.
fn leaves(node: &Tree<'_>, see: &mut dyn FnMut(&str, &Text)) {
    match node {
        Tree::Object(entries) => entries.iter().for_each(|(key, inner)| match inner {
            Tree::Text(text) => see(&key.value, text),
            inner => leaves(inner, see),
        }),
        Tree::List(items) => items.iter().for_each(|inner| leaves(inner, see)),
        Tree::Text(_) | Tree::Data(_) => {}
    }
}

/// An environment variable in shell notation: `$TOKEN`, `${TOKEN}`, `%TOKEN%`.
fn shell(file: Source<'_>, text: &Text, found: &mut Found) {
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
        let place = text.source(whole.start as u32..whole.end as u32);
        let straight = (place.end - place.start) as usize == whole.len();
        let message = format!("`{left}{name}{right}` is text, so the environment is not read");
        let d = Diagnostic::warning("not-a-placeholder", file.at(place), message);
        let meant = format!("{{{{env.{name}}}}}");
        found.push(match straight && text.style != Style::Plain {
            true => d.suggestion(format!("write `{meant}`"), file.at(place), meant),
            false => d.help(format!("write `{meant}`")),
        });
        return;
    }
}
