//! A name that has no value on some of the ways that lead to where it is read (decision C9).
//!
//! Steps that are skipped, first passes of loops, inner results of called pipelines, keys of shared state that only some states
//! write.

use trefoil_ir::Position;
use trefoil_syntax::hash::HashSet;

use super::unordered_read::{here, result};
use crate::rule::Context;
use crate::semantic::{Defined, Why};

/// Looks at every path that is written.
pub(super) fn run(cx: &mut Context<'_>) {
    let (model, results) = (cx.model, cx.model.results());
    let mut told = HashSet::default();
    for read in model.reads() {
        let Defined::Sometimes(why) = &read.defined else { continue };
        if read.reference.is_none() || read.guarded || read.position == Position::Condition || !told.insert(read.at) {
            continue;
        }
        let path = read.path();
        let message = match result(model, &results, read).filter(|_| *why == Why::NotVisited) {
            Some((name, state)) if read.step.and_then(|step| model.named(step)) == Some(state) => {
                format!("`{path}` has no value on the first visit of {name}")
            }
            Some((name, _)) => {
                format!("`{path}` may have no value, because {name} may not have run before {}", here(model, read))
            }
            None => format!("`{path}` has no value if {}", why.words()),
        };
        let d = cx.finding(read.at, message);
        let missing = read.words.map(|words| words.missing(&path));
        cx.report(missing.into_iter().fold(d, |d, help| d.help(help)));
    }
}
