//! A tool of a model whose address leaves the host open.

use trefoil_syntax::Severity;
use trefoil_syntax::yaml::{Kind, Mapping, Node, Text};

use crate::rule::{TreeContext, Group, Rule, Run};

pub(super) const RULE: Rule = Rule {
    name: "untrusted-tool-url",
    group: Group::Safety,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("untrusted_tool_url.md"),
    run: Run::Tree(run),
};

fn run(cx: &mut TreeContext<'_>) {
    let root = cx.root;
    walk(cx, root);
}

fn walk(cx: &mut TreeContext<'_>, node: &Node) {
    match &*node.kind {
        Kind::Scalar(..) => {}
        Kind::Sequence(items) => items.iter().for_each(|item| walk(cx, item)),
        Kind::Mapping(mapping) => {
            for entry in &mapping.entries {
                if &*entry.key.value == "tools" {
                    let tools = entry.value.sequence().unwrap_or_default();
                    tools.iter().filter_map(Node::mapping).for_each(|tool| address(cx, tool));
                }
                walk(cx, &entry.value);
            }
        }
    }
}

/// The address of a request: of a tool of another kind it is no template.
fn address(cx: &mut TreeContext<'_>, tool: &Mapping) {
    let text = |key: &str| tool.get(key).and_then(|e| e.value.string());
    if text("kind").is_none_or(|kind| &*kind.value == "http")
        && let Some(url) = text("url")
    {
        host(cx, url);
    }
}

fn host(cx: &mut TreeContext<'_>, url: &Text) {
    let text = &*url.value;
    let start = text.find("://").map_or(0, |at| at + 3);
    let end = text.get(start..).and_then(|rest| rest.find(['/', '?', '#'])).map_or(text.len(), |at| start + at);
    let mut at = if start > 0 && text.starts_with('{') { 0 } else { start };
    while let Some(open) = text.get(at..end).and_then(|host| host.find('{')).map(|found| at + found) {
        let rest = text.get(open..).unwrap_or_default();
        let (close, name) = match rest.strip_prefix("{{") {
            Some(inner) => (inner.find("}}").map(|n| open + n + 4), inner.split("}}").next()),
            None => (rest.find('}').map(|n| open + n + 1), rest.get(1..).and_then(|r| r.split('}').next())),
        };
        let (Some(close), Some(name)) = (close, name.map(str::trim)) else { return };
        // What a template brings is the business of `untrusted-url`.
        if !rest.starts_with("{{") {
            let span = url.source(open as u32..close as u32);
            let message = format!("`{name}` decides which host the tool calls, and the model chooses it");
            let finding = cx.finding(span, message);
            cx.report(finding.help("use a fixed host or one from the environment, and put the value after it"));
            return;
        }
        at = close;
    }
}
