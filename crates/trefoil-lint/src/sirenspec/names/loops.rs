//! Loop variables outside a factory, and members that they do not have.

use trefoil_syntax::Diagnostic;

use super::lacking;
use super::name::NameReference;
use crate::sirenspec::subject::FindingList;
use trefoil_front::sirenspec::manifest::NodeKind;
use trefoil_front::sirenspec::names::node_part::ReadingPoint;

/// A path that starts with `item`, `index` or `total`.
pub fn check_loop_variable(name: NameReference<'_, '_>, found: &mut FindingList) {
    let variable = name.first_word();
    let instance = name.text_position().factory_instance();
    if let Some(instance) = &instance
        && (variable != "item" || instance.item.is_some())
    {
        return lacking::in_items(name, found);
    }
    if name.reference().default.is_some() || name.text_position().who == ReadingPoint::Nobody {
        return;
    }
    let message = match instance.is_some() {
        true => format!("`{variable}` is not defined with `swarm_size`, which has no list"),
        false => format!("`{variable}` is defined only inside a factory"),
    };
    let d = Diagnostic::new_error("loop-variable", name.source_location(), message);
    found.push(match name.text_position().who {
        ReadingPoint::Node(node) if !matches!(name.node_kind(node), Some(NodeKind::Factory(_))) => {
            d.with_help(format!(
                "node `{}` is not a factory; write `{{{{ {} | default('...') }}}}` if the agent is used in both",
                name.workflow_names().node_id(node),
                name.dotted_path()
            ))
        }
        _ => d.with_help("use it in a factory's `inputs` and in its agents' prompts, where it is the list element"),
    });
}
