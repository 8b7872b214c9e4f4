//! Lowers a workflow to a flow: slots for its state, a state machine, the output.

use std::sync::Arc;

use trefoil_ir::{
    FlowDefinition, Intake, Source, StateId, StateMachine, Step, StepId, StepKind, ValueExpression, WorkflowState,
};
use trefoil_syntax::FileId;
use trefoil_template::Value;

use super::expressions::{constant_object, object_expression};
use super::lowering_context::LoweringContext;
use super::{AegisLowering, input, output, states, transition};
use crate::aegis::manifest::state as written;
use crate::aegis::manifest::transition::leave_success_open;
use crate::aegis::manifest::workflow::AegisWorkflowManifest;
use crate::aegis::names::{ALWAYS, FlowSlots, WorkflowNames};
use crate::aegis::texts::AegisTexts;
use crate::program_builder::plain_step;

/// Lowers a workflow.
pub fn lower_workflow(
    lowering: &mut AegisLowering<'_>,
    file: FileId,
    workflow: &AegisWorkflowManifest,
    names: &Arc<WorkflowNames>,
    texts: &AegisTexts,
    mut slots: FlowSlots,
) -> FlowDefinition {
    let scene = LoweringContext { file, names, texts, pipeline: workflow.is_pipeline() };
    // That was reported, and nothing can run.
    if workflow.states.is_empty() {
        return lowering.builder.stand_in("workflow", scene.location_of(workflow.identity.span));
    }
    let fixed = names.fixed;
    let initial = match &workflow.initial {
        Some(text) => names.state_index(&text.value).unwrap_or(0),
        None => 0,
    };
    let states = workflow.states.iter().enumerate();
    lowering.builder.reserve_steps(workflow.states.len() + 1);
    let machine = StateMachine {
        states: states.map(|(index, state)| self::state(lowering, &scene, &mut slots, index, state)).collect(),
        initial: StateId(initial as u32),
        max_entries: workflow.max_entries,
        max_entries_at: workflow.max_entries_at.map(|at| scene.location_of(at)),
        feedback: Some(fixed.feedback),
        previous_error: Some(fixed.previous_error),
        visit: Some(fixed.visit),
    };
    let origin = scene.location_of(workflow.identity.span);
    let body = Step { out: Some(fixed.result), ..plain_step(StepKind::StateMachine(machine), origin) };
    let context = workflow.context.iter().map(|(key, value)| (key.value.clone(), value.clone()));
    let blackboard = ValueExpression::Merge(vec![
        ValueExpression::Const(constant_object(context)),
        ValueExpression::Read(Source::Slot(fixed.input)),
    ]);
    FlowDefinition {
        name: workflow.identity.name.clone(),
        sort: "workflow",
        origin,
        body: lowering.builder.add_step(body),
        output: Some(output::lower_output(&scene, workflow)),
        intake: take_in(lowering, &scene, workflow),
        init: vec![(fixed.blackboard, blackboard)],
        slots: slots.0,
        exports: Vec::new(),
        budget: None,
    }
}

/// A start input that is text becomes the `task`, if the input may be an object at all.
fn take_in(lowering: &mut AegisLowering<'_>, scene: &LoweringContext<'_>, workflow: &AegisWorkflowManifest) -> Intake {
    let (schema, fixed) = (workflow.input_schema.as_ref(), scene.names.fixed);
    let mut intake = input::build_intake(lowering, scene.file, &workflow.identity.name, schema, fixed.input, ALWAYS);
    intake.raw = Some((fixed.raw, None));
    let may_be_object = match schema.and_then(|schema| schema.json.get("type")) {
        Some(kind) => kind.as_str() == Some("object"),
        None => true,
    };
    intake.wrap = if may_be_object { Some("task".into()) } else { None };
    intake
}

fn state(
    lowering: &mut AegisLowering<'_>,
    scene: &LoweringContext<'_>,
    slots: &mut FlowSlots,
    index: usize,
    state: &written::AegisState,
) -> WorkflowState {
    let step = states::lower_state(lowering, scene, slots, index, state);
    let step = finish(lowering, step, state, scene, index);
    let transitions = match &state.transitions {
        None if scene.pipeline && index + 1 < scene.names.states.len() => {
            vec![transition::success_transition(scene, index, index + 1)]
        }
        None => Vec::new(),
        Some(written) => transition::lower_transitions(scene, index, written),
    };
    WorkflowState {
        name: state.name.clone(),
        step,
        failed: Some(failed()),
        max_visits: state.max_visits,
        max_visits_at: state.max_visits_at.map(|at| scene.location_of(at)),
        transitions,
        ends_unmatched: leave_success_open(state.written_transitions()),
        fails_when: states::system::fails_when(scene, index),
    }
}

/// Adds label, result slot and time limit, which all kinds of state have.
fn finish(
    lowering: &mut AegisLowering<'_>,
    step: Step,
    state: &written::AegisState,
    scene: &LoweringContext<'_>,
    index: usize,
) -> StepId {
    let mut step = Step { label: Some(state.name.clone()), out: Some(scene.names.state_slot(index)), ..step };
    if let Some(timeout) = state.timeout_ms {
        step.policy.timeout_at = state.timeout_at.map(|at| scene.location_of(at));
        if !matches!(step.kind, StepKind::Human(_)) {
            step.policy.timeout_ms = Some(timeout);
        }
    }
    lowering.builder.add_step(step)
}

/// The result of a failed state.
fn failed() -> ValueExpression {
    object_expression([
        ("status", ValueExpression::Const(Value::from("failed"))),
        ("output", ValueExpression::Const(Value::from(""))),
        ("error", ValueExpression::Read(Source::Failure)),
    ])
}
