//! A transition that is never taken.

use trefoil_ir::StateTransition;
use trefoil_syntax::{Diagnostic, FindingSeverity};

use super::impossible_transition::has_figures;
use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};

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
                let constant = transition.when.as_ref().is_some_and(|w| w.condition.is_constant());
                let (why, before) = match taken {
                    TransitionReachability::Yes => continue,
                    // Reported by `constant-condition`.
                    TransitionReachability::Impossible if constant => continue,
                    // Reported by `impossible-transition`, with the reason.
                    TransitionReachability::Impossible if transition.when.as_ref().is_some_and(has_figures) => continue,
                    TransitionReachability::Impossible => ("its condition can never hold", None),
                    TransitionReachability::NoFailure => ("this state cannot fail", None),
                    TransitionReachability::Known => {
                        known(cx, transition);
                        continue;
                    }
                    TransitionReachability::Shadowed(before) => ("an earlier transition always matches first", *before),
                };
                // The transition that is always taken is reported separately; that one must be fixed.
                let written = |at: usize| {
                    let when = state.transitions.get(at).and_then(|t| t.when.as_ref());
                    when.is_some_and(|w| is_joined(w.condition.expression_tree()) && is_written(w))
                };
                if before.is_some_and(written) {
                    continue;
                }
                let message = format!("`{}` is never taken: {why}", transition.text);
                let mut finding = cx.new_finding(transition.origin, message);
                match before.and_then(|at| state.transitions.get(at)) {
                    Some(first) => {
                        finding = finding.with_label(first.origin, "this one").with_help("move the transition that always matches to the end");
                    }
                    None => finding = finding.with_help("fix its condition, or remove it"),
                }
                cx.report_finding(finding);
            }
        }
    }
}

/// A condition on the result of a state that runs no program. It is needed as soon as the state runs one.
fn known(cx: &mut RuleContext<'_>, transition: &StateTransition) {
    let message = format!("`{}` is never taken: this state runs no program, so it cannot fail", transition.text);
    let d = cx.new_finding(transition.origin, message);
    let help = "a plain `echo` and an update are built in; if another command is meant here, the transition is right";
    cx.report_finding(Diagnostic { severity: FindingSeverity::Info, ..d }.with_help(help));
}
