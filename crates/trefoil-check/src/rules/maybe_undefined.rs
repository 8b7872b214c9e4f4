//! A name that has no value on some of the ways that lead to where it is read (decision C9).
//!
//! Steps that are skipped, first passes of loops, inner results of called pipelines, keys of shared state that only some states
//! write.

use trefoil_syntax::hash::HashSet;

use trefoil_ir::{FlowId, Position, SlotId, StepKind};

use crate::rule::Context;
use crate::semantic::{Defined, Model, Why};

/// Looks at every path that is written.
pub(super) fn run(cx: &mut Context<'_>) {
    let results = results(cx.model);
    for read in cx.model.reads() {
        let Defined::Sometimes(why) = &read.defined else { continue };
        if read.reference.is_none() || read.guarded || read.position == Position::Condition {
            continue;
        }
        // Lowering knows what the blocks around it imply about the states that ran.
        if *why == Why::NotVisited && read.source.slots().iter().all(|slot| results.contains(&(read.flow, *slot))) {
            continue;
        }
        let path = read.path();
        let d = cx.finding(read.at, format!("`{path}` has no value if {}", why.words()));
        let missing = read.words.map(|words| words.missing(&path));
        cx.report(missing.into_iter().fold(d, |d, help| d.help(help)));
    }
}

/// Where states leave their results.
fn results(model: &Model<'_>) -> HashSet<(FlowId, SlotId)> {
    let steps = model.steps().iter().filter_map(|(flow, id)| match &model.program.step(*id)?.kind {
        StepKind::StateMachine(machine) => Some((*flow, machine)),
        _ => None,
    });
    let states = steps.flat_map(|(flow, machine)| machine.states.iter().map(move |s| (flow, s.step)));
    states.filter_map(|(flow, step)| Some((flow, model.program.step(step)?.out?))).collect()
}
