//! Values that are read before they are there.

use trefoil_syntax::Diagnostic;

use super::name::Name;
use crate::sirenspec::subject::Found;
use trefoil_front::sirenspec::names::stand::Reading;

/// What a node leaves, or writes, that has not ended by then.
pub fn late(name: Name<'_, '_>, source: usize, writes: bool, found: &mut Found) {
    let id = |node: usize| name.known().id(node);
    let source = id(source);
    let (who, help) = match name.here().who {
        Reading::EdgeFrom(from) => (
            format!("the condition on an edge from `{}`", id(from)),
            format!("add an edge: `{source}` must end before `{}`", id(from)),
        ),
        Reading::Node(me) if name.subject.links.chain => (
            format!("`{}`", id(me)),
            format!("declare `{source}` first: without edges nodes run in the order of the file"),
        ),
        Reading::Node(me) => {
            (format!("`{}`", id(me)), format!("the edges lead from `{}` to `{source}`, not back", id(me)))
        }
        Reading::Nobody => (String::new(), String::new()),
    };
    let path = name.dotted();
    let what = if writes { ", which writes it," } else { "" };
    let message = format!("{who} reads `{path}`, but `{source}`{what} does not end before it");
    found.push(Diagnostic::error("unordered-read", name.at(), message).help(help));
}

/// What a node leaves is not there while it runs.
pub fn own(name: Name<'_, '_>, node: usize, found: &mut Found) {
    let message = format!(
        "`{}` reads its own output, which has no value before it has run: `{}`",
        name.known().id(node),
        name.dotted()
    );
    let d = Diagnostic::error("unordered-read", name.at(), message);
    found.push(d.help("a node can read only what ended before it"));
}
