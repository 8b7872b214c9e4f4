//! A state whose outcome may match no transition.

use trefoil_ir::{MatchedOutcome, WorkflowState};
use trefoil_syntax::FindingSeverity;
use trefoil_template::TransitionWords;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::states::StateExits;

pub(super) const RULE: Rule = Rule {
    name: "missing-transition",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("missing_transition.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
    // A format without states has no words for transitions.
    let Some(words) = cx.model.format_words().transitions else { return };
    for (machine, machine_exits) in cx.model.state_machines() {
        for (state, exits) in machine.states.iter().zip(machine_exits) {
            check_state(cx, words, state, exits);
        }
    }
}

fn check_state(cx: &mut RuleContext<'_>, words: &TransitionWords, state: &WorkflowState, exits: &StateExits) {
    if !cx.model.reach_analysis().is_alive(state.step) {
        return;
    }
    let step = &cx.model.program.steps[state.step];
    let Some(last) = state.transitions.last() else { return };
    // The transitions of a pipeline are not in the manifest. The pipeline fails if a step fails.
    if last.origin == step.origin {
        return;
    }
    let Some((message, help)) = missing_outcome(words, state, exits) else { return };
    let finding = cx.new_finding(step.origin, message).with_label(last.origin, "the last transition");
    cx.report_finding(finding.with_help(help));
}

/// The message and the advice about an outcome of a state that no transition matches.
fn missing_outcome(words: &TransitionWords, state: &WorkflowState, exits: &StateExits) -> Option<(String, String)> {
    let name = &state.name;
    let add_unconditional = format!("add a last transition with `{}`", words.condition_line(words.always));
    match &exits.gap {
        // Gaps between numbers are reported by the rule `score-gap`.
        Some(gap) if !gap.numeric && !gap.value.is_empty() => {
            let message = format!("no transition of `{name}` matches {}, so the run would fail", gap.value);
            return Some((message, add_unconditional));
        }
        // Nothing is known about the value: any success may have no transition.
        Some(gap) if !gap.numeric => {
            if state.transitions.iter().any(|t| t.takes != MatchedOutcome::Failure) {
                let message =
                    format!("every transition of `{name}` has a condition that may be false, so the run can fail here");
                return Some((message, add_unconditional));
            }
            let message = format!("`{name}` has no transition for success, so the run would fail");
            let success = words.condition_line(words.success);
            return Some((message, format!("add a transition with `{success}` or `{}`", words.always)));
        }
        _ => {}
    }
    if !exits.failure_open || !names_success(state, words) {
        return None;
    }
    let message = format!("`{name}` has no transition for failure, so the run would fail");
    let help = format!(
        "add a transition with `{}`, or if that is intended, use `{}` instead of `{}`",
        words.condition_line(words.failure),
        words.always,
        words.success
    );
    Some((message, help))
}

/// Whether a transition is for success only. The author then thought of failures, so a missing transition for them is
/// probably a mistake.
fn names_success(state: &WorkflowState, words: &TransitionWords) -> bool {
    state.transitions.iter().any(|t| *t.text == *words.success)
}
