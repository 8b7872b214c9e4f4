//! A loop that only its limit ends.

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
    run: Run::Program(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    for &(_, id) in cx.model.reachable() {
        let Some(step) = program.step(id).filter(|_| cx.model.reach().is_alive(id)) else { continue };
        match &step.kind {
            StepKind::Loop(it) => until(cx, it),
            StepKind::Attempts(attempts) => validators(cx, attempts),
            _ => {}
        }
    }
}

fn until(cx: &mut Context<'_>, it: &Loop) {
    let Some(endless) = endless(cx.model.program, it) else { return };
    let (message, help) = match endless {
        // Loading has said that it is a constant.
        Endless::Never if it.until.condition.is_constant() => return,
        Endless::Never => (
            format!("`until` can never hold: the loop fails after {} {}", it.max, if it.max == 1 { "pass" } else { "passes" }),
            "compare with a value that a step of the loop can give",
        ),
        Endless::Unchanged => (
            format!("nothing in the loop changes what `until` reads: it ends in pass 1 or fails after pass {}", it.max),
            "read the result of a step that is in the loop",
        ),
    };
    cx.report(cx.finding(it.until.origin, message).help(help));
}

fn validators(cx: &mut Context<'_>, attempts: &Attempts) {
    for validator in &attempts.validators {
        let why = match &validator.kind {
            ValidatorKind::ExitCode { expected } if *expected != 0 && is_model(cx, attempts) => {
                "the exit code of a model call that was answered is 0"
            }
            ValidatorKind::Judges { judges, consensus } if (judges.len() as u64) < u64::from(consensus.min_judges) => {
                "it wants more verdicts than it has judges"
            }
            _ => continue,
        };
        let message = format!("`{}` can never pass: all iterations fail, {} at most", validator.name, attempts.max);
        cx.report(cx.finding(validator.origin, message).help(why));
    }
}

fn is_model(cx: &Context<'_>, attempts: &Attempts) -> bool {
    cx.model.program.step(attempts.body).is_some_and(|s| matches!(s.kind, StepKind::Model(_)))
}
