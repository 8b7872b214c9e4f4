//! A state whose outcome may match no transition.

use trefoil_ir::{State, Takes};
use trefoil_syntax::Severity;
use trefoil_template::TransitionWords;

use crate::rule::{Context, Group, Rule, Run};

pub(super) const RULE: Rule = Rule {
    name: "missing-transition",
    group: Group::Flow,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("missing_transition.md"),
    run: Run::Declared(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    let Some(words) = cx.model.words().transitions else { return };
    let [always, success, failure] = [words.always, words.success, words.failure].map(|word| words.written(word));
    for (machine, exits) in cx.model.machines() {
        for (state, exits) in machine.states.iter().zip(exits) {
            if !cx.model.reach().is_alive(state.step) {
                continue;
            }
            let step = &program.steps[state.step];
            // The transitions of a pipeline are not written; it fails if a step fails.
            let Some(last) = state.transitions.last().map(|t| t.origin).filter(|at| *at != step.origin) else { continue };
            let (message, help) = match exits.gap.as_ref().filter(|g| !g.numeric) {
                Some(gap) if gap.value.is_empty() && state.transitions.iter().any(|t| t.takes != Takes::Failure) => (
                    format!("every transition of `{}` has a condition that may be false, so the run can fail here", state.name),
                    format!("add a last transition with `{always}`"),
                ),
                Some(gap) if gap.value.is_empty() => (
                    format!("`{}` has no transition for success, so the run would fail", state.name),
                    format!("add a transition with `{success}` or `{}`", words.always),
                ),
                Some(gap) => (
                    format!("no transition of `{}` matches {}, so the run would fail", state.name, gap.value),
                    format!("add a last transition with `{always}`"),
                ),
                None if exits.failure_open && names_success(state, words) => (
                    format!("`{}` has no transition for failure, so the run would fail", state.name),
                    format!(
                        "add a transition with `{failure}`, or if that is intended, use `{}` instead of `{}`",
                        words.always, words.success
                    ),
                ),
                None => continue,
            };
            cx.report(cx.finding(step.origin, message).label(last, "the last transition").help(help));
        }
    }
}

/// A condition that names success suggests that failures were considered.
fn names_success(state: &State, words: &TransitionWords) -> bool {
    state.transitions.iter().any(|t| *t.text == *words.success)
}
