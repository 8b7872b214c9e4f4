//! A part that is given more time than what contains it.

use trefoil_syntax::FindingSeverity;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::durations::find_exceeded_limits;

/// The maximum number of parts that a finding points to.
const MOST_LABELS: usize = 4;

pub(super) const RULE: Rule = Rule {
    name: "outer-timeout",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: None,
    page: include_str!("outer_timeout.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    for (whole, longer) in find_exceeded_limits(cx.model.program, cx.model.reachable_step_ids()) {
        let Some(part) = longer.first() else { continue };
        let takes = if part.exact { "takes" } else { "may take" };
        let default = if whole.at.is_some() { "" } else { ", the default" };
        let message = format!(
            "{} ends after {}{default}, but {} {takes} {}",
            whole.what,
            format_duration(whole.ms),
            part.what,
            format_duration(part.ms)
        );
        // A default has no place, so the part is what was written.
        let at = whole.at.or(part.at).unwrap_or(whole.origin);
        let mut finding = cx.new_finding(at, message);
        for part in longer.iter().filter(|part| part.at.is_some_and(|place| place != at)).take(MOST_LABELS) {
            let label = format!("{} for {}", format_duration(part.ms), part.what);
            finding = finding.with_label(part.at.unwrap_or(part.origin), label);
        }
        let (least, what) = (format_duration(part.ms), &part.what);
        let or = if part.exact { format!("or shorten {what}") } else { format!("or lower that of {what}") };
        cx.report_finding(finding.with_help(match whole.at {
            Some(_) => format!("raise this timeout to at least {least}, {or}"),
            None => format!("set a timeout of at least {least} there, {or}"),
        }));
    }
}

/// A duration in the largest unit without a fraction: `90 s`, `2 min`, `1 h`.
fn format_duration(ms: u64) -> String {
    match ms {
        _ if !ms.is_multiple_of(1_000) => format!("{ms} ms"),
        _ if ms.is_multiple_of(3_600_000) => format!("{} h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{} min", ms / 60_000),
        _ => format!("{} s", ms / 1_000),
    }
}
