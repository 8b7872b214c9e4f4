//! Costs beyond the limit: the expected cost compared with a budget, and the worst case with the operator's limit.

use trefoil_ir::prices::{DollarAmount, context_window};
use trefoil_ir::{FlowId, ModelCall, Program, StepKind, walk};
use trefoil_syntax::FindingSeverity;

use crate::rule::{ModelPrices, Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::call_bounds::CallBound;
use crate::semantic::call_cost::{PromptEstimate, conversation_turns, expected_cost, reserved_cost};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "too-expensive",
    group: RuleGroup::Cost,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("too_expensive.md"),
    run: RuleSource::Several(&[RuleSource::Whole(budgets), RuleSource::Whole(limits)]),
};

/// Budgets that the direct path of a run exceeds. A budget below the worst case is no mistake: that is what it is for.
fn budgets(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    if !program.flows.iter().any(|flow| flow.budget.is_some()) {
        return;
    }
    let Some(prices) = prices(cx) else { return };
    let turns = conversation_turns(program);
    let price = |_, call: &ModelCall| match prices.price_of(&call.model) {
        Some(price) => expected_cost(&PromptEstimate::for_call(program, call, &turns), &price),
        None => 0,
    };
    let mut costs = cx.model.call_counter().with_price(price).single_pass();
    for (id, flow) in program.flows.entries() {
        let Some(budget) = &flow.budget else { continue };
        let Some(max) = budget.max_cost_micro else { continue };
        if !cx.model.reach_analysis().is_called(id) {
            continue;
        }
        let cost = costs.without_budget(id).cost;
        if cost.fixed <= max {
            continue;
        }
        let then = words::exceeded_budget(budget);
        let (cost, limit) = (dollars(&cost), DollarAmount(max));
        let message =
            format!("`{}` is expected to cost about {cost}, but its budget allows {limit}: {then}", flow.name);
        cx.report_finding(cx.new_finding(flow.origin, message).with_help(HELP));
    }
}

/// Runs whose worst case exceeds the operator's limit.
fn limits(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    if !cx.roots.iter().any(|root| root.limits.max_cost.is_some()) {
        return;
    }
    let Some(prices) = prices(cx) else { return };
    let turns = conversation_turns(program);
    let most = |call: &ModelCall| {
        let window = context_window(call.model.provider.as_deref()?, &call.model.name);
        reserved_cost(&PromptEstimate::for_call(program, call, &turns), &prices.price_of(&call.model)?, window)
    };
    let mut costs = cx.model.call_counter().with_price(|_, call| most(call).unwrap_or(0));
    for root in cx.roots {
        let Some(max) = root.limits.max_cost else { continue };
        let flow = &program.flows[root.flow];
        let limit = DollarAmount(max);
        let cost = costs.count_flow(root.flow).cost;
        if cost.fixed > max || cost.endless {
            let message =
                format!("a run of `{}` may cost up to {}, but the limit is {limit}", flow.name, dollars(&cost));
            cx.report_finding(cx.new_finding(flow.origin, message).with_help(HELP));
        } else if let Some(call) = model_calls(program, root.flow).into_iter().find(|call| most(call).is_none()) {
            let name = &call.model.name;
            let message = format!("the maximum cost of a run of `{}` is unknown, but the limit is {limit}", flow.name);
            let help = format!(
                "the price or the context window of `{name}` is unknown: set its price under `[prices]`, and `max_tokens`"
            );
            cx.report_finding(cx.new_finding(flow.origin, message).with_help(help));
        }
    }
}

/// The model calls that a run of a flow can reach.
fn model_calls(program: &Program, flow: FlowId) -> Vec<&ModelCall> {
    let mut calls: Vec<&ModelCall> = Vec::new();
    for (_, id) in walk::reachable_steps(program, flow) {
        if let StepKind::Model(call) = &program.steps[id].kind {
            calls.push(call);
        }
    }
    calls
}

/// The prices, if they are known to the caller.
fn prices(cx: &RuleContext<'_>) -> Option<ModelPrices> {
    let known = cx.supplied.iter().find(|all| all.prices.day.is_some())?;
    Some(known.prices.clone())
}

fn dollars(bound: &CallBound) -> String {
    bound.in_words(&|micro| DollarAmount(micro).to_string())
}

const HELP: &str = "see `trefoil plan` for the breakdown; choose a cheaper model, set `max_tokens`, or allow more";
