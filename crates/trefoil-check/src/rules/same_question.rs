//! Two concurrent entries with the same request.

use std::fmt::Write as _;

use trefoil_syntax::hash::HashMap;
use trefoil_syntax::yaml::{YamlNodeKind, YamlMapping, YamlNode};
use trefoil_syntax::{Location, FindingSeverity};
use trefoil_template::SiblingWords;

use crate::rule::{RuleGroup, Rule, RuleSource, TreeContext};
use super::siblings;

pub(super) const RULE: Rule = Rule {
    name: "same-question",
    group: RuleGroup::Cost,
    level: Some(FindingSeverity::Info),
    strict: None,
    page: include_str!("same_question.md"),
    run: RuleSource::Tree(run),
};

fn run(cx: &mut TreeContext<'_>) {
    let (root, Some(words)) = (cx.root, cx.words) else { return };
    let words = words.siblings;
    let is_list = |key: &str| words.workers.contains(&key) || words.judges.contains(&key);
    siblings::visit_lists(root, &is_list, &mut |all| compare(cx, words, all));
}

fn compare(cx: &mut TreeContext<'_>, words: &SiblingWords, all: &[&YamlMapping]) {
    let questions: Vec<String> = all.iter().map(|one| asked(words, one)).collect();
    let vote = questions.iter().all(|question| Some(question) == questions.first());
    let mut first: HashMap<&str, &YamlMapping> = HashMap::default();
    for (one, question) in all.iter().zip(&questions) {
        let other = *first.entry(question).or_insert(one);
        let (Some(here), Some(there)) = (siblings::first_key(one), siblings::first_key(other)) else { continue };
        if here.span == there.span || !differ(own_name(words, one), own_name(words, other), vote) {
            continue;
        }
        let d = cx.new_finding(here.span, "this is exactly the same question as another entry of the list");
        let d = d.with_label(Location::new(cx.file, there.span), "the other one");
        cx.report_finding(d.with_help("change one of them, or remove it"));
    }
}

/// Whether two entries with the same request were meant to differ: because their names differ or, without names,
/// because the other entries of the list do.
fn differ(one: Option<&str>, other: Option<&str>, vote: bool) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one != other,
        _ => !vote,
    }
}

/// The name of an entry without a number or letter at its end: `judge_1` and `judge_2` have the same request on
/// purpose.
fn own_name<'m>(words: &SiblingWords, one: &'m YamlMapping) -> Option<&'m str> {
    let agent = words.inline.and_then(|key| one.get(key)?.value.as_mapping());
    let named = |key: &&str| {
        let texts = [Some(one), agent].into_iter().flatten().filter_map(|m| m.get(key)?.value.as_string());
        texts.map(|text| &*text.value).next()
    };
    let name = words.names.iter().find_map(named)?;
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
    let letter = |rest: &str| rest.len() == 1;
    let bare = match bare.rsplit_once(['_', '-', ' ']) {
        Some((rest, last)) if last.is_empty() || letter(last) => rest,
        _ => bare,
    };
    Some(bare)
}

/// The request of an entry as text, equal for equal requests.
fn asked(words: &SiblingWords, one: &YamlMapping) -> String {
    let mut out = String::new();
    mapping(Some(words), one, &mut out);
    out
}

/// `words`: for an entry of a list, whose labels are ignored.
fn mapping(words: Option<&SiblingWords>, all: &YamlMapping, out: &mut String) {
    let is_label = |key: &str| words.is_some_and(|words| words.names.contains(&key) || words.labels.contains(&key));
    let mut entries: Vec<_> = all.entries.iter().filter(|e| !is_label(&e.key.value)).collect();
    entries.sort_by(|a, b| a.key.value.cmp(&b.key.value));
    out.push('{');
    for entry in entries {
        let _ = write!(out, "{}:", entry.key.value);
        // The names of an agent that is defined inside the entry are ignored as well.
        match &*entry.value.kind {
            YamlNodeKind::Mapping(agent) if words.is_some_and(|w| w.inline == Some(&*entry.key.value)) => {
                mapping(words, agent, out);
            }
            _ => node(&entry.value, out),
        }
        out.push(',');
    }
    out.push('}');
}

fn node(at: &YamlNode, out: &mut String) {
    match &*at.kind {
        YamlNodeKind::Scalar(scalar, text) => {
            let _ = write!(out, "{scalar:?} {} {}", text.value.len(), text.value);
        }
        YamlNodeKind::Sequence(items) => {
            out.push('[');
            items.iter().for_each(|item| node(item, out));
            out.push(']');
        }
        YamlNodeKind::Mapping(inner) => mapping(None, inner, out),
    }
}
