//! Something that is read where nothing has written it on any way: the result of a state that never runs before, a key of
//! shared state that only such states write.

use trefoil_ir::{DeclarationKind, Expr, FlowId, SlotId, Source, StepId, StepKind};
use trefoil_syntax::hash::{HashMap, HashSet};
use trefoil_syntax::{Diagnostic, Location, Severity};

use crate::rule::Context;
use crate::semantic::{Defined, Model, Read};
use crate::words;

/// Looks at every path that is written.
pub(super) fn run(cx: &mut Context<'_>) {
    let (model, results) = (cx.model, cx.model.results());
    let mut told = HashSet::default();
    for read in model.reads().iter().filter(|r| r.reference.is_some() && r.defined == Defined::Never) {
        let d = match result(model, &results, read) {
            Some((name, state)) => unvisited(cx, read, &name, state),
            None => match key(model, read) {
                Some((name, at)) => unwritten(cx, read, name, at),
                None => continue,
            },
        };
        if told.insert(read.at) {
            // Where what is missing is an error, names that have no value keep a program from loading.
            cx.report(Diagnostic { severity: Severity::Warning, ..d });
        }
    }
}

fn unvisited(cx: &Context<'_>, read: &Read<'_>, name: &str, state: StepId) -> Diagnostic {
    let own = read.step.and_then(|step| cx.model.named(step)) == Some(state);
    let (message, help) = match own {
        true => (
            format!("{name} reads its own result, which has no value before it has run"),
            "read the result of a state that ran before, or read this one in a transition",
        ),
        false => (
            format!(
                "`{}` never has a value here, because {name} never runs before {}",
                read.path(),
                here(cx.model, read)
            ),
            "check the transitions, or the name",
        ),
    };
    cx.finding(read.at, message).help(help)
}

fn unwritten(cx: &Context<'_>, read: &Read<'_>, key: &str, written: Location) -> Diagnostic {
    let message = format!("nothing writes `{key}` before {}, so it is always empty", here(cx.model, read));
    cx.finding(read.at, message).label(written, "written here").help("check the transitions, or the name")
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

/// The key that is read of an object that is written key by key, and where it is written first.
fn key<'p>(model: &Model<'p>, read: &Read<'p>) -> Option<(&'p str, Location)> {
    let Source::Slot(slot) = read.source else { return None };
    let reference = read.reference?;
    let key = &*reference.path.get(usize::from(reference.binding.skip))?.name;
    let writes =
        |value: &Expr| matches!(value, Expr::Object(members) if members.iter().any(|(name, _)| &**name == key));
    let steps = model.steps_of(read.flow).iter().filter_map(|(_, id)| model.program.step(*id));
    let mut writers = steps.filter(|step| match &step.kind {
        StepKind::Compute(Expr::Merge(layers)) => step.out == Some(*slot) && layers.iter().any(writes),
        _ => false,
    });
    let writer = writers.next()?.origin;
    let declared = model.facts.declarations.iter().filter(|d| d.kind == DeclarationKind::Key && &*d.name == key);
    let declared = declared.map(|d| d.at).filter(|at| at.file == writer.file).min_by_key(|at| at.span.start);
    Some((key, declared.unwrap_or(writer)))
}

/// Where something is read: the step with a name, or the end of the run.
pub(super) fn here(model: &Model<'_>, read: &Read<'_>) -> String {
    let named = read.step.and_then(|step| model.named(step));
    named.map_or_else(|| "the end".to_owned(), |step| words::step(model.program, step))
}
