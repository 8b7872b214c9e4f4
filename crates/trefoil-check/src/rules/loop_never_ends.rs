//! A loop that ends only at its limit.

use trefoil_ir::{Attempts, Loop, StepKind, ValidatorKind};
use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::flow::{Endless, endless};

pub(super) const RULE: Rule = Rule {
    name: "loop-never-ends",
    group: Group::Flow,
    level: Some(Severity::Warning),
    strict: Some(Severity::Error),
    page: include_str!("loop_never_ends.md"),
    run: Run::Declared(run),
};

fn run(cx: &mut Context<'_>) {
    for (_, _, step) in cx.model.live_steps() {
        match &step.kind {
            StepKind::Loop(it) => until(cx, it),
            StepKind::Attempts(attempts) => validators(cx, attempts),
            _ => {}
        }
    }
}

fn until(cx: &mut Context<'_>, it: &Loop) {
    let Some(endless) = endless(cx.model.program, it) else { return };
    // A loop that the format has no key for is called by what ends it.
    let until = it.until.condition.words().until.map_or("its condition".to_owned(), |key| format!("`{key}`"));
    let (message, help) = match endless {
        // Reported by `constant-condition`.
        Endless::Never if it.until.condition.is_constant() => return,
        Endless::Never => (
            format!("{until} can never be true, so the loop fails after {} {}", it.max, if it.max == 1 { "iteration" } else { "iterations" }),
            "compare with a value that a step of the loop can return",
        ),
        Endless::Unchanged => (
            format!("no step in the loop changes what {until} reads: the loop ends after its first iteration or fails after {}", it.max),
            "read the result of a step in the loop",
        ),
    };
    cx.report(cx.finding(it.until.origin, message).help(help));
}

fn validators(cx: &mut Context<'_>, attempts: &Attempts) {
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
        let message = format!("`{}` can never pass, so every iteration (at most {}) fails", validator.name, attempts.max);
        cx.report(cx.finding(validator.origin, message).help(why));
    }
}

fn is_model(cx: &Context<'_>, attempts: &Attempts) -> bool {
    matches!(cx.model.program.steps[attempts.body].kind, StepKind::Model(_))
}
