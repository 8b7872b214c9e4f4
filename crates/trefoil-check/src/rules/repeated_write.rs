//! Calls that change something and may be made more than once: in retries, loops and iterations.

use trefoil_ir::StepKind;
use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::effects::{self, Effect};
use crate::semantic::repeats::{self, Again};

pub(super) const RULE: Rule = Rule {
    name: "repeated-write",
    group: Group::Safety,
    level: Some(Severity::Info),
    strict: Some(Severity::Warning),
    page: include_str!("repeated_write.md"),
    run: Run::Declared(run),
};

fn run(cx: &mut Context<'_>) {
    let program = cx.model.program;
    let supplied = cx.supplied.iter().copied();
    let writes = cx.model.live_steps().filter_map(|(_, id, step)| {
        let effect = match &step.kind {
            StepKind::Tool(call) => effects::of(call, supplied.clone()),
            StepKind::Command(call) => effects::of_command(call),
            _ => return None,
        };
        let Effect::Writes(what) = effect else { return None };
        Some((id, step.origin, what))
    });
    let writes: Vec<_> = writes.collect();
    if writes.is_empty() {
        return;
    }
    let repeats = repeats::of(program, &cx.model.roots);
    for (id, at, what) in writes {
        let Some(again) = repeats.get(&id) else { continue };
        let (message, help) = described(&what, again);
        cx.report(cx.finding(at, message).help(help));
    }
}

fn described(what: &str, again: &Again) -> (String, &'static str) {
    let ignored = "remove the retries, or make sure that a repeated call changes nothing more (an idempotency key, `effects = \"idempotent\"`)";
    let outside = "move the call out of the repetition, or make sure that a repeated call changes nothing more";
    let what = if what.starts_with("this ") { what.to_owned() } else { format!("this call of {what}") };
    match again {
        Again::Retry(tries) => (
            format!("{what} may be made up to {tries} times if it fails, but a failed call may have changed something"),
            ignored,
        ),
        Again::RetryAround(name, tries) => {
            let name = if name.is_empty() { "the step around it".to_owned() } else { format!("`{name}`") };
            (format!("{what} may be made again with each of the {tries} tries of {name}"), ignored)
        }
        Again::Loop(passes) => (format!("{what} may be made in every pass of the loop, up to {passes} times"), outside),
        Again::Attempts(times) => (format!("{what} may be made in each of up to {times} iterations"), outside),
        Again::State(name) => (format!("{what} may be made again each time that `{name}` is entered again"), outside),
    }
}
