//! A loop that ends only at its limit.

use trefoil_ir::{Attempts, StepKind, StepLoop, ValidatorKind};
use trefoil_syntax::FindingSeverity;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::reachability::{EndlessLoopKind, classify_endless_loop};

pub(super) const RULE: Rule = Rule {
    name: "loop-never-ends",
    group: RuleGroup::Flow,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("loop_never_ends.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
    for (_, _, step) in cx.model.live_steps() {
        match &step.kind {
            StepKind::Loop(it) => until(cx, it),
            StepKind::Attempts(attempts) => validators(cx, attempts),
            _ => {}
        }
    }
}

fn until(cx: &mut RuleContext<'_>, it: &StepLoop) {
    let Some(endless) = classify_endless_loop(cx.model.program, it) else { return };
    // A loop that the format has no key for is called by what ends it.
    let until = it.until.condition.dialect_words().until.map_or("its condition".to_owned(), |key| format!("`{key}`"));
    let (message, help) = match endless {
        // Reported by `constant-condition`.
        EndlessLoopKind::Never if it.until.condition.is_constant() => return,
        EndlessLoopKind::Never => (
            format!(
                "{until} can never be true, so the loop fails after {} {}",
                it.max,
                if it.max == 1 { "iteration" } else { "iterations" }
            ),
            "compare with a value that a step of the loop can return",
        ),
        EndlessLoopKind::Unchanged => (
            format!(
                "no step in the loop changes what {until} reads: the loop ends after its first iteration or fails after {}",
                it.max
            ),
            "read the result of a step in the loop",
        ),
    };
    cx.report_finding(cx.new_finding(it.until.origin, message).with_help(help));
}

fn validators(cx: &mut RuleContext<'_>, attempts: &Attempts) {
    for validator in &attempts.validators {
        let why = match &validator.kind {
            ValidatorKind::ExitCode { expected } if *expected != 0 && is_model(cx, attempts) => {
                "a model call that was answered always has exit code 0"
            }
            ValidatorKind::Judges { judges, consensus } if (judges.len() as u64) < u64::from(consensus.min_judges) => {
                "it needs more verdicts than it has judges"
            }
            _ => continue,
        };
        let message =
            format!("`{}` can never pass, so every iteration (at most {}) fails", validator.name, attempts.max);
        cx.report_finding(cx.new_finding(validator.origin, message).with_help(why));
    }
}

fn is_model(cx: &RuleContext<'_>, attempts: &Attempts) -> bool {
    matches!(cx.model.program.steps[attempts.body].kind, StepKind::Model(_))
}
