//! A state or step whose result hides an input with the same name.

use trefoil_ir::{Flow, StateMachine, StepId, StepKind};
use trefoil_syntax::{Diagnostic, Location, Severity};

use super::replaced::named;
use crate::rule::{Context, Group, Rule, Run};

pub(super) const RULE: Rule = Rule {
    name: "shadowed-name",
    group: Group::Names,
    level: Some(Severity::Error),
    strict: None,
    page: include_str!("shadowed_name.md"),
    run: Run::Declared(run),
};

fn run(cx: &mut Context<'_>) {
    let model = cx.model;
    for &(id, at) in model.steps() {
        let (Some(flow), Some(step)) = (model.program.flow(id), model.program.step(at)) else { continue };
        match &step.kind {
            StepKind::StateMachine(machine) => states(cx, flow, machine, step.origin),
            StepKind::Sequence(steps) => outputs(cx, flow, steps),
            StepKind::Parallel(parallel) => outputs(cx, flow, &parallel.branches),
            _ => {}
        }
    }
}

/// States with the same name as an input.
fn states(cx: &mut Context<'_>, flow: &Flow, machine: &StateMachine, at: Location) {
    for state in &machine.states {
        let Some(field) = flow.intake.fields.iter().find(|f| f.name == state.name) else { continue };
        let at = cx.model.program.step(state.step).map_or(at, |s| s.origin);
        let message = format!("templates refer to this state as `{}`, which hides the input of that name", state.name);
        let d = Diagnostic { severity: Severity::Warning, ..cx.finding(at, message) };
        cx.report(d.label(field.origin, "the input").help("rename one of them"));
    }
}

/// Steps whose results have the names of inputs, which cannot be read afterwards.
fn outputs(cx: &mut Context<'_>, flow: &Flow, steps: &[StepId]) {
    let model = cx.model;
    for step in steps.iter().filter_map(|id| model.program.step(*id)).filter(|step| step.label.is_some()) {
        let Some(key) = step.out.and_then(|out| flow.slots.get(out.index())).map(|slot| &slot.name) else { continue };
        let field = flow.intake.fields.iter().find(|field| field.name == *key);
        let whole = flow.intake.raw.as_ref().and_then(|(_, name)| name.as_ref()).filter(|name| *name == key);
        if field.is_none() && whole.is_none() {
            continue;
        }
        let d = cx.finding(named(model, step.origin, key), format!("the output would hide the input `{key}`"));
        let d = field.into_iter().fold(d, |d, field| d.label(field.origin, "the input"));
        cx.report(d.help(format!("write another `{}` for the step", cx.model.words().kept)));
    }
}
