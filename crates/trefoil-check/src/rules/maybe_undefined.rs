//! A name that has no value on some paths to where it is read (decision C9).
//!
//! Caused by skipped steps, first passes of loops, inner results of called pipelines, and keys of shared state that
//! only some states write.

use trefoil_ir::{FlowId, Position, SlotId, StepId, types};
use trefoil_syntax::hash::{HashMap, HashSet};
use trefoil_syntax::{Diagnostic, Severity};

use super::unordered_read::{here, result};
use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::{Defined, Model, Read, Why};
use crate::words;

pub(super) const RULE: Rule = Rule {
    name: "maybe-undefined",
    group: Group::Names,
    level: Some(Severity::Info),
    strict: Some(Severity::Warning),
    page: include_str!("maybe_undefined.md"),
    run: Run::Program(run),
};

/// Checks every written path.
fn run(cx: &mut Context<'_>) {
    let (model, results, left) = (cx.model, cx.model.results(), cx.model.left());
    let mut told = HashSet::default();
    for read in model.reads() {
        let Defined::Sometimes(why) = &read.defined else {
            printed_null(cx, read);
            continue;
        };
        if read.reference.is_none() || read.guarded || read.position == Position::Condition || !told.insert(read.at) {
            continue;
        }
        let path = read.path();
        let state = result(model, &results, read).filter(|_| *why == Why::NotVisited);
        let own = |state| read.step.and_then(|step| model.named(step)) == Some(state);
        let again = state.as_ref().is_some_and(|(_, state)| own(*state));
        if let Why::Excluded { .. } = why {
            let d = cx.finding(read.at, format!("`{path}` is always null here: its step is skipped whenever this one runs"));
            cx.report(Diagnostic { severity: Severity::Warning, ..d }.help(why.words()));
            continue;
        }
        let message = match state {
            Some((name, _)) if again => {
                format!("`{path}` has no value on the first visit of {name}")
            }
            Some((name, _)) => {
                format!("`{path}` may have no value, because {name} may not have run before {}", here(model, read))
            }
            None => format!("`{path}` has no value if {}", because(model, &left, read, why)),
        };
        let d = cx.finding(read.at, message);
        // In a typical loop, the first pass lacks the result of a later step.
        let usual = *why == Why::FirstPass || again;
        let d = match (read.strict, usual) {
            (true, _) => Diagnostic { severity: Severity::Warning, ..d },
            (false, true) => Diagnostic { severity: Severity::Hint, ..d },
            (false, false) => d,
        };
        let missing = read.words.map(|words| words.missing(&path));
        cx.report(missing.into_iter().fold(d, |d, help| d.help(help)));
    }
}

/// A null value that nothing writes before it is read, if text prints it as a word (decision S3).
fn printed_null(cx: &mut Context<'_>, read: &Read<'_>) {
    let Some(word) = read.words.map(|words| words.null).filter(|word| !word.is_empty()) else { return };
    let text = matches!(read.position, Position::System | Position::User | Position::Person);
    let null = read.defined == Defined::Always && types::kinds(&read.schema).is_some_and(|kinds| kinds == ["null"]);
    if !text || !null || read.guarded || !read.source.slots().is_empty() {
        return;
    }
    let message =
        format!("`{}` is null here: it is declared without a value, and nothing writes it before", read.path());
    let d = Diagnostic { severity: Severity::Warning, ..cx.finding(read.at, message) };
    cx.report(d.help(format!("write `\"\"` for an empty text; a template prints the word `{word}`")));
}

/// Why a path has no value, with the nodes that would have provided one.
fn because(model: &Model<'_>, left: &HashMap<(FlowId, SlotId), StepId>, read: &Read<'_>, why: &Why) -> String {
    let mut nodes: Vec<StepId> = Vec::new();
    for node in read.source.slots().into_iter().filter_map(|slot| left.get(&(read.flow, slot))) {
        if !nodes.contains(node) {
            nodes.push(*node);
        }
    }
    let names: Vec<String> = nodes.into_iter().map(|node| words::step(model.program, node)).collect();
    match (why, names.as_slice()) {
        (Why::NotRun, [one]) => format!("{one} has not completed"),
        (Why::Failed, [one]) => format!("{one} has failed"),
        (Why::NotRun | Why::Failed, [_, ..]) => format!("none of {} has completed", names.join(", ")),
        _ => why.words(),
    }
}
