//! Random edits of a program, like those that a user makes in a file.

use std::sync::Arc;

use serde_json::json;
use testbed::build::{Build, nowhere};
use trefoil_ir::{
    AnswerFormat, Expr, ModelChoice, Program, Schema, SchemaId, Step, StepId, StepKind, StepPolicy, walk,
};

/// The kind of an edit, and its place.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    pub kind: u8,
    pub at: u32,
    pub other: u32,
}

/// The number of kinds.
pub const KINDS: u8 = 12;

/// An edited program.
pub struct Edited {
    pub program: Arc<Program>,
    pub what: &'static str,
    /// A renamed label: before, after.
    pub renamed: Option<(Arc<str>, Arc<str>)>,
}

/// Makes the requests of agents differ in more than the name, and those of the passes of a loop as well.
pub fn answered_by_its_model(program: Arc<Program>) -> Arc<Program> {
    let mut program = Program::clone(&program);
    for step in &mut program.steps {
        if let StepKind::Model(call) = &mut step.kind {
            call.model = ModelChoice { provider: None, name: call.speaker.clone(), origin: nowhere() };
            if &*call.speaker == "looping"
                && let Some(own) = step.out
            {
                let mut build =
                    Build { slots: (0..=own.0).map(|n| format!("slot{n}").into()).collect(), ..Build::new() };
                call.user = Expr::Template(build.text(&format!("again {{{{slot{}}}}}", own.0)));
            }
        }
    }
    Arc::new(program)
}

/// Applies the edit, or one of the next kind that is possible in the program.
pub fn change(before: &Arc<Program>, change: Change) -> Edited {
    (0..KINDS).find_map(|next| try_change(before, Change { kind: (change.kind + next) % KINDS, ..change })).unwrap()
}

fn try_change(before: &Arc<Program>, change: Change) -> Option<Edited> {
    let mut program = Program::clone(before);
    let mut renamed = None;
    let p = &mut program;
    let what = match change.kind {
        0 => {
            model(p, change.at)?.system = Some(Expr::Const(format!("Be {}.", change.other % 5).into()));
            "system"
        }
        1 => {
            let text = Build::new().text("something else");
            model(p, change.at)?.user = Expr::Template(text);
            "prompt"
        }
        2 => {
            model(p, change.at)?.parameters.temperature = Some(0.25);
            "parameter"
        }
        3 => {
            let sequence = pick(p, change.at, |step| matches!(step.kind, StepKind::Sequence(_)))?;
            let new = fresh(p, change.other);
            let at = change.other as usize;
            steps_of(p, sequence, |steps| steps.insert(at % (steps.len() + 1), new));
            "added"
        }
        4 => {
            // A second step with the same request.
            let sequence = pick(p, change.at, |step| matches!(step.kind, StepKind::Sequence(_)))?;
            let model = pick(p, change.other, |step| matches!(step.kind, StepKind::Model(_)))?;
            let copy = Step { label: Some("copy".into()), out: None, ..p.steps[model.index()].clone() };
            p.steps.push(copy);
            let new = StepId(p.steps.len() as u32 - 1);
            let at = change.other as usize;
            steps_of(p, sequence, |steps| steps.insert(at % (steps.len() + 1), new));
            "copied"
        }
        5 => {
            let sequence = pick(p, change.at, |step| matches!(&step.kind, StepKind::Sequence(s) if s.len() > 1))?;
            let at = change.other as usize;
            steps_of(p, sequence, |steps| {
                steps.remove(at % steps.len());
            });
            "removed"
        }
        6 => {
            let sequence = pick(p, change.at, |step| matches!(&step.kind, StepKind::Sequence(s) if s.len() > 1))?;
            let at = change.other as usize;
            steps_of(p, sequence, |steps| {
                let len = steps.len();
                steps.swap(at % len, (at + 1) % len);
            });
            "moved"
        }
        7 => {
            let effect =
                |step: &Step| matches!(step.kind, StepKind::Model(_) | StepKind::Tool(_) | StepKind::Command(_));
            let id = pick(p, change.at, |step| effect(step) && step.label.is_some())?;
            let old = p.steps[id.index()].label.replace("other name".into())?;
            renamed = Some((old, "other name".into()));
            "renamed"
        }
        8 => {
            let id = pick(p, change.at, |step| step.when.is_some())?;
            p.steps[id.index()].when = Some(Build::new().cond(constant(change.other)));
            "when"
        }
        9 => {
            let id = pick(p, change.at, |step| matches!(step.kind, StepKind::Branch { .. }))?;
            if let StepKind::Branch { arms, .. } = &mut p.steps[id.index()].kind {
                arms[0].when = Build::new().cond(constant(change.other));
            }
            "condition"
        }
        10 => {
            let schema = json!({"type": "object", "properties": {"said": {"type": "string"}}});
            p.schemas.push(Schema {
                name: "said".into(),
                json: trefoil_template::Value::from_json(schema),
                origin: nowhere(),
            });
            let schema = SchemaId(p.schemas.len() as u32 - 1);
            model(p, change.at)?.format = AnswerFormat::Json(schema);
            "schema"
        }
        _ => {
            let id = pick(p, change.at, |step| matches!(step.kind, StepKind::Command(_)))?;
            if let StepKind::Command(call) = &mut p.steps[id.index()].kind {
                call.script = "echo \"other ${1}\"".into();
            }
            "command"
        }
    };
    // A copy may read slots that its new flow does not have.
    trefoil_ir::validate::validate(&program).is_empty().then_some(())?;
    Some(Edited { program: Arc::new(program), what, renamed })
}

fn constant(other: u32) -> &'static str {
    if other.is_multiple_of(2) { "\"a\" == \"a\"" } else { "\"a\" == \"b\"" }
}

/// Picks one of the steps that a run can reach.
fn pick(program: &Program, at: u32, is: impl Fn(&Step) -> bool) -> Option<StepId> {
    let mut all: Vec<StepId> = walk::reachable(program, program.entry).into_iter().map(|(_, step)| step).collect();
    all.retain(|id| is(&program.steps[id.index()]));
    (!all.is_empty()).then(|| all[at as usize % all.len()])
}

fn model(program: &mut Program, at: u32) -> Option<&mut trefoil_ir::ModelCall> {
    let id = pick(program, at, |step| matches!(step.kind, StepKind::Model(_)))?;
    let StepKind::Model(call) = &mut program.steps[id.index()].kind else { return None };
    Some(call)
}

fn steps_of(program: &mut Program, id: StepId, edit: impl FnOnce(&mut Vec<StepId>)) {
    let StepKind::Sequence(steps) = &mut program.steps[id.index()].kind else { panic!("not a sequence") };
    edit(steps);
}

/// A new step that nothing reads.
fn fresh(program: &mut Program, other: u32) -> StepId {
    let mut call = Build::new().model_call("plain", &format!("new {}", other % 3));
    call.model.name = "plain".into();
    program.steps.push(Step {
        kind: StepKind::Model(Box::new(call)),
        label: Some("added".into()),
        origin: nowhere(),
        when: None,
        out: None,
        shape: None,
        policy: StepPolicy::default(),
    });
    StepId(program.steps.len() as u32 - 1)
}
