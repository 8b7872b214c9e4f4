//! A placeholder in the part of a block in which its value has been found empty: an inverted guard.

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use trefoil_ir::types::ValueKind;
use trefoil_syntax::FindingSeverity;

pub(super) const RULE: Rule = Rule {
    name: "inverted-guard",
    group: RuleGroup::Names,
    level: Some(FindingSeverity::Warning),
    strict: None,
    page: include_str!("inverted_guard.md"),
    run: RuleSource::Program(run),
};

/// Only for texts, which are empty there; 0 and `false` may be printed on purpose.
fn run(cx: &mut RuleContext<'_>) {
    for read in cx.model.value_reads() {
        let Some(reference) = read.reference.filter(|r| r.denied) else { continue };
        if read.stop.is_some() || !read.schema.is_kind(ValueKind::Text) {
            continue;
        }
        let path = reference.dotted_path();
        let d = cx
            .new_finding(read.at, format!("`{path}` is always empty here, because this block is used only without it"));
        cx.report_finding(d.with_help(format!("use `{{{{#if {path}}}}}` for text that needs the value")));
    }
}
