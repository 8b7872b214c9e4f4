//! Costs beyond the limit: the expected cost compared with a budget, and the worst case with the operator's limit.

use trefoil_ir::{ModelCall, StepKind, walk};
use trefoil_ir::prices::{Dollars, window};
use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Prices, Rule, Run};
use crate::semantic::bound::Bound;
use crate::semantic::money::{Prompt, at_most, expected, turns};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "too-expensive",
    group: Group::Cost,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("too_expensive.md"),
    run: Run::Several(&[Run::Whole(budgets), Run::Whole(limits)]),
};

/// Budgets that the direct path of a run exceeds. A budget below the worst case is no mistake: that is what it is for.
fn budgets(cx: &mut Context<'_>) {
    let program = cx.model.program;
    let Some(prices) = prices(cx).filter(|_| program.flows.iter().any(|flow| flow.budget.is_some())) else { return };
    let turns = turns(program);
    let price = |_, call: &ModelCall| {
        let prompt = Prompt::of(program, call, &turns);
        prices.of(&call.model).map_or(0, |price| expected(&prompt, &price))
    };
    let mut costs = cx.model.costs().priced(price).straight();
    for (id, flow) in program.flows.entries() {
        let Some(budget) = flow.budget.as_ref().filter(|_| cx.model.reach().is_called(id)) else { continue };
        let Some(max) = budget.max_cost_micro else { continue };
        let cost = costs.without_budget(id).cost;
        if cost.fixed <= max {
            continue;
        }
        let then = words::exceeded(budget);
        let (cost, limit) = (dollars(&cost), Dollars(max));
        let message = format!("`{}` is expected to cost about {cost}, but its budget allows {limit}: {then}", flow.name);
        cx.report(cx.finding(flow.origin, message).help(HELP));
    }
}

/// Runs whose worst case exceeds the operator's limit.
fn limits(cx: &mut Context<'_>) {
    let program = cx.model.program;
    let Some(prices) = prices(cx).filter(|_| cx.roots.iter().any(|root| root.limits.max_cost.is_some())) else { return };
    let turns = turns(program);
    let most = |call: &ModelCall| {
        let window = window(call.model.provider.as_deref()?, &call.model.name);
        at_most(&Prompt::of(program, call, &turns), &prices.of(&call.model)?, window)
    };
    let mut costs = cx.model.costs().priced(|_, call| most(call).unwrap_or(0));
    for root in cx.roots {
        let Some(max) = root.limits.max_cost else { continue };
        let flow = &program.flows[root.flow];
        let limit = Dollars(max);
        let calls = walk::reachable(program, root.flow).into_iter().map(|(_, id)| &program.steps[id]);
        let mut calls = calls.filter_map(|step| if let StepKind::Model(call) = &step.kind { Some(&**call) } else { None });
        let cost = costs.flow(root.flow).cost;
        if cost.fixed > max || cost.endless {
            let message = format!("a run of `{}` may cost up to {}, but the limit is {limit}", flow.name, dollars(&cost));
            cx.report(cx.finding(flow.origin, message).help(HELP));
        } else if let Some(call) = calls.find(|call| most(call).is_none()) {
            let name = &call.model.name;
            let message = format!("the maximum cost of a run of `{}` is unknown, but the limit is {limit}", flow.name);
            let help = format!("the price or the context window of `{name}` is unknown: set its price under `[prices]`, and `max_tokens`");
            cx.report(cx.finding(flow.origin, message).help(help));
        }
    }
}

/// The prices, if they are known to the caller.
fn prices(cx: &Context<'_>) -> Option<Prices> {
    cx.supplied.iter().map(|all| &all.prices).find(|prices| prices.day.is_some()).cloned()
}

fn dollars(bound: &Bound) -> String {
    bound.in_words(&|micro| Dollars(micro).to_string())
}

const HELP: &str = "see `trefoil plan` for the breakdown; choose a cheaper model, set `max_tokens`, or allow more";
