//! A literal credential in a manifest.

use trefoil_syntax::FindingSeverity;
use trefoil_syntax::yaml::{YamlNode, YamlNodeKind, YamlScalar, YamlText};

use super::credential;
use crate::rule::{Rule, RuleGroup, RuleSource, TreeContext};

pub(super) const RULE: Rule = Rule {
    name: "hard-coded-secret",
    group: RuleGroup::Safety,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("hard_coded_secret.md"),
    run: RuleSource::Tree(run),
};

fn run(cx: &mut TreeContext<'_>) {
    let root = cx.root;
    node(cx, root, None);
}

fn node(cx: &mut TreeContext<'_>, at: &YamlNode, key: Option<&str>) {
    match &*at.kind {
        YamlNodeKind::Scalar(YamlScalar::Str, text) => text_of(cx, text, key),
        YamlNodeKind::Scalar(..) => {}
        YamlNodeKind::Sequence(items) => items.iter().for_each(|item| node(cx, item, key)),
        YamlNodeKind::Mapping(mapping) => mapping.entries.iter().for_each(|e| node(cx, &e.value, Some(&e.key.value))),
    }
}

fn text_of(cx: &mut TreeContext<'_>, text: &YamlText, key: Option<&str>) {
    let found = credential::in_text(&text.value);
    for found in &found {
        let span = text.source_span(found.range.start as u32..found.range.end as u32);
        let what = found.what;
        report(cx, span, what, text.value.get(found.range.clone()).unwrap_or_default());
    }
    if found.is_empty()
        && let Some(key) = key.filter(|k| {
            (credential::is_value(&text.value) || credential::is_password(k, &text.value)) && credential::is_key(k)
        })
    {
        report(cx, text.content_span(), &format!("the value of `{key}`"), &text.value);
    }
}

fn report(cx: &mut TreeContext<'_>, at: trefoil_syntax::Span, what: &str, value: &str) {
    let start: String = value.chars().take(4).collect();
    let finding = cx.new_finding(at, format!("{what} is written in the file: `{start}...`"));
    cx.report_finding(finding.with_help("move it to the environment or the secret store and refer to it by name; then rotate it, because it must be considered leaked"));
}
