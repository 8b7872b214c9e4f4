//! Which paths in a text surely name a value, whatever brackets stand around them; and whole values that are a name without
//! its braces.

use trefoil_syntax::yaml::Text;
use trefoil_template::{Policy, Template};

use super::scope::{At, Purpose, Scope};
use crate::lookalike::{self, Tags, is_path};
use crate::read::Reader;

/// How tags are written.
pub const TAGS: Tags = Tags {
    space: "",
    statements: "the only block is `{{#if path}}...{{/if}}`, with two braces",
    comparison: Some("put the comparison into the tag: `{{#if path == literal}}`"),
};

/// Keys whose values are words of their own, whatever else has such a name.
const WORDS: &[&str] = &[
    "action", "category", "field", "format", "kind", "label", "lang", "language", "level", "method", "mode", "name",
    "role", "source", "state", "status", "style", "target", "title", "tone", "type", "unit", "units",
];

/// Looks at a value that as a whole is the name of something, without braces. `key` is what it is the value of.
pub fn check(reader: &Reader<'_>, scope: &Scope<'_>, source: &Text, at: At, key: &str) {
    let value = source.value.trim();
    if let Some(path) = in_signs(value).filter(|path| is_path(path) && is_there(scope, path, at)) {
        return lookalike::bare_as(reader, source, value, path);
    }
    let path = value;
    let one_word = !path.contains('.');
    if !is_path(path) || (one_word && WORDS.contains(&key)) || !is_there(scope, path, at) {
        return;
    }
    lookalike::bare(reader, source, path);
}

/// What stands in the signs of another language, as the whole of a value: `$body`, `%body%`, and braces of full width.
/// `$.body` is a JSONPath, `<body>` a tag.
fn in_signs(value: &str) -> Option<&str> {
    match value.chars().next()? {
        '$' => value.strip_prefix('$'),
        '%' => value.strip_prefix('%')?.strip_suffix('%'),
        '｛' => Some(value.strip_suffix('｝')?.trim_matches(['｛', '｝', ' '])),
        _ => None,
    }
}

/// Whether a path names something that is there.
pub fn is_there(scope: &Scope<'_>, path: &str, at: At) -> bool {
    let (root, rest) = path.split_once('.').map_or((path, None), |(root, rest)| (root, Some(rest)));
    if root == "env" || root == "secrets" {
        return rest.is_some_and(|n| n.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
    }
    let alias =
        || scope.named(root).iter().filter_map(|i| scope.steps.get(*i)).any(|s| scope.names(at).contains(&s.key));
    if !scope.names(at).iter().any(|n| &**n == root) && !alias() {
        return false;
    }
    if rest.is_none() {
        return true;
    }
    let Ok(template) = Template::parse(&format!("{{{{{path}}}}}"), &Policy::AGNTZ) else { return false };
    // Asking is not reading.
    let reads_input = scope.reads_input.get();
    let there = template.references().first().is_some_and(|r| {
        let answer = scope.look(r, at, Purpose::Condition);
        answer.notes.iter().all(|n| n.rule == "maybe-undefined")
    });
    scope.reads_input.set(reads_input);
    there
}
