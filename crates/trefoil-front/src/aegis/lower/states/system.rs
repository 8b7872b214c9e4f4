//! A System state: a command, a plain `echo`, or an update of the Blackboard.

use std::ops::Range;
use std::sync::Arc;

use trefoil_ir::{CommandCall, Cond, Expr, Refused, Source, Step, StepKind, StepPolicy};
use trefoil_syntax::Location;
use trefoil_syntax::yaml::{Kind, Node, Scalar, Text};
use trefoil_template::{Comparison, Value};

use crate::aegis::lower::Lowering;
use crate::aegis::lower::condition::{Test, compare};
use crate::aegis::lower::pieces::{compute, constant, object, result, result_member};
use crate::aegis::lower::scene::Scene;
use crate::aegis::manifest::states::system::{Action, FOREIGN, SystemState, WHY_FOREIGN};
use crate::aegis::names::{Moment, Outcome, path};
use crate::aegis::shell::{CommandLine, Script, Word};
use crate::build::{self, plain};
use crate::read::to_value;

const DEFAULT_TIMEOUT_MS: u64 = 600_000;

/// Lowers a System state.
pub fn lower(lowering: &mut Lowering<'_>, scene: &Scene<'_>, index: usize, state: &SystemState) -> Step {
    let origin = scene.state_at(index);
    let moment = Moment::Entering(index);
    let nothing = || super::unknown(origin);
    let rendered = |text: &Text| scene.texts.text(moment, text).map(build::as_text);
    match &state.action {
        Some(Action::Update(entries)) => update(lowering, scene, index, entries),
        Some(Action::Command { command, .. }) if scene.texts.text(moment, command).is_none() => nothing(),
        Some(Action::Command { command, .. }) if FOREIGN.contains(&command.value.trim()) => {
            let feature = format!("the command `{}`", command.value.trim()).into();
            plain(StepKind::Refused(Refused { feature, message: WHY_FOREIGN.into(), ..Refused::default() }), origin)
        }
        Some(Action::Command { command, env }) => match CommandLine::read(&command.value) {
            CommandLine::Echo(words) => echo(scene, index, command, words),
            CommandLine::Script(script) => {
                let env = env.iter().filter_map(|(name, value)| Some((name.value.clone(), rendered(value)?)));
                let workdir = state.workdir.as_ref().and_then(rendered);
                run(scene, index, command, script, env.collect(), workdir)
            }
        },
        None => nothing(),
    }
}

/// A terminal System state with a non-zero exit code fails the run.
pub fn fails_when(scene: &Scene<'_>, index: usize) -> Option<Cond> {
    if *scene.names.outcome(index) != Outcome::Command {
        return None;
    }
    let mut test = Test::default();
    let source = Source::Member(scene.names.slot(index), path(&["exit_code"]));
    let code = test.value(&[scene.names.name(index), "exit_code"], source);
    Some(test.finish(compare(code, Comparison::NotEqual, 0i64), scene.state_at(index), "exit_code_non_zero".into()))
}

/// `update_blackboard`: all values are computed before any is written.
fn update(lowering: &mut Lowering<'_>, scene: &Scene<'_>, index: usize, entries: &[(Text, Node)]) -> Step {
    let origin = scene.state_at(index);
    let values = entries.iter().map(|(key, node)| (key.value.clone(), typed(scene, index, node))).collect();
    let blackboard = scene.names.fixed.blackboard;
    let merged = Expr::Merge(vec![Expr::Read(Source::Slot(blackboard)), Expr::Object(values)]);
    let keys = Value::from_iter(entries.iter().map(|(key, _)| Value::Str(key.value.clone())));
    let outcome = object([
        ("status", constant("success")),
        ("exit_code", Expr::Const(Value::from(0i64))),
        ("stdout", constant("")),
        ("stderr", constant("")),
        ("output", constant("")),
        ("updated", Expr::Const(keys)),
    ]);
    let steps = vec![
        compute(&mut lowering.builder, merged, blackboard, origin),
        lowering.builder.step(plain(StepKind::Compute(outcome), origin)),
    ];
    plain(StepKind::Sequence(steps), origin)
}

/// A value for the Blackboard: JSON is kept, and a lone placeholder keeps its type.
fn typed(scene: &Scene<'_>, index: usize, node: &Node) -> Expr {
    match &*node.kind {
        Kind::Scalar(Scalar::Str, source) => match scene.texts.text(Moment::Entering(index), source) {
            Some(text) => Expr::Structured(Box::new(build::as_typed(text))),
            None => Expr::Const(Value::Null),
        },
        Kind::Scalar(..) => Expr::Const(to_value(node)),
        Kind::Sequence(items) => Expr::List(items.iter().map(|item| typed(scene, index, item)).collect()),
        Kind::Mapping(m) => {
            Expr::Object(m.entries.iter().map(|e| (e.key.value.clone(), typed(scene, index, &e.value))).collect())
        }
    }
}

/// A command to be run by a shell.
fn run(
    scene: &Scene<'_>,
    index: usize,
    command: &Text,
    script: Script,
    env: Vec<(Arc<str>, Expr)>,
    workdir: Option<Expr>,
) -> Step {
    let origin = scene.state_at(index);
    let argument = |range: &Range<usize>| {
        scene.texts.get(Moment::Entering(index), command)?.part(range.clone()).map(Expr::Template)
    };
    let arguments = script.parameters.iter().filter_map(argument).collect();
    let call = CommandCall { script: script.text.into(), arguments, env, workdir };
    Step {
        shape: shape(origin),
        policy: StepPolicy { timeout_ms: Some(DEFAULT_TIMEOUT_MS), ..StepPolicy::default() },
        ..plain(StepKind::Command(Box::new(call)), origin)
    }
}

/// The result of a command, with its output as `output`, and as `json` if the output is JSON.
fn shape(origin: Location) -> Option<Expr> {
    let printed = result_member("stdout", origin)?;
    let json = Expr::Structured(Box::new(printed.clone()));
    Some(Expr::Merge(vec![result(), object([("output", printed), ("json", json)])]))
}

/// A plain `echo` becomes its text.
fn echo(scene: &Scene<'_>, index: usize, command: &Text, words: Vec<Word>) -> Step {
    let moment = Moment::Entering(index);
    let part = |word| match word {
        Word::Text(text) => Some(constant(text)),
        Word::Value(range) => scene.texts.get(moment, command)?.part(range).map(Expr::Template),
    };
    let printed = Expr::Concat(words.into_iter().filter_map(part).collect());
    let outcome = object([
        ("status", constant("success")),
        ("exit_code", Expr::Const(Value::from(0i64))),
        ("stdout", printed.clone()),
        ("stderr", constant("")),
        ("output", printed.clone()),
        ("json", Expr::Structured(Box::new(printed))),
    ]);
    plain(StepKind::Compute(outcome), scene.state_at(index))
}
