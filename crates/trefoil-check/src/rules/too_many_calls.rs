//! A worst case beyond the limit.

use trefoil_syntax::FindingSeverity;
use trefoil_template::limits::MANY_CALLS;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "too-many-calls",
    group: RuleGroup::Cost,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("too_many_calls.md"),
    run: RuleSource::Whole(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    let mut costs = cx.model.call_counter();
    for root in cx.roots {
        let flow = &program.flows[root.flow];
        let max = root.limits.max_calls.unwrap_or(MANY_CALLS);
        let calls = costs.count_flow(root.flow).model;
        if calls.fixed > max || calls.endless {
            let calls = words::model_calls(&calls);
            let message = format!("a run of `{}` may need {calls}, but the limit is {max}", flow.name);
            cx.report_finding(cx.new_finding(flow.origin, message).with_help(HELP));
        }
    }
    for (id, flow) in program.flows.entries() {
        let Some(budget) = flow.budget.as_ref().filter(|_| cx.model.reach_analysis().is_called(id)) else { continue };
        let Some(max) = budget.max_calls else { continue };
        let calls = costs.without_budget(id).model;
        if calls.fixed > max {
            let then = words::exceeded_budget(budget);
            let calls = words::model_calls(&calls);
            let message = format!("`{}` may need {calls}, but its budget allows {max}: {then}", flow.name);
            let at = budget.calls_at.unwrap_or(flow.origin);
            cx.report_finding(cx.new_finding(at, message).with_help(HELP));
        }
    }
}

const HELP: &str =
    "see `trefoil plan` for the breakdown; lower a limit on retries, iterations or visits, or allow more calls";
