//! The default answer of a state that no transition matches.
//!
//! The conditions are evaluated with that answer. One that also reads something else may hold.

use std::sync::Arc;

use trefoil_ir::{MatchedOutcome, OnTimeout, SlotId, StateTransition, StepKind};
use trefoil_syntax::FindingSeverity;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::human_answers::holds_for;

pub(super) const RULE: Rule = Rule {
    name: "unmatched-default",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("unmatched_default.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    let Some(words) = cx.model.format_words().transitions else { return };
    for (machine, _) in cx.model.state_machines() {
        for state in machine.states.iter().filter(|s| cx.model.reach_analysis().is_alive(s.step)) {
            let step = &program.steps[state.step];
            let (StepKind::Human(call), Some(slot)) = (&step.kind, step.out) else { continue };
            let (OnTimeout::Answer(answer), Some(at)) = (&call.on_timeout, call.answer_at) else { continue };
            if state.ends_unmatched || state.transitions.is_empty() {
                continue;
            }
            if state.transitions.iter().any(|transition| may_match(transition, slot, answer)) {
                continue;
            }
            let name = &state.name;
            let message =
                format!("no transition of `{name}` matches `{answer}`, so the run fails if nobody answers in time");
            let d = cx.new_finding(at, message);
            let always = words.condition_line(words.always);
            cx.report_finding(d.with_help(format!("add a transition for it, or one with `{always}`")));
        }
    }
}

/// Whether a transition may be taken after this answer.
fn may_match(transition: &StateTransition, slot: SlotId, answer: &Arc<str>) -> bool {
    if transition.takes == MatchedOutcome::Failure {
        return false;
    }
    match &transition.when {
        Some(when) => holds_for(when, slot, answer) != Some(false),
        None => true,
    }
}
