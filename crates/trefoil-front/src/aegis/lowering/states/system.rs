//! A System state: a command, a plain `echo`, or an update of the Blackboard.

use std::ops::Range;
use std::sync::Arc;

use trefoil_ir::{
    BoundCondition, CommandCall, Source, Step, StepKind, StepPolicy, UnsupportedFeature, ValueExpression,
};
use trefoil_syntax::Location;
use trefoil_syntax::yaml::{YamlNode, YamlNodeKind, YamlScalar, YamlText};
use trefoil_template::{ComparisonOperator, Value};

use crate::aegis::lowering::AegisLowering;
use crate::aegis::lowering::condition::{ConditionBuilder, compare_expression};
use crate::aegis::lowering::expressions::{
    compute_step, constant_text, current_result, object_expression, result_member,
};
use crate::aegis::lowering::lowering_context::LoweringContext;
use crate::aegis::manifest::states::system::{FOREIGN, SystemAction, SystemState, WHY_FOREIGN};
use crate::aegis::names::{RenderMoment, StateResultForm, name_path};
use crate::aegis::shell::{CommandLine, EchoPart, ParameterizedScript};
use crate::program_builder::{self, plain_step};
use crate::yaml_reader::to_value;

const DEFAULT_TIMEOUT_MS: u64 = 600_000;

/// Lowers a System state.
pub fn lower_system_state(
    lowering: &mut AegisLowering<'_>,
    scene: &LoweringContext<'_>,
    index: usize,
    state: &SystemState,
) -> Step {
    let origin = scene.state_at(index);
    let moment = RenderMoment::Entering(index);
    let nothing = || super::unknown(origin);
    let rendered = |text: &YamlText| scene.texts.template_text(moment, text).map(program_builder::as_text);
    match &state.action {
        Some(SystemAction::Update(entries)) => update(lowering, scene, index, entries),
        Some(SystemAction::Command { command, .. }) if scene.texts.template_text(moment, command).is_none() => {
            nothing()
        }
        Some(SystemAction::Command { command, .. }) if FOREIGN.contains(&command.value.trim()) => {
            let feature = format!("the command `{}`", command.value.trim()).into();
            plain_step(
                StepKind::Refused(UnsupportedFeature {
                    feature,
                    message: WHY_FOREIGN.into(),
                    ..UnsupportedFeature::default()
                }),
                origin,
            )
        }
        Some(SystemAction::Command { command, env }) => match CommandLine::from_template(&command.value) {
            CommandLine::Echo(words) => echo(scene, index, command, words),
            CommandLine::Script(script) => {
                let mut variables = Vec::with_capacity(env.len());
                for (name, value) in env {
                    if let Some(value) = rendered(value) {
                        variables.push((name.value.clone(), value));
                    }
                }
                let workdir = state.workdir.as_ref().and_then(rendered);
                run(scene, index, command, script, variables, workdir)
            }
        },
        None => nothing(),
    }
}

/// A terminal System state with a non-zero exit code fails the run.
pub fn fails_when(scene: &LoweringContext<'_>, index: usize) -> Option<BoundCondition> {
    if *scene.names.result_form(index) != StateResultForm::Command {
        return None;
    }
    let mut test = ConditionBuilder::default();
    let source = Source::Member(scene.names.state_slot(index), name_path(&["exit_code"]));
    let code = test.add_reference(&[scene.names.state_name(index), "exit_code"], source);
    Some(test.into_condition(
        compare_expression(code, ComparisonOperator::NotEqual, 0i64),
        scene.state_at(index),
        "exit_code_non_zero".into(),
    ))
}

/// `update_blackboard`: all values are computed before any is written.
fn update(
    lowering: &mut AegisLowering<'_>,
    scene: &LoweringContext<'_>,
    index: usize,
    entries: &[(YamlText, YamlNode)],
) -> Step {
    let origin = scene.state_at(index);
    let values = entries.iter().map(|(key, node)| (key.value.clone(), typed_value(scene, index, node))).collect();
    let blackboard = scene.names.fixed.blackboard;
    let merged =
        ValueExpression::Merge(vec![ValueExpression::Read(Source::Slot(blackboard)), ValueExpression::Object(values)]);
    let keys = Value::from_iter(entries.iter().map(|(key, _)| Value::Str(key.value.clone())));
    let outcome = object_expression([
        ("status", constant_text("success")),
        ("exit_code", ValueExpression::Const(Value::from(0i64))),
        ("stdout", constant_text("")),
        ("stderr", constant_text("")),
        ("output", constant_text("")),
        ("updated", ValueExpression::Const(keys)),
    ]);
    let steps = vec![
        compute_step(&mut lowering.builder, merged, blackboard, origin),
        lowering.builder.add_step(plain_step(StepKind::Compute(outcome), origin)),
    ];
    plain_step(StepKind::Sequence(steps), origin)
}

/// A value for the Blackboard: JSON is kept, and a lone placeholder keeps its type.
fn typed_value(scene: &LoweringContext<'_>, index: usize, node: &YamlNode) -> ValueExpression {
    match &*node.kind {
        YamlNodeKind::Scalar(YamlScalar::Str, source) => {
            match scene.texts.template_text(RenderMoment::Entering(index), source) {
                Some(text) => ValueExpression::Structured(Box::new(program_builder::as_typed(text))),
                None => ValueExpression::Const(Value::Null),
            }
        }
        YamlNodeKind::Scalar(..) => ValueExpression::Const(to_value(node)),
        YamlNodeKind::Sequence(items) => {
            ValueExpression::List(items.iter().map(|item| typed_value(scene, index, item)).collect())
        }
        YamlNodeKind::Mapping(mapping) => {
            let entries = mapping.entries.iter();
            let entries = entries.map(|entry| (entry.key.value.clone(), typed_value(scene, index, &entry.value)));
            ValueExpression::Object(entries.collect())
        }
    }
}

/// A command to be run by a shell.
fn run(
    scene: &LoweringContext<'_>,
    index: usize,
    command: &YamlText,
    script: ParameterizedScript,
    env: Vec<(Arc<str>, ValueExpression)>,
    workdir: Option<ValueExpression>,
) -> Step {
    let origin = scene.state_at(index);
    let placeholders = script.parameters.iter();
    let arguments = placeholders.filter_map(|range| placeholder(scene, index, command, range.clone())).collect();
    let call = CommandCall { script: script.text.into(), arguments, env, workdir };
    Step {
        shape: shape(origin),
        policy: StepPolicy { timeout_ms: Some(DEFAULT_TIMEOUT_MS), ..StepPolicy::default() },
        ..plain_step(StepKind::Command(Box::new(call)), origin)
    }
}

/// A placeholder of a command as a separate text.
fn placeholder(
    scene: &LoweringContext<'_>,
    index: usize,
    command: &YamlText,
    range: Range<usize>,
) -> Option<ValueExpression> {
    let text = scene.texts.get(RenderMoment::Entering(index), command)?;
    Some(ValueExpression::Template(text.part_template(range)?))
}

/// The result of a command, with its output as `output`, and as `json` if the output is JSON.
fn shape(origin: Location) -> Option<ValueExpression> {
    let printed = result_member("stdout", origin)?;
    let json = ValueExpression::Structured(Box::new(printed.clone()));
    Some(ValueExpression::Merge(vec![current_result(), object_expression([("output", printed), ("json", json)])]))
}

/// A plain `echo` becomes its text.
fn echo(scene: &LoweringContext<'_>, index: usize, command: &YamlText, words: Vec<EchoPart>) -> Step {
    let part = |word| match word {
        EchoPart::Text(text) => Some(constant_text(text)),
        EchoPart::Value(range) => placeholder(scene, index, command, range),
    };
    let printed = ValueExpression::Concat(words.into_iter().filter_map(part).collect());
    let outcome = object_expression([
        ("status", constant_text("success")),
        ("exit_code", ValueExpression::Const(Value::from(0i64))),
        ("stdout", printed.clone()),
        ("stderr", constant_text("")),
        ("output", printed.clone()),
        ("json", ValueExpression::Structured(Box::new(printed))),
    ]);
    plain_step(StepKind::Compute(outcome), scene.state_at(index))
}
