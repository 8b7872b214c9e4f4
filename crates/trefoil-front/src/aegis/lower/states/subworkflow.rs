//! A Subworkflow state: another workflow of the folder, waited for.

use trefoil_ir::{Call, Callee, Expr, OnFailure, Position, Refused, SlotId, Source, Step, StepKind, StepPolicy};
use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::Text;
use trefoil_template::{Policy, Value};

use crate::aegis::lower::given::{self, Taker};
use crate::aegis::lower::names::{Place, Scene};
use crate::aegis::lower::pieces::{compute, constant, object, text};
use crate::aegis::lower::{Lowering, Slots, Unit};
use crate::aegis::manifest;
use crate::aegis::manifest::schema::JsonSchema;
use crate::aegis::manifest::states::subworkflow::SubworkflowState;
use crate::build::{self, plain};
use crate::read::{respelt, to_value};

/// Lowers a Subworkflow state. The child's result is the state's, `status` and `output` beside its own fields.
pub(super) fn lower(
    lowering: &mut Lowering<'_>,
    scene: &Scene<'_, '_>,
    slots: &mut Slots,
    index: usize,
    state: &SubworkflowState,
) -> Step {
    let origin = scene.state_at(index);
    let mut resolve = scene.here(Place::Entering(index), Position::Data);
    let rendered = state.input.as_ref().and_then(|i| text(scene.reader, i, &mut resolve));
    let mut who = scene.here(Place::Entering(index), Position::Condition);
    let nothing = || plain(StepKind::Compute(constant("")), origin);
    let Some(workflow) = &state.workflow else { return nothing() };
    let Some(bound) = build::text(scene.reader, workflow, &Policy::AEGIS, &mut who) else { return nothing() };
    let callee = match bound.template.literal() {
        None => Callee::Named { name: bound, flows: lowering.choice(Unit::Workflow) },
        Some(_) => match lowering.workflow(scene.reader, workflow) {
            Some(flow) => Callee::Flow(flow),
            None => return unknown(lowering, scene, index, workflow),
        },
    };

    check_input(lowering, scene, workflow, state);
    let mut steps = Vec::new();
    let input = rendered.map(|rendered| {
        let slot = slots.add("subworkflow.input");
        steps.push(compute(&mut lowering.builder, Expr::Structured(Box::new(rendered)), slot, origin));
        input(slots, lowering, slot, &mut steps, scene, index)
    });
    let child = slots.add("subworkflow.result");
    let mut call =
        Step { out: Some(child), ..plain(StepKind::Call(Box::new(Call { callee, input, exports: None })), origin) };
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

/// Holds what is written out of the input against what the workflow declares.
fn check_input(lowering: &Lowering<'_>, scene: &Scene<'_, '_>, workflow: &Text, state: &SubworkflowState) {
    let name = &*workflow.value;
    let taker = || {
        let document = lowering.project.documents.get(*lowering.directory.workflows(name).first()?)?;
        let node = manifest::of_metadata(&document.root, "input_schema").filter(|n| !n.is_null())?;
        let schema = JsonSchema { json: to_value(node), node: node.clone() };
        schema.of_objects().then_some((document.file, schema))
    };
    match (taker(), &state.input) {
        (Some((file, schema)), input) => {
            let taker = Taker { name, schema: &schema, file, wraps: true };
            match input {
                Some(input) => given::check(scene.reader, input, &taker),
                None => given::missing(scene.reader, workflow.span, &taker, "the state has no `input`", |_| false),
            }
        }
        (None, Some(input)) => given::broken(scene.reader, input),
        (None, None) => {}
    }
}

/// An object as it is; any other text as `{input: TEXT}`.
fn input(
    slots: &mut Slots,
    lowering: &mut Lowering<'_>,
    rendered: SlotId,
    steps: &mut Vec<trefoil_ir::StepId>,
    scene: &Scene<'_, '_>,
    index: usize,
) -> Expr {
    // A merge leaves out what is no object: what is left of a text is the empty object.
    let objects = slots.add("subworkflow.object");
    let merged = Expr::Merge(vec![Expr::Read(Source::Slot(rendered))]);
    steps.push(compute(&mut lowering.builder, merged, objects, scene.state_at(index)));
    Expr::If {
        source: Source::Slot(objects),
        then: Box::new(Expr::Read(Source::Slot(objects))),
        otherwise: Box::new(object([("input", Expr::Read(Source::Slot(rendered)))])),
    }
}

/// A workflow that the folder does not have: checked, not run.
fn unknown(lowering: &mut Lowering<'_>, scene: &Scene<'_, '_>, index: usize, name: &Text) -> Step {
    let at = scene.reader.at(name.span);
    let message = format!("no workflow in this folder is called `{}`", name.value);
    let d = Diagnostic::warning("unknown-reference", at, message.clone());
    scene.reader.report(match lowering.directory.near(Unit::Workflow, &name.value) {
        Some(near) => {
            let d = d.help(format!("did you mean `{}`?", near.name));
            respelt(lowering.directory.declared(Unit::Workflow, near.name, d), at, name, near)
        }
        None => d.help("put its manifest into the folder; a run that can reach this state does not start"),
    });
    let refused = Refused { feature: "an unknown workflow".into(), message: message.into() };
    plain(StepKind::Refused(refused), scene.state_at(index))
}
