//! An index beyond the end of a list of known length.

use trefoil_syntax::FindingSeverity;

use super::unknown_property::split_path;
use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use trefoil_ir::types::TypeMember;

pub(super) const RULE: Rule = Rule {
    name: "index-out-of-range",
    group: RuleGroup::Names,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("index_out_of_range.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for read in model.value_reads() {
        let Some((at, TypeMember::Beyond { length })) = &read.stop else { continue };
        let Some((before, index)) = split_path(read, *at) else { continue };
        let items = if *length == 1 { "item" } else { "items" };
        let message = format!("`{before}` has at most {length} {items}, so `{before}.{index}` does not exist");
        let d = cx.new_finding(read.at, message);
        let last = length.saturating_sub(1);
        cx.report_finding(d.with_help(format!("indices go from 0 to {last}")));
    }
}
