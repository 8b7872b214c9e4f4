//! A System state: a command, a plain `echo`, or an update of the Blackboard (decisions E7, E11).

use std::sync::Arc;

use trefoil_ir::{CommandCall, Cond, Expr, Position, Refused, Source, Step, StepKind, StepPolicy};
use trefoil_syntax::yaml::{Kind, Node, Scalar, Text};
use trefoil_syntax::{Diagnostic, Location, suggest};
use trefoil_template::{Comparison, Policy, Value};

use crate::aegis::lower::Lowering;
use crate::aegis::lower::condition::{Test, compare};
use crate::aegis::lower::names::{Names, Place, RESERVED, Scene, Shape};
use crate::aegis::lower::pieces::{self, compute, constant, object, result, result_member};
use crate::aegis::lower::shell::{self, Piece};
use crate::aegis::manifest::states::system::{Action, SystemState};
use crate::build::{self, plain};
use crate::read::{respelt, to_value};

const DEFAULT_TIMEOUT_MS: u64 = 600_000;

/// Commands of the original that nobody else has.
const FOREIGN: &[&str] = &["repository_diff", "repository_commit", "repository_land"];

/// Words that examples of the original use as commands and that never were any.
const NEVER_BUILT_IN: &[&str] = &["update_context", "finalize", "finalize_success", "finalize_failure"];

/// Lowers a System state.
pub(super) fn lower(lowering: &mut Lowering<'_>, scene: &Scene<'_, '_>, index: usize, state: &SystemState) -> Step {
    let origin = scene.state_at(index);
    let mut resolve = scene.here(Place::Entering(index), Position::Data);
    let workdir = state.workdir.as_ref().and_then(|w| pieces::text(scene.reader, w, &mut resolve));
    match &state.action {
        Some(Action::Update(entries)) => update(lowering, scene, index, entries),
        Some(Action::Command { command, env }) => run(scene, index, command, env, workdir),
        None => plain(StepKind::Compute(constant("")), origin),
    }
}

/// Whether a command is one word for an update of the Blackboard, put together by somebody else: `blackboard.write`.
fn would_update(word: &str) -> bool {
    const VERBS: &[&str] = &["set", "update", "write", "put", "save", "store", "patch", "merge", "add", "append"];
    const NOUNS: &[&str] = &["blackboard", "context"];
    let parts = || word.split(['_', '-', '.', ':']);
    parts().count() == 2 && parts().any(|p| VERBS.contains(&p)) && parts().any(|p| NOUNS.contains(&p))
}

/// A terminal System state with a non-zero exit code fails the run (decision E9).
pub(in crate::aegis::lower) fn fails_when(scene: &Scene<'_, '_>, index: usize) -> Option<Cond> {
    if *scene.names.shape(index) != Shape::Command {
        return None;
    }
    let mut test = Test::default();
    let source = Source::Member(scene.names.slot(index), vec!["exit_code".into()]);
    let code = test.value(&[scene.names.name(index), "exit_code"], source);
    Some(test.finish(compare(code, Comparison::NotEqual, 0i64), scene.state_at(index), "exit_code_non_zero".into()))
}

/// `update_blackboard`: all values are read before any is written.
fn update(lowering: &mut Lowering<'_>, scene: &Scene<'_, '_>, index: usize, entries: &[(Text, Node)]) -> Step {
    let origin = scene.state_at(index);
    for (key, _) in entries {
        check_key(scene, scene.names, key);
    }
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

fn check_key(scene: &Scene<'_, '_>, names: &Names, key: &Text) {
    let bare = ["blackboard.", "workflow.context."].iter().find_map(|prefix| key.value.strip_prefix(prefix));
    if let Some(bare) = bare.filter(|bare| !bare.is_empty()) {
        let message = format!("this writes a key called `{}`, and no `{bare}`", key.value);
        let d = Diagnostic::warning("invalid-name", scene.reader.at(key.span), message);
        scene.reader.report(d.help(format!("write `{bare}`: keys of `env` are those of the Blackboard")));
    }
    let taken = RESERVED.contains(&&*key.value) || matches!(&*key.value, "intent" | "tenant_id" | "attachments");
    if taken || names.index(&key.value).is_some() {
        let what = if taken { "a name that templates have" } else { "the result of a state" };
        let d = Diagnostic::error(
            "invalid-name",
            scene.reader.at(key.span),
            format!("`update_blackboard` cannot write `{}`: it is {what}", key.value),
        );
        scene.reader.report(d.help("choose another key"));
    }
}

/// A value for the Blackboard: JSON stays JSON, a lone placeholder keeps its type.
fn typed(scene: &Scene<'_, '_>, index: usize, node: &Node) -> Expr {
    match &*node.kind {
        Kind::Scalar(Scalar::Str, source) => {
            let resolve = &mut scene.here(Place::Entering(index), Position::Data);
            crate::lookalike::whole(scene.reader, source, resolve);
            match build::typed_expr(scene.reader, source, &Policy::AEGIS, resolve) {
                Some(value) => Expr::Structured(Box::new(value)),
                None => Expr::Const(Value::Null),
            }
        }
        Kind::Scalar(..) => Expr::Const(to_value(node)),
        Kind::Sequence(items) => Expr::List(items.iter().map(|item| typed(scene, index, item)).collect()),
        Kind::Mapping(m) => {
            Expr::Object(m.entries.iter().map(|e| (e.key.value.clone(), typed(scene, index, &e.value))).collect())
        }
    }
}

fn run(scene: &Scene<'_, '_>, index: usize, command: &Text, env: &[(Text, Text)], workdir: Option<Expr>) -> Step {
    let reader = scene.reader;
    let origin = scene.state_at(index);
    let mut data = scene.here(Place::Entering(index), Position::Data);
    let mut resolve = scene.here(Place::Entering(index), Position::Command);
    let env: Vec<(Arc<str>, Expr)> = env
        .iter()
        .filter_map(|(name, value)| Some((name.value.clone(), pieces::text(reader, value, &mut data)?)))
        .collect();
    let nothing = || plain(StepKind::Compute(constant("")), origin);
    // The whole text is parsed for its mistakes; its parts become parameters.
    if build::text(reader, command, &Policy::AEGIS, &mut resolve).is_none() {
        return nothing();
    }
    let word = command.value.trim();
    if FOREIGN.contains(&word) {
        let why = "it works on a server's repository";
        let message = format!("`{word}` cannot be run: {why}");
        reader.report(
            Diagnostic::warning("refused", reader.at(command.span), message)
                .help("you can check and draw this file, but not run it"),
        );
        let refused = Refused { feature: format!("the command `{word}`").into(), message: why.into() };
        return plain(StepKind::Refused(refused), origin);
    }
    if let Some(words) = shell::echo_words(&command.value) {
        return echo(scene, index, command, words);
    }
    // A path names a file of one's own.
    let near = suggest::near(word, ["update_blackboard"]).filter(|_| !word.contains('/'));
    let invented = || suggest::Near { name: "update_blackboard", distance: usize::MAX, sure: false };
    if let Some(near) = near.or_else(|| (would_update(word) && !word.contains('/')).then(invented)) {
        let message = format!("`{word}` is no built-in command: a shell will look for a program of that name");
        let d = Diagnostic::warning("unknown-reference", reader.at(command.span), message);
        let d = d.help(format!("did you mean `{}`?", near.name));
        reader.report(respelt(d, reader.at(command.span), command, near));
    } else if NEVER_BUILT_IN.contains(&word) {
        let message = format!("`{word}` is no built-in command: a shell will look for a program of that name");
        let d = Diagnostic::warning("unknown-reference", reader.at(command.span), message);
        reader.report(d.help("write `update_blackboard` to change the Blackboard, or `echo` to do nothing"));
    }
    let pieces = shell::pieces(&command.value);
    let (script, mistakes) = shell::script(&pieces);
    for mistake in mistakes {
        let at = reader.at(command.source(mistake.range.start as u32..mistake.range.end as u32));
        reader.report(
            Diagnostic::error("unsafe-placeholder", at, mistake.message)
                .help("put the value into `env` under a name and write \"$NAME\" in the command"),
        );
    }
    // Quotes within `${...}` and behind a `$` have rules of their own, which differ from shell to shell.
    let own_rules = ["${", "$'"].iter().any(|sign| command.value.contains(sign));
    if let Some(quote) = script.open.filter(|_| !own_rules) {
        let d = Diagnostic::warning("command-syntax", reader.at(command.span), format!("a `{quote}` is never closed"));
        reader
            .report(d.help("the shell refuses the command; close it, or write `\\` before one that is meant as it is"));
    }
    if let Some(range) = &script.program_from_data {
        let at = reader.at(command.source(range.start as u32..range.end as u32));
        reader.report(
            Diagnostic::warning("command-from-data", at, "which program runs is decided by data")
                .help("the value is taken as the name of one program, without arguments"),
        );
    }
    let arguments = script
        .parameters
        .iter()
        .filter_map(|range| build::text_part(reader, command, range.clone(), &Policy::AEGIS, &mut resolve))
        .map(Expr::Template)
        .collect();
    // Without placeholders the text still has its template escapes.
    let text = match pieces.as_slice() {
        [Piece::Text(text)] => text.as_str().into(),
        _ => script.text.into(),
    };
    let call = CommandCall { script: text, arguments, env, workdir };
    Step {
        shape: shape(origin),
        policy: StepPolicy { timeout_ms: Some(DEFAULT_TIMEOUT_MS), ..StepPolicy::default() },
        ..plain(StepKind::Command(Box::new(call)), origin)
    }
}

/// What the command answered, with an `output`: what it printed; and beside it the same as JSON where it is that.
fn shape(origin: Location) -> Option<Expr> {
    let printed = result_member("stdout", origin)?;
    let json = Expr::Structured(Box::new(printed.clone()));
    Some(Expr::Merge(vec![result(), object([("output", printed), ("json", json)])]))
}

/// A plain `echo` is its text.
fn echo(scene: &Scene<'_, '_>, index: usize, command: &Text, words: Vec<shell::Word>) -> Step {
    let mut resolve = scene.here(Place::Entering(index), Position::Command);
    let parts: Vec<Expr> = words
        .into_iter()
        .filter_map(|word| match word {
            shell::Word::Text(text) => Some(constant(text)),
            shell::Word::Value(range) => {
                build::text_part(scene.reader, command, range, &Policy::AEGIS, &mut resolve).map(Expr::Template)
            }
        })
        .collect();
    let printed = Expr::Concat(parts);
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
