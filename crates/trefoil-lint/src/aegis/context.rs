//! Placeholders in the context, whose values are not templates.

use trefoil_ir::TextRole;
use trefoil_syntax::yaml::{YamlNode, YamlNodeKind};

use super::template;
use super::unit::{FindingList, WorkflowUnit};
use trefoil_front::aegis::names::RenderMoment;
use trefoil_front::names::{NameScope, is_path, is_there};

/// Prefixes of the format's own names.
const NAMESPACES: &[&str] = &["workflow.", "blackboard.", "state.", "execution."];

/// Checks every text of the context.
pub fn check_context_texts(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    if let Some(node) = &unit.workflow.context_node {
        let place = unit.names.scope_at(RenderMoment::End, TextRole::Data);
        let root = place.root_entry();
        // A path under a name of the format was certainly meant as a placeholder, whether or not it exists.
        let of_format = |path: &str| is_path(path) && NAMESPACES.iter().any(|name| path.starts_with(name));
        check_node_texts(unit, node, &|path| is_there(&place, &root, path, true) || of_format(path), found);
    }
}

fn check_node_texts(
    unit: &WorkflowUnit<'_, '_>,
    node: &YamlNode,
    named: &dyn Fn(&str) -> bool,
    found: &mut FindingList,
) {
    match &*node.kind {
        YamlNodeKind::Scalar(_, text) if text.value.contains("{{") => {
            let help = "write it where the value is used, or set the key in an `update_blackboard` state";
            template::check_literal_text(unit.file, text, "context", help, named, found);
        }
        YamlNodeKind::Scalar(..) => {}
        YamlNodeKind::Sequence(items) => items.iter().for_each(|item| check_node_texts(unit, item, named, found)),
        YamlNodeKind::Mapping(m) => m.entries.iter().for_each(|e| check_node_texts(unit, &e.value, named, found)),
    }
}
