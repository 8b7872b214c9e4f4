//! One of several concurrent entries that reads nothing, while all others do.

use trefoil_syntax::Severity;
use trefoil_syntax::yaml::{Kind, Mapping, Node};
use trefoil_template::SiblingWords;

use super::siblings;
use crate::rule::{Group, Rule, Run, TreeContext};

pub(super) const RULE: Rule = Rule {
    name: "reads-nothing",
    group: Group::Flow,
    level: Some(Severity::Info),
    strict: Some(Severity::Warning),
    page: include_str!("reads_nothing.md"),
    run: Run::Tree(run),
};

fn run(cx: &mut TreeContext<'_>) {
    let (root, Some(words)) = (cx.root, cx.words) else { return };
    let words = words.siblings;
    siblings::lists(root, &|key| words.workers.contains(&key), &mut |all| look(cx, words, all));
}

fn look(cx: &mut TreeContext<'_>, words: &SiblingWords, all: &[&Mapping]) {
    let mut idle = all.iter().filter(|one| !one.entries.iter().any(|e| reads(&e.value)));
    let (Some(one), None) = (idle.next(), idle.next()) else { return };
    let Some(head) = siblings::head(one).filter(|_| asks(words, one)) else { return };
    let d = cx.finding(head.span, "this is fixed text, but all entries next to it read a value");
    cx.report(d.help("write a placeholder for the value"));
}

/// Whether an entry, or the agent defined in it, defines its request.
fn asks(words: &SiblingWords, one: &Mapping) -> bool {
    let agent = words.inline.and_then(|key| one.get(key)?.value.mapping());
    let own = |m: &Mapping| words.asking.iter().any(|key| m.get(key).is_some());
    own(one) || agent.is_some_and(own)
}

fn reads(at: &Node) -> bool {
    match &*at.kind {
        Kind::Scalar(_, text) => text.value.contains("{{"),
        Kind::Sequence(items) => items.iter().any(reads),
        Kind::Mapping(mapping) => mapping.entries.iter().any(|e| reads(&e.value)),
    }
}
