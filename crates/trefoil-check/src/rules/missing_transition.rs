//! A state whose outcome may match no transition.

use trefoil_ir::{MatchedOutcome, WorkflowState};
use trefoil_syntax::FindingSeverity;
use trefoil_template::TransitionWords;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};

pub(super) const RULE: Rule = Rule {
    name: "missing-transition",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("missing_transition.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    let Some(words) = cx.model.format_words().transitions else { return };
    let always = words.condition_line(words.always);
    for (machine, exits) in cx.model.state_machines() {
        for (state, exits) in machine.states.iter().zip(exits) {
            if !cx.model.reach_analysis().is_alive(state.step) {
                continue;
            }
            let step = &program.steps[state.step];
            // The transitions of a pipeline are not written; it fails if a step fails.
            let Some(last) = state.transitions.last() else { continue };
            if last.origin == step.origin {
                continue;
            }
            let gap = match &exits.gap {
                Some(gap) if !gap.numeric => Some(gap),
                _ => None,
            };
            let (message, help) = match gap {
                Some(gap)
                    if gap.value.is_empty() && state.transitions.iter().any(|t| t.takes != MatchedOutcome::Failure) =>
                {
                    (
                        format!(
                            "every transition of `{}` has a condition that may be false, so the run can fail here",
                            state.name
                        ),
                        format!("add a last transition with `{always}`"),
                    )
                }
                Some(gap) if gap.value.is_empty() => (
                    format!("`{}` has no transition for success, so the run would fail", state.name),
                    format!("add a transition with `{}` or `{}`", words.condition_line(words.success), words.always),
                ),
                Some(gap) => (
                    format!("no transition of `{}` matches {}, so the run would fail", state.name, gap.value),
                    format!("add a last transition with `{always}`"),
                ),
                None if exits.failure_open && names_success(state, words) => (
                    format!("`{}` has no transition for failure, so the run would fail", state.name),
                    format!(
                        "add a transition with `{}`, or if that is intended, use `{}` instead of `{}`",
                        words.condition_line(words.failure),
                        words.always,
                        words.success
                    ),
                ),
                None => continue,
            };
            let finding = cx.new_finding(step.origin, message).with_label(last.origin, "the last transition");
            cx.report_finding(finding.with_help(help));
        }
    }
}

/// A condition that names success suggests that failures were considered.
fn names_success(state: &WorkflowState, words: &TransitionWords) -> bool {
    state.transitions.iter().any(|t| *t.text == *words.success)
}
