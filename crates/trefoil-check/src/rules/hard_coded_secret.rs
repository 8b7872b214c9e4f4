//! A literal credential in a manifest.

use trefoil_syntax::Severity;
use trefoil_syntax::yaml::{Kind, Node, Scalar, Text};

use crate::rule::{TreeContext, Group, Rule, Run};
use super::credential;

pub(super) const RULE: Rule = Rule {
    name: "hard-coded-secret",
    group: Group::Safety,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("hard_coded_secret.md"),
    run: Run::Tree(run),
};

fn run(cx: &mut TreeContext<'_>) {
    let root = cx.root;
    node(cx, root, None);
}

fn node(cx: &mut TreeContext<'_>, at: &Node, key: Option<&str>) {
    match &*at.kind {
        Kind::Scalar(Scalar::Str, text) => text_of(cx, text, key),
        Kind::Scalar(..) => {}
        Kind::Sequence(items) => items.iter().for_each(|item| node(cx, item, key)),
        Kind::Mapping(mapping) => mapping.entries.iter().for_each(|e| node(cx, &e.value, Some(&e.key.value))),
    }
}

fn text_of(cx: &mut TreeContext<'_>, text: &Text, key: Option<&str>) {
    let found = credential::in_text(&text.value);
    for found in &found {
        let span = text.source(found.range.start as u32..found.range.end as u32);
        let what = found.what;
        report(cx, span, what, text.value.get(found.range.clone()).unwrap_or_default());
    }
    if found.is_empty()
        && let Some(key) = key.filter(|k| {
            (credential::is_value(&text.value) || credential::is_password(k, &text.value)) && credential::is_key(k)
        })
    {
        report(cx, text.content(), &format!("the value of `{key}`"), &text.value);
    }
}

fn report(cx: &mut TreeContext<'_>, at: trefoil_syntax::Span, what: &str, value: &str) {
    let start: String = value.chars().take(4).collect();
    let finding = cx.finding(at, format!("{what} is written in the file: `{start}...`"));
    cx.report(finding.help("move it to the environment or the secret store and refer to it by name; then rotate it, because it must be considered leaked"));
}
