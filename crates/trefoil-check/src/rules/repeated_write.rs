//! Calls that change something and may be made more than once: in retries, loops and iterations.

use trefoil_ir::StepKind;
use trefoil_syntax::FindingSeverity;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::effects::{self, CallEffect};
use crate::semantic::repetitions::{self, RepetitionCause};

pub(super) const RULE: Rule = Rule {
    name: "repeated-write",
    group: RuleGroup::Safety,
    level: Some(FindingSeverity::Info),
    strict: Some(FindingSeverity::Warning),
    page: include_str!("repeated_write.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    let supplied = cx.supplied.iter().copied();
    let mut writes = Vec::new();
    for (_, id, step) in cx.model.live_steps() {
        let StepKind::Tool(call) = &step.kind else { continue };
        if let CallEffect::Writes(what) = effects::tool_call_effect(call, supplied.clone()) {
            writes.push((id, step.origin, what));
        }
    }
    if writes.is_empty() {
        return;
    }
    let repeats = repetitions::find_repetitions(program, &cx.model.roots);
    for (id, at, what) in writes {
        let Some(again) = repeats.get(&id) else { continue };
        let (message, help) = described(&what, again);
        cx.report_finding(cx.new_finding(at, message).with_help(help));
    }
}

fn described(what: &str, again: &RepetitionCause) -> (String, &'static str) {
    let ignored = "remove the retries, or make sure that a repeated call changes nothing more (an idempotency key, `effects = \"idempotent\"`)";
    let outside = "move the call out of the repetition, or make sure that a repeated call changes nothing more";
    let what = if what.starts_with("this ") { what.to_owned() } else { format!("this call of {what}") };
    match again {
        RepetitionCause::Retry(tries) => (
            format!("{what} may be made up to {tries} times if it fails, but a failed call may have changed something"),
            ignored,
        ),
        RepetitionCause::RetryAround(name, tries) => {
            let name = if name.is_empty() { "the step around it".to_owned() } else { format!("`{name}`") };
            (format!("{what} may be made again with each of the {tries} tries of {name}"), ignored)
        }
        RepetitionCause::Loop(passes) => {
            (format!("{what} may be made in every pass of the loop, up to {passes} times"), outside)
        }
        RepetitionCause::Attempts(times) => {
            (format!("{what} may be made in each of up to {times} iterations"), outside)
        }
        RepetitionCause::State(name) => {
            (format!("{what} may be made again each time that `{name}` is entered again"), outside)
        }
    }
}
