//! An index beyond the end of a list of known length.

use trefoil_syntax::Severity;

use super::unknown_property::parts;
use crate::rule::{Context, Group, Rule, Run};
use trefoil_ir::types::Member;

pub(super) const RULE: Rule = Rule {
    name: "index-out-of-range",
    group: Group::Names,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("index_out_of_range.md"),
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    let model = cx.model;
    for read in model.reads() {
        let Some((at, Member::Beyond { length })) = &read.stop else { continue };
        let Some((before, index)) = parts(read, *at) else { continue };
        let items = if *length == 1 { "item" } else { "items" };
        let message = format!("`{before}` has at most {length} {items}, so `{before}.{index}` does not exist");
        let d = cx.finding(read.at, message);
        let last = length.saturating_sub(1);
        cx.report(d.help(format!("indices go from 0 to {last}")));
    }
}
