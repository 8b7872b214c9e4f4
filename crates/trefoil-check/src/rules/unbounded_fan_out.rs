//! A fan-out over a list of unlimited length.

use trefoil_ir::{FanOutItems, Source, StepKind, ValueExpression, walk};
use trefoil_syntax::FindingSeverity;
use trefoil_syntax::hash::HashSet;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "unbounded-fan-out",
    group: RuleGroup::Cost,
    level: Some(FindingSeverity::Info),
    strict: Some(FindingSeverity::Warning),
    page: include_str!("unbounded_fan_out.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    let has_budget = |flow| matches!(&program.flows[flow].budget, Some(budget) if budget.max_calls.is_some());
    // A budget of the started flow also covers the flows that it calls.
    let open_ended: Vec<_> = cx.model.roots.iter().copied().filter(|root| !has_budget(*root)).collect();
    let uncovered: HashSet<_> = walk::reachable_from(program, &open_ended).into_iter().map(|(_, step)| step).collect();
    let mut costs = cx.model.call_counter();
    for (flow, id, step) in cx.model.live_steps() {
        let StepKind::ForEach(each) = &step.kind else { continue };
        let FanOutItems::List(list) = &each.items else { continue };
        if !open(list) || has_budget(flow) || !uncovered.contains(&id) {
            continue;
        }
        let calls = costs.count_flow(each.body).model;
        if calls.is_zero() {
            continue;
        }
        let calls =
            if calls.fixed_number() == Some(1) { "a model call".to_owned() } else { words::model_calls(&calls) };
        let name = words::step_name(program, id);
        let message = format!("{name} makes {calls} per item, and the list has no size limit");
        cx.report_finding(
            cx.new_finding(step.origin, message)
                .with_help("set a call budget for the workflow, or run it with `--max-calls`"),
        );
    }
}

/// Whether the list depends on values that are only known at run time.
fn open(list: &ValueExpression) -> bool {
    let mut found = false;
    walk::visit_sources(list, &mut |source| found |= !matches!(source, Source::Const(_) | Source::Missing(..)));
    found
}
