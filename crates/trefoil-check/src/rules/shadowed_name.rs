//! A state or step whose result hides an input with the same name.

use trefoil_ir::{Flow, StateMachine, StepId, StepKind};
use trefoil_syntax::{Diagnostic, Severity};

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
    for (flow, _, step) in model.all_steps() {
        let flow = &model.program.flows[flow];
        match &step.kind {
            StepKind::StateMachine(machine) => states(cx, flow, machine),
            StepKind::Sequence(steps) => outputs(cx, flow, steps),
            StepKind::Parallel(parallel) => outputs(cx, flow, &parallel.branches),
            _ => {}
        }
    }
}

/// States with the same name as an input.
fn states(cx: &mut Context<'_>, flow: &Flow, machine: &StateMachine) {
    for state in &machine.states {
        let Some(field) = flow.intake.fields.iter().find(|f| f.name == state.name) else { continue };
        let at = cx.model.program.steps[state.step].origin;
        let message = format!("templates refer to this state as `{}`, which hides the input of that name", state.name);
        let d = Diagnostic { severity: Severity::Warning, ..cx.finding(at, message) };
        cx.report(d.label(field.origin, "the input").help("rename one of them"));
    }
}

/// Steps whose results have the names of inputs, which cannot be read afterwards.
fn outputs(cx: &mut Context<'_>, flow: &Flow, steps: &[StepId]) {
    let model = cx.model;
    for step in steps.iter().map(|id| &model.program.steps[*id]).filter(|step| step.label.is_some()) {
        let Some(key) = step.out.map(|out| &flow.slots[out].name) else { continue };
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
