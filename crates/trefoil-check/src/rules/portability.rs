//! What runs here and not in the system whose format it is, as published. Off unless asked for.
//!
//! Only facts that were measured are here: SirenSpec 0.1.2. Its files are known by their shape, `version` beside `nodes`.

use std::collections::HashSet;

use trefoil_syntax::yaml::{Kind, Mapping, Node, Text};

use crate::rule::{Group, Rule, Run, TreeContext};

pub(super) const RULE: Rule = Rule {
    name: "portability",
    group: Group::Form,
    level: None,
    strict: None,
    page: include_str!("portability.md"),
    run: Run::Tree(run),
};

fn run(cx: &mut TreeContext<'_>) {
    let root = cx.root;
    let Some(file) = root.mapping() else { return };
    let nodes = file.get("nodes").and_then(|e| e.value.mapping());
    let (Some(nodes), Some(_)) = (nodes, file.get("version")) else { return };
    let inputs = own_inputs(file, nodes);
    texts(cx, root, None, &inputs);
    for entry in &nodes.entries {
        if let Some(node) = entry.value.mapping() {
            factory(cx, node);
        }
    }
    if let Some(entry) = file.get("budget").and_then(|e| e.value.mapping()).and_then(|budget| budget.get("max_calls")) {
        report(cx, entry.key.span, "the published original ignores `max_calls`", "use `max_tokens`, which both support");
    }
}

/// Fields of `input` that a template of this file can mean: those that no node passes on under the same name.
fn own_inputs<'t>(file: &'t Mapping, nodes: &'t Mapping) -> HashSet<&'t str> {
    let names = |mapping: &'t Mapping| mapping.entries.iter().map(|e| &*e.key.value);
    let passed: HashSet<&str> = nodes
        .entries
        .iter()
        .filter_map(|node| node.value.mapping()?.get("inputs")?.value.mapping())
        .flat_map(names)
        .collect();
    let declared = file.get("input").and_then(|e| e.value.mapping()).map(names).into_iter().flatten();
    declared.filter(|name| *name != "message" && !passed.contains(name)).collect()
}

/// A fan-out over swarms needs something that puts each swarm's answers together.
fn factory(cx: &mut TreeContext<'_>, node: &Mapping) {
    let is = |key: &str, value: &str| node.get(key).and_then(|e| e.value.string()).is_some_and(|t| &*t.value == value);
    let swarm = is("mode", "swrm") || node.get("swrm").is_some();
    if let Some(entry) = node.get("type").filter(|_| is("type", "factory") && swarm) {
        let inner = node.get("swrm").and_then(|e| e.value.mapping());
        if node.get("synthesis").is_none() && inner.is_none_or(|inner| inner.get("synthesis").is_none()) {
            let message = "in the published original, a factory of swarms without `synthesis` fails the run with a `TypeError`";
            report(cx, entry.key.span, message, "add a `synthesis`");
        }
    }
}

/// Every text with placeholders, with the key that it belongs to.
fn texts(cx: &mut TreeContext<'_>, node: &Node, key: Option<&str>, inputs: &HashSet<&str>) {
    match &*node.kind {
        Kind::Scalar(..) => {
            if let Some(text) = node.string() {
                placeholders(cx, text, key, inputs);
            }
        }
        Kind::Sequence(items) => items.iter().for_each(|item| texts(cx, item, key, inputs)),
        Kind::Mapping(mapping) => {
            mapping.entries.iter().for_each(|entry| texts(cx, &entry.value, Some(&entry.key.value), inputs));
        }
    }
}

fn placeholders(cx: &mut TreeContext<'_>, text: &Text, key: Option<&str>, inputs: &HashSet<&str>) {
    let mut at = 0;
    while let Some((open, rest)) = text.value.get(at..).and_then(|t| t.split_once("{{").map(|(b, r)| (at + b.len(), r))) {
        let Some((inner, _)) = rest.split_once("}}") else { return };
        at = open + inner.len() + 4;
        if let Some((message, help)) = placeholder(inner, key, inputs) {
            report(cx, text.source(open as u32..at as u32), &message, help);
        }
    }
}

/// What the original makes of a placeholder, where that is something else.
fn placeholder(inner: &str, key: Option<&str>, inputs: &HashSet<&str>) -> Option<(String, &'static str)> {
    let path = inner.split('|').next().unwrap_or_default().trim();
    let filter = inner.split_once('|').map_or("", |(_, filter)| filter.trim());
    let mut segments = path.split('.').map(str::trim);
    let first = segments.next().unwrap_or_default();
    if inner.contains('\n') {
        let message = "the published original does not replace a placeholder that spans several lines";
        return Some((message.to_owned(), "write it on one line"));
    }
    if matches!(first, "working" | "output" | "_budget") {
        let message = format!("templates of the published original do not have `{first}`, so `{path}` is undefined there");
        return Some((message, "read the node that wrote it, as in `{{ node.output }}`"));
    }
    if key == Some("for_each") && filter.starts_with("json_or_default") {
        let message = "in the published original, `json_or_default` has no effect in `for_each`";
        return Some((message.to_owned(), "make the node before it return a JSON list"));
    }
    if filter.starts_with("default('')") || filter.starts_with("default(\"\")") {
        let message = "the published original does not support an empty default";
        return Some((message.to_owned(), "write a word instead, as in `default('none')`"));
    }
    let second = segments.next().unwrap_or_default();
    if first == "inputs" && inputs.contains(second) {
        let message = format!("the published original drops every field of `input` except `message`, so `{path}` is undefined there");
        return Some((message, "put the value into the message"));
    }
    if segments.any(|s| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit())) {
        let message = format!("the published original cannot read a list item, so `{path}` is undefined there");
        return Some((message, "read the whole list"));
    }
    None
}

fn report(cx: &mut TreeContext<'_>, span: trefoil_syntax::Span, message: &str, help: &str) {
    let finding = cx.finding(span, message.to_owned()).help(help.to_owned());
    cx.report(finding);
}
