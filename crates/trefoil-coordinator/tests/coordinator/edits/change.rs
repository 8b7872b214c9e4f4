//! Random edits of a program, like those that a user makes in a file.

use std::sync::Arc;

use serde_json::json;
use testbed::build::{Build, nowhere};
use trefoil_ir::{
    AnswerFormat, CommandCall, ModelChoice, Program, ProgramParts, ProgramSchema, Source, Step, StepId, StepKind,
    StepPolicy, ToolCall, ToolKind, ValueExpression, walk,
};

/// The kind of an edit, and its place.
#[derive(Debug, Clone, Copy)]
pub struct Change {
    pub kind: u8,
    pub at: u32,
    pub other: u32,
}

/// The number of kinds.
pub const KINDS: u8 = 22;

/// An edited program.
pub struct Edited {
    pub program: Arc<Program>,
    pub what: &'static str,
    /// Whether every step keeps its label and its place.
    pub stable: bool,
    /// A renamed label: before, after.
    pub renamed: Option<(Arc<str>, Arc<str>)>,
}

/// Makes the requests of agents differ in more than the name, and those of the passes of a loop as well.
pub fn answered_by_its_model(program: Arc<Program>) -> Arc<Program> {
    let mut program = Program::clone(&program).into_parts();
    for step in &mut program.steps {
        if let StepKind::Model(call) = &mut step.kind {
            call.model = ModelChoice { provider: None, name: call.speaker.clone(), origin: nowhere() };
            if &*call.speaker == "looping"
                && let Some(own) = step.out
            {
                let mut build =
                    Build { slots: (0..=own.0).map(|n| format!("slot{n}").into()).collect(), ..Build::new() };
                call.user = ValueExpression::Template(build.text(&format!("again {{{{slot{}}}}}", own.0)));
            }
        }
    }
    proved(program)
}

/// Makes tools of all kinds, each named as its dialect does: agntz and AEGIS by the name of the tool, SirenSpec by the step.
pub fn of_all_dialects(program: &Arc<Program>) -> Arc<Program> {
    let mut program = Program::clone(program).into_parts();
    for (at, step) in program.steps.iter_mut().enumerate() {
        if let StepKind::Tool(call) = &mut step.kind
            && let Some(label) = &step.label
            && label.starts_with("tool")
            && call.kind == ToolKind::Local
            && &*call.name == "t"
        {
            (call.kind, call.name) = match at % 4 {
                0 => (ToolKind::Http, label.clone()),
                1 => (ToolKind::Python, label.clone()),
                2 => (ToolKind::for_mcp_server("server"), "t".into()),
                _ => (ToolKind::Local, "t".into()),
            };
        }
    }
    proved(program)
}

/// Renames a step, and its tool if that has the name of the step.
fn rename(step: &mut Step, new: Arc<str>) -> Option<Arc<str>> {
    let old = step.label.replace(new.clone())?;
    if let StepKind::Tool(call) = &mut step.kind
        && matches!(call.kind, ToolKind::Http | ToolKind::Python)
    {
        call.name = new;
    }
    Some(old)
}

/// Adds steps at the end that read what the run has used and its id.
pub fn reading_usage_and_id(program: &Arc<Program>) -> Arc<Program> {
    let mut program = Program::clone(program).into_parts();
    let body = program.flows[program.entry].body;
    let call = |word: &str| {
        let mut text = Build::new().text(&format!("{word} {{{{a.total_tokens}}}} in {{{{b}}}}"));
        text.sources = vec![Source::Spent(Vec::new()), Source::RunId];
        let mut call = Build::new().model_call("plain", "");
        (call.model.name, call.user) = ("plain".into(), ValueExpression::Template(text));
        StepKind::Model(Box::new(call))
    };
    let arguments = vec![ValueExpression::Read(Source::RunId)];
    let command = CommandCall { script: "echo \"id ${1}\"".into(), arguments, env: vec![], workdir: None };
    let mut dear = Build::new().cond("{{a.total_tokens}} > 12");
    dear.sources = vec![Source::Spent(Vec::new())];
    for (label, kind, when) in [
        ("usage", call("used"), None),
        ("id", StepKind::Command(Box::new(command)), None),
        ("dear", call("dear"), Some(dear)),
    ] {
        let step = Step {
            kind,
            label: Some(label.into()),
            origin: nowhere(),
            when,
            out: None,
            shape: None,
            policy: StepPolicy::default(),
        };
        let new = program.steps.push(step);
        steps_of(&mut program, body, |steps| steps.push(new));
    }
    proved(program)
}

fn proved(program: ProgramParts) -> Arc<Program> {
    Arc::new(Program::new(program).unwrap())
}

/// Applies one edit after the other.
pub fn changes(before: &Arc<Program>, (first, second): (Change, Option<Change>)) -> Edited {
    let edited = change(before, first);
    let Some(second) = second else { return edited };
    let both = change(&edited.program, second);
    // Only one of them can be followed by its name.
    Edited { what: "two edits", renamed: None, stable: edited.stable && both.stable, ..both }
}

/// Applies the edit, or one of the next kind that is possible in the program.
pub fn change(before: &Arc<Program>, change: Change) -> Edited {
    (0..KINDS).find_map(|next| try_change(before, Change { kind: (change.kind + next) % KINDS, ..change })).unwrap()
}

fn try_change(before: &Arc<Program>, change: Change) -> Option<Edited> {
    let mut program = Program::clone(before).into_parts();
    let mut renamed = None;
    let p = &mut program;
    let what = match change.kind {
        0 => {
            model(p, change.at)?.system = Some(ValueExpression::Const(format!("Be {}.", change.other % 5).into()));
            "system"
        }
        1 => {
            let text = Build::new().text("something else");
            model(p, change.at)?.user = ValueExpression::Template(text);
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
            let copy = Step { label: Some(unused(p, "copy")), out: None, ..p.steps[model].clone() };
            let new = p.steps.push(copy);
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
            let new = unused(p, "other");
            let old = rename(&mut p.steps[id], new.clone())?;
            renamed = Some((old, new));
            "renamed"
        }
        8 => {
            let id = pick(p, change.at, |step| step.when.is_some())?;
            p.steps[id].when = Some(Build::new().cond(constant(change.other)));
            "when"
        }
        9 => {
            let id = pick(p, change.at, |step| matches!(step.kind, StepKind::Branch { .. }))?;
            if let StepKind::Branch { arms, .. } = &mut p.steps[id].kind {
                arms[0].when = Build::new().cond(constant(change.other));
            }
            "condition"
        }
        10 => {
            let schema = json!({"type": "object", "properties": {"said": {"type": "string"}}});
            let json = trefoil_template::Value::from_json(schema);
            let schema = p.schemas.push(ProgramSchema { name: "said".into(), json, origin: nowhere() });
            model(p, change.at)?.format = AnswerFormat::Json(schema);
            "schema"
        }
        11 => {
            let id = pick(p, change.at, |step| matches!(step.kind, StepKind::Command(_)))?;
            act(&mut p.steps[id]);
            "command"
        }
        12 => {
            let id = pick(p, change.at, |step| matches!(step.kind, StepKind::Tool(_)))?;
            act(&mut p.steps[id]);
            "tool"
        }
        13 => {
            let id = pick(p, change.at, |step| acts(step) && step.label.is_some())?;
            act(&mut p.steps[id]);
            let new = unused(p, "other");
            rename(&mut p.steps[id], new);
            "renamed and changed"
        }
        14 => {
            // A step is put into a group, and perhaps changed.
            let sequence = pick(p, change.at, |step| matches!(&step.kind, StepKind::Sequence(s) if !s.is_empty()))?;
            let group = Step { label: Some(unused(p, "group")), out: None, ..empty() };
            let new = p.steps.push(group);
            let (at, mut moved) = (change.other as usize, None);
            steps_of(p, sequence, |steps| {
                let at = at % steps.len();
                moved = Some(std::mem::replace(&mut steps[at], new));
            });
            let moved = moved?;
            steps_of(p, new, |steps| steps.push(moved));
            if change.other & 64 != 0 {
                act(&mut p.steps[moved]);
            }
            "grouped"
        }
        15 => {
            let group = |step: &Step| {
                let kind = matches!(step.kind, StepKind::Call(_) | StepKind::Attempts(_) | StepKind::Conversation(_));
                (kind || matches!(step.kind, StepKind::ForEach(_))) && step.label.is_some()
            };
            let id = pick(p, change.at, group)?;
            p.steps[id].label = Some(unused(p, "group"));
            "group renamed"
        }
        16 => {
            let from = pick(p, change.at, |step| matches!(&step.kind, StepKind::Sequence(s) if s.len() > 1))?;
            let mut moved = None;
            let at = change.other as usize;
            steps_of(p, from, |steps| moved = Some(steps.remove(at % steps.len())));
            let moved = moved?;
            let to = pick(p, change.other, |step| matches!(step.kind, StepKind::Sequence(_)))?;
            if inside(p, moved, to) {
                return None;
            }
            steps_of(p, to, |steps| steps.insert(at / 7 % (steps.len() + 1), moved));
            "moved elsewhere"
        }
        17 => {
            // A second step with the same effect.
            let sequence = pick(p, change.at, |step| matches!(step.kind, StepKind::Sequence(_)))?;
            let effect = pick(p, change.other, acts)?;
            let mut copy = Step { out: None, ..p.steps[effect].clone() };
            let new = unused(p, "copy");
            rename(&mut copy, new);
            let new = p.steps.push(copy);
            let at = change.other as usize;
            steps_of(p, sequence, |steps| steps.insert(at % (steps.len() + 1), new));
            "effect copied"
        }
        18 => {
            // A step gets a new name, and another one gets its old name.
            let one = pick(p, change.at, |step| acts(step) && step.label.is_some())?;
            let other = pick(p, change.other, |step| acts(step) && step.label.is_some())?;
            let new = unused(p, "other");
            let old = rename(&mut p.steps[one], new)?;
            if one != other {
                rename(&mut p.steps[other], old);
            }
            "names moved on"
        }
        20 => {
            // An effect is renamed and changed, and a step of another kind next to it gets its name.
            let named = |step: &StepId| acts(&p.steps[*step]) && p.steps[*step].label.is_some();
            let sequence =
                pick(p, change.at, |step| matches!(&step.kind, StepKind::Sequence(steps) if steps.iter().any(named)))?;
            let StepKind::Sequence(steps) = &p.steps[sequence].kind else { return None };
            let all: Vec<StepId> = steps.iter().copied().filter(named).collect();
            let effect = all[change.other as usize % all.len()];
            act(&mut p.steps[effect]);
            let new = unused(p, "other");
            let old = rename(&mut p.steps[effect], new)?;
            let other = fresh(p, change.other);
            let step = &mut p.steps[other];
            if change.other & 8 != 0 {
                let arguments = ValueExpression::Object(vec![("method".into(), ValueExpression::Const("GET".into()))]);
                step.kind = StepKind::Tool(Box::new(ToolCall { name: old.clone(), kind: ToolKind::Http, arguments }));
            }
            step.label = Some(old);
            let at = change.other as usize / 16;
            steps_of(p, sequence, |steps| steps.insert(at % (steps.len() + 1), other));
            "name given away"
        }
        21 => {
            // An effect is changed, and takes the name of another one, which is deleted.
            let named = |step: &Step| acts(step) && step.label.is_some();
            let of = |id: &StepId| named(&p.steps[*id]);
            let sequence =
                pick(p, change.at, |step| matches!(&step.kind, StepKind::Sequence(steps) if steps.iter().any(of)))?;
            let StepKind::Sequence(steps) = &p.steps[sequence].kind else { return None };
            let other = steps.iter().copied().rfind(of)?;
            let name = p.steps[other].label.clone()?;
            let effect = pick(p, change.other, |step| named(step) && step.label.as_ref() != Some(&name))?;
            act(&mut p.steps[effect]);
            rename(&mut p.steps[effect], name);
            steps_of(p, sequence, |steps| steps.retain(|step| *step != other));
            "name taken"
        }
        _ => {
            // One more answer is accepted.
            let id = pick(p, change.at, |step| matches!(step.kind, StepKind::StateMachine(_)))?;
            let StepKind::StateMachine(machine) = &mut p.steps[id].kind else { return None };
            let gate = machine.states.iter_mut().find(|state| state.name.starts_with("GATE"))?;
            let when = gate.transitions.first_mut()?.when.as_mut()?;
            let sources = when.sources.clone();
            *when = Build::new().cond("{{a}} == \"sure\" || {{a}} == \"fine\"");
            when.sources = vec![sources.first()?.clone(); when.sources.len()];
            "accepted answers"
        }
    };
    let stable = matches!(change.kind, 0..=2 | 8..=12 | 19);
    // A copy may read slots that its new flow does not have.
    trefoil_ir::validation::validate_program(&program).is_empty().then_some(())?;
    let program = Program::new(program).unwrap();
    Some(Edited { program: Arc::new(program), what, stable, renamed })
}

fn acts(step: &Step) -> bool {
    matches!(step.kind, StepKind::Tool(_) | StepKind::Command(_))
}

/// Changes what a tool or a command does.
fn act(step: &mut Step) {
    match &mut step.kind {
        StepKind::Tool(call) => {
            call.arguments = ValueExpression::Object(vec![("a".into(), ValueExpression::Const("other".into()))])
        }
        StepKind::Command(call) => call.script = "echo \"other ${1}\"".into(),
        _ => {}
    }
}

/// A label that no step has.
fn unused(program: &ProgramParts, name: &str) -> Arc<str> {
    let is_free = |label: &String| program.steps.iter().all(|step| step.label.as_deref() != Some(label.as_str()));
    (0..).map(|n| format!("{name}{n}")).find(is_free).unwrap().into()
}

fn empty() -> Step {
    Step {
        kind: StepKind::Sequence(Vec::new()),
        label: None,
        origin: nowhere(),
        when: None,
        out: None,
        shape: None,
        policy: StepPolicy::default(),
    }
}

/// Whether a step is another one, or below it.
fn inside(program: &ProgramParts, above: StepId, wanted: StepId) -> bool {
    above == wanted || walk::children_of(&program.steps[above]).iter().any(|step| inside(program, *step, wanted))
}

fn constant(other: u32) -> &'static str {
    if other.is_multiple_of(2) { "\"a\" == \"a\"" } else { "\"a\" == \"b\"" }
}

/// Picks one of the steps that a run can reach.
fn pick(program: &ProgramParts, at: u32, is: impl Fn(&Step) -> bool) -> Option<StepId> {
    let program = Program::new(program.clone()).ok()?;
    let mut all: Vec<StepId> =
        walk::reachable_steps(&program, program.entry).into_iter().map(|(_, step)| step).collect();
    all.retain(|id| is(&program.steps[*id]));
    (!all.is_empty()).then(|| all[at as usize % all.len()])
}

fn model(program: &mut ProgramParts, at: u32) -> Option<&mut trefoil_ir::ModelCall> {
    let id = pick(program, at, |step| matches!(step.kind, StepKind::Model(_)))?;
    let StepKind::Model(call) = &mut program.steps[id].kind else { return None };
    Some(call)
}

fn steps_of(program: &mut ProgramParts, id: StepId, edit: impl FnOnce(&mut Vec<StepId>)) {
    let StepKind::Sequence(steps) = &mut program.steps[id].kind else { panic!("not a sequence") };
    edit(steps);
}

/// A new step that nothing reads.
fn fresh(program: &mut ProgramParts, other: u32) -> StepId {
    let mut call = Build::new().model_call("plain", &format!("new {}", other % 3));
    call.model.name = "plain".into();
    let label = Some(unused(program, "added"));
    program.steps.push(Step { kind: StepKind::Model(Box::new(call)), label, ..empty() })
}
