//! Placeholders in the context, whose values are not templates.

use trefoil_ir::Position;
use trefoil_syntax::yaml::{Kind, Node};

use super::template;
use super::unit::{Found, Workflow};
use trefoil_front::aegis::names::Moment;
use trefoil_front::names::{Place, is_path, is_there};

/// Prefixes of the format's own names.
const NAMESPACES: &[&str] = &["workflow.", "blackboard.", "state.", "execution."];

/// Checks every text of the context.
pub fn templates(unit: &Workflow<'_, '_>, found: &mut Found) {
    if let Some(node) = &unit.workflow.context_node {
        let place = unit.names.place(Moment::End, Position::Data);
        let root = place.root();
        // A path under a name of the format was certainly meant as a placeholder, whether or not it exists.
        let of_format = |path: &str| is_path(path) && NAMESPACES.iter().any(|name| path.starts_with(name));
        texts(unit, node, &|path| is_there(&place, &root, path, true) || of_format(path), found);
    }
}

fn texts(unit: &Workflow<'_, '_>, node: &Node, named: &dyn Fn(&str) -> bool, found: &mut Found) {
    match &*node.kind {
        Kind::Scalar(_, text) if text.value.contains("{{") => {
            let help = "write it where the value is used, or set the key in an `update_blackboard` state";
            template::none(unit.file, text, "context", help, named, found);
        }
        Kind::Scalar(..) => {}
        Kind::Sequence(items) => items.iter().for_each(|item| texts(unit, item, named, found)),
        Kind::Mapping(m) => m.entries.iter().for_each(|e| texts(unit, &e.value, named, found)),
    }
}
