//! Text that looks like a placeholder and is none, in the words of a scope; and whole values that are a name without its
//! braces.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::Text;
use trefoil_template::{Policy, Template};

use super::scope::{At, Purpose, Scope};
use crate::lookalike::{self, Form};
use crate::read::Reader;

const RULE: &str = "not-a-placeholder";

/// Keys whose values are words of their own, whatever else has such a name.
const WORDS: &[&str] = &[
    "action", "category", "field", "format", "kind", "label", "lang", "language", "level", "method", "mode", "name",
    "role", "source", "state", "status", "style", "target", "title", "tone", "type", "unit", "units",
];

/// Looks at the text outside of the tags.
pub fn check(reader: &Reader<'_>, scope: &Scope<'_>, source: &Text, at: At) {
    dollar(reader, source);
    for found in lookalike::find(&source.value, &|path| is_there(scope, path, at)) {
        let (start, end) = (found.range.start as u32, found.range.end as u32);
        let place = reader.at(source.source(start..end));
        let whole = source.value.get(found.range).unwrap_or_default();
        let warning = |message: String| Diagnostic::warning(RULE, place, message);
        // Only where the text stands in the file as it is read.
        let mended = |d: Diagnostic, meant: String| match place.span.end - place.span.start == end - start {
            true => d.suggestion(format!("write `{meant}`"), place, meant),
            false => d.help(format!("write `{meant}`")),
        };
        reader.report(match found.form {
            Form::Placeholder(path) => {
                let message =
                    format!("`{whole}` is text, and `{path}` is not read: a placeholder has two braces on both sides");
                mended(warning(message), format!("{{{{{path}}}}}"))
            }
            Form::Statement(path) => {
                let help = "the only block is `{{#if path}}...{{/if}}`, with two braces";
                warning(format!("`{whole}` is text, and `{path}` is not read")).help(help)
            }
            Form::Block(meant) => {
                let d = warning(format!("`{whole}` is text: a tag has two braces on both sides"));
                if meant.contains("path") { d.help(format!("write `{meant}`")) } else { mended(d, meant.to_owned()) }
            }
            Form::Comparison => warning(format!("`{whole}` behind the tag is text, and compares nothing"))
                .help("put the comparison into the tag: `{{#if path == literal}}`"),
        });
    }
}

/// A placeholder as other systems write it, `${{path}}`, and nothing beside it. Beside other text, and before an amount, the
/// sign is a currency's.
fn dollar(reader: &Reader<'_>, source: &Text) {
    let value = source.value.trim();
    let Some(path) = value.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}")).map(str::trim) else { return };
    if !lookalike::is_path(path) || path.rsplit('.').next().is_none_or(is_amount) {
        return;
    }
    let at = (source.value.len() - source.value.trim_start().len()) as u32;
    let place = reader.at(source.source(at..at + 1));
    let d = Diagnostic::warning(RULE, place, "the `$` is no part of the placeholder: it stays in the text");
    reader.report(d.suggestion("take the `$` out", place, ""));
}

/// Whether a name is that of an amount of money: one of its words is.
fn is_amount(name: &str) -> bool {
    const WORDS: &[&str] = &[
        "price", "cost", "costs", "amount", "total", "sum", "budget", "fee", "fees", "value", "balance", "usd",
        "dollars",
    ];
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c.is_uppercase() || !c.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.iter().any(|word| WORDS.contains(&&**word))
}

/// Looks at a value that as a whole is the name of something, without braces. `key` is what it is the value of.
pub fn check_bare(reader: &Reader<'_>, scope: &Scope<'_>, source: &Text, at: At, key: &str) {
    let path = source.value.trim();
    let one_word = !path.contains('.');
    if !lookalike::is_path(path) || (one_word && WORDS.contains(&key)) || !is_there(scope, path, at) {
        return;
    }
    let place = reader.at(source.span);
    let meant = format!("\"{{{{{path}}}}}\"");
    let d = Diagnostic::warning(RULE, place, format!("`{path}` is text here, and its value is not read"));
    // A block scalar is more than its text.
    reader.report(match source.value.contains('\n') {
        true => d.help(format!("write `{{{{{path}}}}}`")),
        false => d.suggestion(format!("write `{meant}`"), place, meant),
    });
}

/// Whether a path names something that is there.
fn is_there(scope: &Scope<'_>, path: &str, at: At) -> bool {
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
