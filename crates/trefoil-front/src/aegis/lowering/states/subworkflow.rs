//! A Subworkflow state: waits for another workflow of the folder.

use trefoil_ir::{
    FlowCallee, OnStepFailure, SlotId, Source, Step, StepKind, StepPolicy, SubflowCall, UnsupportedFeature,
    ValueExpression,
};
use trefoil_syntax::yaml::YamlText;
use trefoil_template::Value;

use crate::aegis::lowering::AegisLowering;
use crate::aegis::lowering::expressions::{compute_step, constant_text, object_expression};
use crate::aegis::lowering::lowering_context::LoweringContext;
use crate::aegis::manifest::AegisUnitKind;
use crate::aegis::manifest::states::subworkflow::SubworkflowState;
use crate::aegis::names::{FlowSlots, RenderMoment};
use crate::program_builder::{self, plain_step};

/// Lowers a Subworkflow state. The result of the state is the called workflow's result, with `status` and `output`
/// added to its fields.
pub fn lower_subworkflow_state(
    lowering: &mut AegisLowering<'_>,
    scene: &LoweringContext<'_>,
    slots: &mut FlowSlots,
    index: usize,
    state: &SubworkflowState,
) -> Step {
    let origin = scene.state_at(index);
    let moment = RenderMoment::Entering(index);
    let rendered =
        state.input.as_ref().and_then(|input| scene.texts.template_text(moment, input)).map(program_builder::as_text);
    let nothing = || super::unknown(origin);
    let Some(workflow) = &state.workflow else { return nothing() };
    let Some(bound) = scene.texts.template_text(moment, workflow) else { return nothing() };
    let callee = match bound.template.literal_text() {
        None => FlowCallee::Named { name: bound, flows: lowering.candidate_flows(AegisUnitKind::Workflow) },
        Some(_) => match lowering.workflow_flow(scene.file, workflow) {
            Some(flow) => FlowCallee::Flow(flow),
            None => return unknown_workflow_step(scene, index, workflow),
        },
    };

    let mut steps = Vec::new();
    let input = rendered.map(|rendered| {
        let slot = slots.add_slot("subworkflow.input");
        steps.push(compute_step(&mut lowering.builder, ValueExpression::Structured(Box::new(rendered)), slot, origin));
        input(slots, lowering, slot, &mut steps, scene, index)
    });
    let child = slots.add_slot("subworkflow.result");
    let mut call = Step {
        out: Some(child),
        ..plain_step(StepKind::Call(Box::new(SubflowCall { callee, input, exports: None, span: None })), origin)
    };
    if !state.blocking {
        let on_failure = OnStepFailure::Use(Box::new(ValueExpression::Const(Value::Null)));
        call.policy = StepPolicy { on_failure, ..StepPolicy::default() };
        steps.push(lowering.builder.add_step(call));
        let shape =
            object_expression([("status", constant_text("success")), ("mode", constant_text("fire_and_forget"))]);
        steps.push(lowering.builder.add_step(plain_step(StepKind::Compute(shape), origin)));
        return plain_step(StepKind::Sequence(steps), origin);
    }
    steps.push(lowering.builder.add_step(call));
    if let Some(key) = &state.result_key {
        let blackboard = scene.names.fixed.blackboard;
        let update = ValueExpression::Merge(vec![
            ValueExpression::Read(Source::Slot(blackboard)),
            ValueExpression::Object(vec![(key.value.clone(), ValueExpression::Read(Source::Slot(child)))]),
        ]);
        steps.push(compute_step(&mut lowering.builder, update, blackboard, origin));
    }
    let shape = ValueExpression::Merge(vec![
        object_expression([
            ("status", constant_text("success")),
            ("output", ValueExpression::Read(Source::Slot(child))),
        ]),
        ValueExpression::Read(Source::Slot(child)),
    ]);
    steps.push(lowering.builder.add_step(plain_step(StepKind::Compute(shape), origin)));
    plain_step(StepKind::Sequence(steps), origin)
}

/// The rendered input: an object is passed unchanged, any other text as `{input: TEXT}`.
fn input(
    slots: &mut FlowSlots,
    lowering: &mut AegisLowering<'_>,
    rendered: SlotId,
    steps: &mut Vec<trefoil_ir::StepId>,
    scene: &LoweringContext<'_>,
    index: usize,
) -> ValueExpression {
    // A merge ignores everything except objects, so a text becomes the empty object.
    let objects = slots.add_slot("subworkflow.object");
    let merged = ValueExpression::Merge(vec![ValueExpression::Read(Source::Slot(rendered))]);
    steps.push(compute_step(&mut lowering.builder, merged, objects, scene.state_at(index)));
    ValueExpression::If {
        source: Source::Slot(objects),
        then: Box::new(ValueExpression::Read(Source::Slot(objects))),
        otherwise: Box::new(object_expression([("input", ValueExpression::Read(Source::Slot(rendered)))])),
    }
}

/// A workflow that is not in the folder: the state is checked but not run.
fn unknown_workflow_step(scene: &LoweringContext<'_>, index: usize, name: &YamlText) -> Step {
    let message = format!("no workflow in this folder is named `{}`", name.value);
    let refused = UnsupportedFeature {
        feature: "an unknown workflow".into(),
        message: message.into(),
        ..UnsupportedFeature::default()
    };
    plain_step(StepKind::Refused(refused), scene.state_at(index))
}
