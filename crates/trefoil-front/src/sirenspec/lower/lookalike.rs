//! Text that looks like a placeholder and is none: `{ draft.output }`, `${draft.output}`, `{% if draft.output %}`.
//!
//! Single braces are text (decision C5), and prompts are full of them; so only what names something that is there counts.

use std::ops::Range;

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::Text;
use trefoil_template::{Policy, Segment, Template};

use super::scope::Scope;
use crate::sirenspec::manifest::Root;

/// How placeholders of other systems begin and end; the first that fits counts.
const BRACKETS: [(&str, &str); 7] =
    [("{%", "%}"), ("{ {", "} }"), ("${", "}"), ("#{", "}"), ("<%=", "%>"), ("[[", "]]"), ("{", "}")];

/// Looks at the text beside the placeholders.
pub fn check(scope: &Scope<'_, '_, '_>, text: &Text) {
    let value = &*text.value;
    if !is_odd(value) {
        return;
    }
    let Ok(template) = Template::parse(value, &Policy::SIRENSPEC) else { return };
    dollar(scope, text, &template);
    let mut at = 0;
    for tag in tags(value, &template) {
        between(scope, text, at..tag.start.max(at));
        at = tag.end;
    }
    between(scope, text, at..value.len());
}

/// Whether something in a text begins like the placeholder of another system. Most texts have none, and are not parsed for it.
fn is_odd(text: &str) -> bool {
    let mut rest = text;
    let mut dollar = false;
    while let Some(at) = rest.find(['{', '[', '<']) {
        dollar |= rest.get(..at).is_some_and(|before| before.ends_with('$'));
        let found = rest.get(at..).unwrap_or_default();
        let taken = match found.strip_prefix("{{").map(|inner| inner.find("}}")) {
            Some(Some(close)) => close + 4,
            Some(None) => return false,
            None if found.starts_with('{') || found.starts_with("[[") || found.starts_with("<%=") => return true,
            None => 1,
        };
        rest = found.get(taken..).unwrap_or_default();
    }
    dollar
}

/// A placeholder as other systems write it, `${{ path }}`, and nothing beside it: in the middle of a text the sign may be
/// a currency's.
fn dollar(scope: &Scope<'_, '_, '_>, text: &Text, template: &Template) {
    let value = text.value.trim();
    let alone = value.strip_prefix('$').is_some_and(|rest| rest.starts_with("{{") && rest.ends_with("}}"));
    if !alone || template.references().len() != 1 {
        return;
    }
    let at = (text.value.len() - text.value.trim_start().len()) as u32;
    let place = scope.flow.reader.at(text.source(at..at + 1));
    let d =
        Diagnostic::warning("not-a-placeholder", place, "the `$` is no part of the placeholder: it stays in the text");
    scope.flow.reader.report(d.suggestion("take the `$` out", place, ""));
}

/// The bytes of every placeholder, with its braces.
fn tags(text: &str, template: &Template) -> Vec<Range<usize>> {
    let tag = |span: &Range<u32>| {
        let open = text.get(..span.start as usize)?.rfind("{{")?;
        let close = text.get(span.end as usize..)?.find("}}")?;
        Some(open..span.end as usize + close + 2)
    };
    template.references().iter().filter_map(|r| tag(&r.span)).collect()
}

fn between(scope: &Scope<'_, '_, '_>, text: &Text, range: Range<usize>) {
    let mut at = range.start;
    while let Some(rest) = text.value.get(at..range.end) {
        let Some(start) = rest.find(['{', '$', '#', '<', '[']) else { return };
        let open = at + start;
        let rest = text.value.get(open..range.end).unwrap_or_default();
        at = match BRACKETS.iter().find_map(|(left, right)| one(scope, text, open, rest, left, right)) {
            Some(end) => end,
            None => open + 1,
        };
    }
}

/// One that begins here: reports it and gives its end.
fn one(scope: &Scope<'_, '_, '_>, text: &Text, open: usize, rest: &str, left: &str, right: &str) -> Option<usize> {
    let inner = rest.strip_prefix(left)?;
    let inner = inner.get(..inner.find(right)?)?;
    let path = match left {
        "{%" => inner.split_whitespace().find(|word| is_there(scope, word)),
        _ => Some(inner.trim()).filter(|word| is_there(scope, word)),
    }?;
    let mut end = open + left.len() + inner.len() + right.len();
    // `{ path }}`: one brace was forgotten.
    if right == "}" && text.value.get(end..).is_some_and(|t| t.starts_with('}')) {
        end += 1;
    }
    let whole = text.value.get(open..end)?;
    let message = format!("`{whole}` is text, and `{path}` is not read: a placeholder has two braces on both sides");
    let place = scope.flow.reader.at(text.source(open as u32..end as u32));
    let d = Diagnostic::warning("not-a-placeholder", place, message);
    let straight = place.span.end - place.span.start == (end - open) as u32;
    let meant = format!("{{{{ {path} }}}}");
    scope.flow.reader.report(match left {
        "{%" => d.help("this format has no blocks; use `| default('text')` or `when` on an edge"),
        _ if straight => d.suggestion(format!("write `{meant}`"), place, meant),
        _ => d.help(format!("write `{meant}`")),
    });
    Some(end)
}

/// Whether a path is one of a value: of nothing that is a single word, but for the loop variables.
fn is_there(scope: &Scope<'_, '_, '_>, path: &str) -> bool {
    let word = |s: &str| !s.is_empty() && s.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    let names: Vec<&str> = path.split('.').collect();
    if !names.iter().all(|n| word(n)) {
        return false;
    }
    let body = || scope.body.map(|b| b.borrow());
    let led = |root: Root, names: &[&str]| {
        let path: Vec<Segment> = names.iter().map(|n| Segment { name: (*n).into(), span: 0..0 }).collect();
        let look = scope.flow.names.look(root, &path);
        let written = || look.writes.iter().any(|w| scope.flow.names.provides(*w, &path));
        !path.is_empty() && (look.in_node || look.seeded || written())
    };
    match names.as_slice() {
        [name @ ("item" | "index" | "total"), ..] => body().is_some_and(|b| b.variable(name).is_some()),
        ["inputs", field, ..] => {
            scope.flow.inputs.shape(field).is_some() || body().is_some_and(|b| b.input(field).is_some())
        }
        ["env", name] => name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'),
        ["_budget", _] => true,
        // The agents of the swarm whose synthesis this is.
        [_, "agents", agent, ..] if scope.own.iter().any(|(id, _)| **id == **agent) => true,
        ["working", rest @ ..] => led(Root::Working, rest),
        ["output", rest @ ..] => led(Root::Output, rest),
        [_, _, ..] => led(Root::Working, &names),
        _ => false,
    }
}
