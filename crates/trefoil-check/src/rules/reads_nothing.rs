//! One of several concurrent entries that reads nothing, while all others do.

use trefoil_syntax::FindingSeverity;
use trefoil_syntax::yaml::{YamlNodeKind, YamlMapping, YamlNode};
use trefoil_template::SiblingWords;

use super::siblings;
use crate::rule::{RuleGroup, Rule, RuleSource, TreeContext};

pub(super) const RULE: Rule = Rule {
    name: "reads-nothing",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Info),
    strict: Some(FindingSeverity::Warning),
    page: include_str!("reads_nothing.md"),
    run: RuleSource::Tree(run),
};

fn run(cx: &mut TreeContext<'_>) {
    let (root, Some(words)) = (cx.root, cx.words) else { return };
    let words = words.siblings;
    siblings::visit_lists(root, &|key| words.workers.contains(&key), &mut |all| look(cx, words, all));
}

fn look(cx: &mut TreeContext<'_>, words: &SiblingWords, all: &[&YamlMapping]) {
    let mut idle = all.iter().filter(|one| !one.entries.iter().any(|e| reads(&e.value)));
    let (Some(one), None) = (idle.next(), idle.next()) else { return };
    let Some(head) = siblings::first_key(one).filter(|_| asks(words, one)) else { return };
    let d = cx.new_finding(head.span, "this is fixed text, but all entries next to it read a value");
    cx.report_finding(d.with_help("write a placeholder for the value"));
}

/// Whether an entry, or the agent defined in it, defines its request.
fn asks(words: &SiblingWords, one: &YamlMapping) -> bool {
    let agent = words.inline.and_then(|key| one.get(key)?.value.as_mapping());
    let own = |m: &YamlMapping| words.asking.iter().any(|key| m.get(key).is_some());
    own(one) || agent.is_some_and(own)
}

fn reads(at: &YamlNode) -> bool {
    match &*at.kind {
        YamlNodeKind::Scalar(_, text) => text.value.contains("{{"),
        YamlNodeKind::Sequence(items) => items.iter().any(reads),
        YamlNodeKind::Mapping(mapping) => mapping.entries.iter().any(|e| reads(&e.value)),
    }
}
