//! A transition that is never taken.

use trefoil_ir::StateTransition;
use trefoil_syntax::{Diagnostic, FindingSeverity};

use super::impossible_transition::has_figures;
use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};

use crate::semantic::conditions::{is_joined, is_written};
use crate::semantic::states::TransitionReachability;

pub(super) const RULE: Rule = Rule {
    name: "dead-transition",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("dead_transition.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
    for (machine, exits) in cx.model.state_machines() {
        for (state, exits) in machine.states.iter().zip(exits) {
            if !cx.model.reach_analysis().is_alive(state.step) {
                continue;
            }
            for (transition, taken) in state.transitions.iter().zip(&exits.taken) {
                let (why, before) = match taken {
                    TransitionReachability::Yes => continue,
                    TransitionReachability::Impossible if is_reported(transition) => continue,
                    TransitionReachability::Impossible => ("its condition can never hold", None),
                    TransitionReachability::NoFailure => ("this state cannot fail", None),
                    TransitionReachability::Known => {
                        known(cx, transition);
                        continue;
                    }
                    TransitionReachability::Shadowed(before) => ("an earlier transition always matches first", *before),
                };
                let first = match before {
                    Some(at) => state.transitions.get(at),
                    None => None,
                };
                // The transition that is always taken is reported separately; that one must be fixed.
                if matches!(first, Some(first) if is_written_with_parts(first)) {
                    continue;
                }
                let message = format!("`{}` is never taken: {why}", transition.text);
                let finding = cx.new_finding(transition.origin, message);
                cx.report_finding(match first {
                    Some(first) => finding
                        .with_label(first.origin, "this one")
                        .with_help("move the transition that always matches to the end"),
                    None => finding.with_help("fix its condition, or remove it"),
                });
            }
        }
    }
}

/// Whether an impossible condition is reported by `constant-condition`, or by `impossible-transition` with the reason.
fn is_reported(transition: &StateTransition) -> bool {
    match &transition.when {
        Some(when) => when.condition.is_constant() || has_figures(when),
        None => false,
    }
}

/// Whether a written condition joins several.
fn is_written_with_parts(transition: &StateTransition) -> bool {
    match &transition.when {
        Some(when) => is_joined(when.condition.expression_tree()) && is_written(when),
        None => false,
    }
}

/// A condition on the result of a state that runs no program. It is needed as soon as the state runs one.
fn known(cx: &mut RuleContext<'_>, transition: &StateTransition) {
    let message = format!("`{}` is never taken: this state runs no program, so it cannot fail", transition.text);
    let d = cx.new_finding(transition.origin, message);
    let help = "a plain `echo` and an update are built in; if another command is meant here, the transition is right";
    cx.report_finding(Diagnostic { severity: FindingSeverity::Info, ..d }.with_help(help));
}
