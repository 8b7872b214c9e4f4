//! A name that has no value on some of the ways that lead to where it is read (decision C9).
//!
//! Lowering reports what it sees while it resolves names; this finds the rest: inner results of called pipelines, keys of
//! shared state that only some states write.

use trefoil_ir::Position;

use crate::rule::Context;
use crate::semantic::Defined;

/// Looks on where lowering does not.
pub(super) fn run(cx: &mut Context<'_>) {
    for read in cx.model.reads() {
        let Defined::Sometimes(why) = &read.defined else { continue };
        if read.reference.is_none() || read.guarded || read.position == Position::Condition {
            continue;
        }
        let path = read.path();
        let d = cx.finding(read.at, format!("`{path}` has no value where {}", why.words()));
        cx.report(d.help("ask for it in a block around it, or give it a default"));
    }
}
