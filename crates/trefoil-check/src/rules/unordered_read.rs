//! The result of a state that never runs before it is read.

use trefoil_ir::{FlowId, SlotId, Source, StepId};
use trefoil_syntax::Severity;
use trefoil_syntax::hash::{HashMap, HashSet};

use crate::rule::Context;
use crate::semantic::{Defined, Model, Read};
use crate::words;

/// Looks at every path that is written.
pub(super) fn run(cx: &mut Context<'_>) {
    let (model, results) = (cx.model, cx.model.results());
    let mut told = HashSet::default();
    for read in model.reads().iter().filter(|r| r.reference.is_some() && r.defined == Defined::Never) {
        let Some((name, state)) = result(model, &results, read).filter(|_| told.insert(read.at)) else { continue };
        let own = read.step.and_then(|step| model.named(step)) == Some(state);
        let (message, help) = match own {
            true => (
                format!("{name} reads its own result, which has no value before it has run"),
                "read the result of a state that ran before, or read this one in a transition",
            ),
            false => (
                format!(
                    "`{}` never has a value here, because {name} never runs before {}",
                    read.path(),
                    here(model, read)
                ),
                "check the transitions, or the name",
            ),
        };
        // Where what is missing is an error, names that have no value keep a program from loading.
        let d = trefoil_syntax::Diagnostic { severity: Severity::Warning, ..cx.finding(read.at, message) };
        cx.report(d.help(help));
    }
}

/// The state whose result is read, if it is one: its name and its step.
pub(super) fn result(
    model: &Model<'_>,
    results: &HashMap<(FlowId, SlotId), StepId>,
    read: &Read<'_>,
) -> Option<(String, StepId)> {
    let (Source::Slot(slot) | Source::Member(slot, _)) = read.source else { return None };
    let step = *results.get(&(read.flow, *slot))?;
    Some((words::step(model.program, step), step))
}

/// Where something is read: the step with a name, or the end of the run.
pub(super) fn here(model: &Model<'_>, read: &Read<'_>) -> String {
    let named = read.step.and_then(|step| model.named(step));
    named.map_or_else(|| "the end".to_owned(), |step| words::step(model.program, step))
}
