//! A step whose result nobody reads.

use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};

pub(super) const RULE: Rule = Rule {
    name: "unused-output",
    group: Group::Names,
    level: Some(Severity::Info),
    strict: Some(Severity::Warning),
    page: include_str!("unused_output.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    let _ = cx;
}
