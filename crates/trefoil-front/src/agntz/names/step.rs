//! Which step a name refers to in a place, and whether its output exists there: steps before the place; in a loop, all
//! steps from the second pass on; in parallel, none.

use trefoil_ir::Defined;

use super::{AgentNames, At, Order};
use crate::names::Doubt;

/// The step with this name, and what is known about its output at this place; `None`: no step has the name.
pub fn standing(names: &AgentNames, name: &str, at: At) -> Option<(usize, Defined, Option<Doubt>)> {
    let hits = names.named(name);
    let here = index(names, at);
    let before = hits.iter().rev().find(|i| **i < here).copied();
    let step = before.or(hits.first().copied())?;
    let own = hits.contains(&here);
    let (defined, doubt) = match before {
        _ if names.order == Order::Parallel && at != At::End => (Defined::Never, Some(beside(own))),
        None if names.order == Order::Loop => (Defined::Sometimes, Some(Doubt::FirstPass)),
        None => (Defined::Never, Some(if own { Doubt::Own } else { Doubt::Later })),
        Some(_) => skipped(names, hits, here),
    };
    Some((step, defined, doubt))
}

/// The index of the step that contains a place; after the last step, the number of steps.
pub fn index(names: &AgentNames, at: At) -> usize {
    match at {
        At::Step(i) => i,
        At::End => names.steps.len(),
    }
}

fn beside(own: bool) -> Doubt {
    if own { Doubt::Own } else { Doubt::Beside }
}

/// A step with a `when` may not have run.
fn skipped(names: &AgentNames, hits: &[usize], here: usize) -> (Defined, Option<Doubt>) {
    const THERE: (Defined, Option<Doubt>) = (Defined::Always, None);
    // Another step with the same key may have left a result.
    let [only] = hits else { return THERE };
    let when_of = |i: usize| names.steps.get(i).and_then(|s| s.when.as_deref());
    let Some(when) = when_of(*only) else { return THERE };
    let own = when_of(here);
    // The reading step has the same condition, so both are skipped.
    if own == Some(when) {
        return THERE;
    }
    (Defined::Sometimes, Some(Doubt::Skipped(Some(when.into()))))
}
