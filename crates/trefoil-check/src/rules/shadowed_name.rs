//! A state or step whose result hides an input with the same name.

use trefoil_ir::{FlowDefinition, StateMachine, StepId, StepKind};
use trefoil_syntax::{Diagnostic, FindingSeverity};

use super::value_replacements::result_name_location;
use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};

pub(super) const RULE: Rule = Rule {
    name: "shadowed-name",
    group: RuleGroup::Names,
    level: Some(FindingSeverity::Error),
    strict: None,
    page: include_str!("shadowed_name.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
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
fn states(cx: &mut RuleContext<'_>, flow: &FlowDefinition, machine: &StateMachine) {
    for state in &machine.states {
        let Some(field) = flow.intake.fields.iter().find(|f| f.name == state.name) else { continue };
        let at = cx.model.program.steps[state.step].origin;
        let message = format!("templates refer to this state as `{}`, which hides the input of that name", state.name);
        let d = Diagnostic { severity: FindingSeverity::Warning, ..cx.new_finding(at, message) };
        cx.report_finding(d.with_label(field.origin, "the input").with_help("rename one of them"));
    }
}

/// Steps whose results have the names of inputs, which cannot be read afterwards.
fn outputs(cx: &mut RuleContext<'_>, flow: &FlowDefinition, steps: &[StepId]) {
    let model = cx.model;
    for id in steps {
        let step = &model.program.steps[*id];
        let (Some(out), Some(_)) = (step.out, &step.label) else { continue };
        let key = &flow.slots[out].name;
        let field = flow.intake.fields.iter().find(|field| field.name == *key);
        let is_whole_input = matches!(&flow.intake.raw, Some((_, Some(name))) if name == key);
        if field.is_none() && !is_whole_input {
            continue;
        }
        let mut d = cx.new_finding(
            result_name_location(model, step.origin, key),
            format!("the output would hide the input `{key}`"),
        );
        if let Some(field) = field {
            d = d.with_label(field.origin, "the input");
        }
        cx.report_finding(d.with_help(format!("write another `{}` for the step", cx.model.format_words().kept)));
    }
}
