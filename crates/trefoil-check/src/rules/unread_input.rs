//! A state that passes an input to an agent that never reads it, so the model answers without having seen it.

use trefoil_ir::{Callee, Expr, Flow, FlowId, StepKind, walk};
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
            let Some(step) = model.program.step(state.step) else { continue };
            let StepKind::Call(call) = &step.kind else { continue };
            let (Callee::Flow(callee), Some(at)) = (&call.callee, call.input.as_ref().and_then(given)) else { continue };
            let Some(flow) = model.program.flow(*callee).filter(|flow| asks_a_model(model, flow)) else { continue };
            if reads_input(model, *callee, flow) {
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
    let body = model.program.step(flow.body);
    body.is_some_and(|step| {
        let inner = walk::children(step).into_iter().filter_map(|id| model.program.step(id));
        std::iter::once(step).chain(inner).any(|step| matches!(step.kind, StepKind::Model(_)))
    })
}

fn reads_input(model: &Model<'_>, callee: FlowId, flow: &Flow) -> bool {
    let own = [Some(flow.intake.slot), flow.intake.raw.as_ref().map(|(slot, _)| *slot)];
    let mut read = false;
    let mut see = |source: &trefoil_ir::Source| read |= source.slots().iter().any(|slot| own.contains(&Some(*slot)));
    for (_, id) in model.steps_of(callee) {
        if let Some(step) = model.program.step(*id) {
            walk::evaluated(step).into_iter().for_each(|e| e.sources(&mut see));
        }
    }
    walk::evaluated_by_flow(flow).into_iter().for_each(|e| e.sources(&mut see));
    read
}
