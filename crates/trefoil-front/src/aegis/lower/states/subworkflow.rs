//! A Subworkflow state: waits for another workflow of the folder.

use trefoil_ir::{Call, Callee, Expr, OnFailure, Refused, SlotId, Source, Step, StepKind, StepPolicy};
use trefoil_syntax::yaml::Text;
use trefoil_template::Value;

use crate::aegis::lower::Lowering;
use crate::aegis::lower::pieces::{compute, constant, object};
use crate::aegis::lower::scene::Scene;
use crate::aegis::manifest::Unit;
use crate::aegis::manifest::states::subworkflow::SubworkflowState;
use crate::aegis::names::{FlowSlots, Moment};
use crate::build::{self, plain};

/// Lowers a Subworkflow state. The result of the state is the called workflow's result, with `status` and `output`
/// added to its fields.
pub fn lower(
    lowering: &mut Lowering<'_>,
    scene: &Scene<'_>,
    slots: &mut FlowSlots,
    index: usize,
    state: &SubworkflowState,
) -> Step {
    let origin = scene.state_at(index);
    let moment = Moment::Entering(index);
    let rendered = state.input.as_ref().and_then(|input| scene.texts.text(moment, input)).map(build::as_text);
    let nothing = || super::unknown(origin);
    let Some(workflow) = &state.workflow else { return nothing() };
    let Some(bound) = scene.texts.text(moment, workflow) else { return nothing() };
    let callee = match bound.template.literal() {
        None => Callee::Named { name: bound, flows: lowering.choice(Unit::Workflow) },
        Some(_) => match lowering.workflow(scene.file, workflow) {
            Some(flow) => Callee::Flow(flow),
            None => return unknown(scene, index, workflow),
        },
    };

    let mut steps = Vec::new();
    let input = rendered.map(|rendered| {
        let slot = slots.add("subworkflow.input");
        steps.push(compute(&mut lowering.builder, Expr::Structured(Box::new(rendered)), slot, origin));
        input(slots, lowering, slot, &mut steps, scene, index)
    });
    let child = slots.add("subworkflow.result");
    let mut call = Step {
        out: Some(child),
        ..plain(StepKind::Call(Box::new(Call { callee, input, exports: None, span: None })), origin)
    };
    if !state.blocking {
        let on_failure = OnFailure::Use(Box::new(Expr::Const(Value::Null)));
        call.policy = StepPolicy { on_failure, ..StepPolicy::default() };
        steps.push(lowering.builder.step(call));
        let shape = object([("status", constant("success")), ("mode", constant("fire_and_forget"))]);
        steps.push(lowering.builder.step(plain(StepKind::Compute(shape), origin)));
        return plain(StepKind::Sequence(steps), origin);
    }
    steps.push(lowering.builder.step(call));
    if let Some(key) = &state.result_key {
        let blackboard = scene.names.fixed.blackboard;
        let update = Expr::Merge(vec![
            Expr::Read(Source::Slot(blackboard)),
            Expr::Object(vec![(key.value.clone(), Expr::Read(Source::Slot(child)))]),
        ]);
        steps.push(compute(&mut lowering.builder, update, blackboard, origin));
    }
    let shape = Expr::Merge(vec![
        object([("status", constant("success")), ("output", Expr::Read(Source::Slot(child)))]),
        Expr::Read(Source::Slot(child)),
    ]);
    steps.push(lowering.builder.step(plain(StepKind::Compute(shape), origin)));
    plain(StepKind::Sequence(steps), origin)
}

/// The rendered input: an object is passed unchanged, any other text as `{input: TEXT}`.
fn input(
    slots: &mut FlowSlots,
    lowering: &mut Lowering<'_>,
    rendered: SlotId,
    steps: &mut Vec<trefoil_ir::StepId>,
    scene: &Scene<'_>,
    index: usize,
) -> Expr {
    // A merge ignores everything except objects, so a text becomes the empty object.
    let objects = slots.add("subworkflow.object");
    let merged = Expr::Merge(vec![Expr::Read(Source::Slot(rendered))]);
    steps.push(compute(&mut lowering.builder, merged, objects, scene.state_at(index)));
    Expr::If {
        source: Source::Slot(objects),
        then: Box::new(Expr::Read(Source::Slot(objects))),
        otherwise: Box::new(object([("input", Expr::Read(Source::Slot(rendered)))])),
    }
}

/// A workflow that is not in the folder: the state is checked but not run.
fn unknown(scene: &Scene<'_>, index: usize, name: &Text) -> Step {
    let message = format!("no workflow in this folder is named `{}`", name.value);
    let refused = Refused { feature: "an unknown workflow".into(), message: message.into(), ..Refused::default() };
    plain(StepKind::Refused(refused), scene.state_at(index))
}
