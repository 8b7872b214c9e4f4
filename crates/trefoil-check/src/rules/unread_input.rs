//! A state that passes an input to an agent that never reads it, so the model answers without having seen it.

use trefoil_ir::{FlowCallee, FlowDefinition, FlowId, Source, StepId, StepKind, ValueExpression, walk};
use trefoil_syntax::{FindingSeverity, Location};

use super::unknown_property::is_input_slot;
use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::SemanticModel;

pub(super) const RULE: Rule = Rule {
    name: "unread-input",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("unread_input.md"),
    run: RuleSource::Whole(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for (machine, _) in model.state_machines() {
        for state in &machine.states {
            let step = &model.program.steps[state.step];
            let StepKind::Call(call) = &step.kind else { continue };
            let (FlowCallee::Flow(callee), Some(input)) = (&call.callee, &call.input) else { continue };
            let Some(at) = given(input) else { continue };
            let flow = &model.program.flows[*callee];
            if !asks_a_model(model, flow) || reads_input(model, *callee, flow) {
                continue;
            }
            let message = format!("`{}` never reads this input, so its model does not see it", flow.name);
            let d = cx.new_finding(at, message).with_label(flow.origin, "this agent");
            cx.report_finding(d.with_help("read the input in the agent's prompt, or do not pass it"));
        }
    }
}

/// The place of an input that contains a value.
fn given(input: &ValueExpression) -> Option<Location> {
    let mut at = None;
    walk::visit_templates(input, &mut |text| {
        if !text.template.references().is_empty() {
            at.get_or_insert(text.origin);
        }
    });
    at
}

fn asks_a_model(model: &SemanticModel<'_>, flow: &FlowDefinition) -> bool {
    let is_model = |id: StepId| matches!(model.program.steps[id].kind, StepKind::Model(_));
    is_model(flow.body) || walk::children_of(&model.program.steps[flow.body]).into_iter().any(is_model)
}

fn reads_input(model: &SemanticModel<'_>, callee: FlowId, flow: &FlowDefinition) -> bool {
    let mut read = false;
    let mut see = |source: &Source| read |= source.slot_ids().iter().any(|slot| is_input_slot(&flow.intake, *slot));
    for (_, id) in model.steps_of(callee) {
        for evaluated in walk::evaluated_by_step(&model.program.steps[*id]) {
            evaluated.visit_sources(&mut see);
        }
    }
    for evaluated in walk::evaluated_by_flow(flow) {
        evaluated.visit_sources(&mut see);
    }
    read
}
