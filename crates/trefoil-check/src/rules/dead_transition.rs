//! A transition that is never taken.

use trefoil_ir::Transition;
use trefoil_syntax::{Diagnostic, Severity};

use super::impossible_transition::has_figures;
use crate::rule::{Context, Group, Rule, Run};

use crate::semantic::conditions::{is_joined, is_written};
use crate::semantic::states::Taken;

pub(super) const RULE: Rule = Rule {
    name: "dead-transition",
    group: Group::Flow,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("dead_transition.md"),
    run: Run::Declared(run),
};

fn run(cx: &mut Context<'_>) {
    for (machine, exits) in cx.model.machines() {
        for (state, exits) in machine.states.iter().zip(exits) {
            if !cx.model.reach().is_alive(state.step) {
                continue;
            }
            for (transition, taken) in state.transitions.iter().zip(&exits.taken) {
                let constant = transition.when.as_ref().is_some_and(|w| w.condition.is_constant());
                let (why, before) = match taken {
                    Taken::Yes => continue,
                    // Reported by `constant-condition`.
                    Taken::Impossible if constant => continue,
                    // Reported by `impossible-transition`, with the reason.
                    Taken::Impossible if transition.when.as_ref().is_some_and(has_figures) => continue,
                    Taken::Impossible => ("its condition can never hold", None),
                    Taken::NoFailure => ("this state cannot fail", None),
                    Taken::Known => {
                        known(cx, transition);
                        continue;
                    }
                    Taken::Shadowed(before) => ("an earlier transition always matches first", *before),
                };
                // The transition that is always taken is reported separately; that one must be fixed.
                let written = |at: usize| {
                    let when = state.transitions.get(at).and_then(|t| t.when.as_ref());
                    when.is_some_and(|w| is_joined(w.condition.expression()) && is_written(w))
                };
                if before.is_some_and(written) {
                    continue;
                }
                let message = format!("`{}` is never taken: {why}", transition.text);
                let mut finding = cx.finding(transition.origin, message);
                match before.and_then(|at| state.transitions.get(at)) {
                    Some(first) => {
                        finding = finding.label(first.origin, "this one").help("move the transition that always matches to the end");
                    }
                    None => finding = finding.help("fix its condition, or remove it"),
                }
                cx.report(finding);
            }
        }
    }
}

/// A condition on the result of a state that runs no program. It is needed as soon as the state runs one.
fn known(cx: &mut Context<'_>, transition: &Transition) {
    let message = format!("`{}` is never taken: this state runs no program, so it cannot fail", transition.text);
    let d = cx.finding(transition.origin, message);
    let help = "a plain `echo` and an update are built in; if another command is meant here, the transition is right";
    cx.report(Diagnostic { severity: Severity::Info, ..d }.help(help));
}
