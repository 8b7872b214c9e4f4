//! A placeholder in the part of a block in which its value has been found empty: an inverted guard.

use crate::rule::{Context, Group, Rule, Run};
use trefoil_ir::types::Kind;
use trefoil_syntax::Severity;

pub(super) const RULE: Rule = Rule {
    name: "inverted-guard",
    group: Group::Names,
    level: Some(Severity::Warning),
    strict: None,
    page: include_str!("inverted_guard.md"),
    run: Run::Program(run),
};

/// Only for texts, which are empty there; 0 and `false` may be printed on purpose.
fn run(cx: &mut Context<'_>) {
    for read in cx.model.reads() {
        let Some(reference) = read.reference.filter(|r| r.denied) else { continue };
        if read.stop.is_some() || !read.schema.is(Kind::Text) {
            continue;
        }
        let path = reference.dotted();
        let d =
            cx.finding(read.at, format!("`{path}` is always empty here, because this block is used only without it"));
        cx.report(d.help(format!("use `{{{{#if {path}}}}}` for text that needs the value")));
    }
}
