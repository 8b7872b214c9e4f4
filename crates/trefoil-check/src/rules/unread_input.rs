//! A state that passes an input to an agent that never reads it, so the model answers without having seen it.

use trefoil_ir::{Callee, Expr, Flow, FlowId, StepId, StepKind, walk};
use trefoil_syntax::{Location, Severity};

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::Model;

pub(super) const RULE: Rule = Rule {
    name: "unread-input",
    group: Group::Flow,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("unread_input.md"),
    run: Run::Whole(run),
};

fn run(cx: &mut Context<'_>) {
    let model = cx.model;
    for (machine, _) in model.machines() {
        for state in &machine.states {
            let step = &model.program.steps[state.step];
            let StepKind::Call(call) = &step.kind else { continue };
            let (Callee::Flow(callee), Some(at)) = (&call.callee, call.input.as_ref().and_then(given)) else { continue };
            let flow = &model.program.flows[*callee];
            if !asks_a_model(model, flow) || reads_input(model, *callee, flow) {
                continue;
            }
            let message = format!("`{}` never reads this input, so its model does not see it", flow.name);
            let d = cx.finding(at, message).label(flow.origin, "this agent");
            cx.report(d.help("read the input in the agent's prompt, or do not pass it"));
        }
    }
}

/// The place of an input that contains a value.
fn given(input: &Expr) -> Option<Location> {
    let mut at = None;
    walk::texts(input, &mut |text| {
        if !text.template.references().is_empty() {
            at.get_or_insert(text.origin);
        }
    });
    at
}

fn asks_a_model(model: &Model<'_>, flow: &Flow) -> bool {
    let is_model = |id: StepId| matches!(model.program.steps[id].kind, StepKind::Model(_));
    is_model(flow.body) || walk::children(&model.program.steps[flow.body]).into_iter().any(is_model)
}

fn reads_input(model: &Model<'_>, callee: FlowId, flow: &Flow) -> bool {
    let own = [Some(flow.intake.slot), flow.intake.raw.as_ref().map(|(slot, _)| *slot)];
    let mut read = false;
    let mut see = |source: &trefoil_ir::Source| read |= source.slots().iter().any(|slot| own.contains(&Some(*slot)));
    for (_, id) in model.steps_of(callee) {
        walk::evaluated(&model.program.steps[*id]).into_iter().for_each(|e| e.sources(&mut see));
    }
    walk::evaluated_by_flow(flow).into_iter().for_each(|e| e.sources(&mut see));
    read
}
