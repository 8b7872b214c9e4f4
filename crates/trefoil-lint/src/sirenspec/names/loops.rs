//! Loop variables outside a factory, and members that they do not have.

use trefoil_syntax::Diagnostic;

use super::lacking;
use super::name::Name;
use crate::sirenspec::subject::Found;
use trefoil_front::sirenspec::manifest::NodeKind;
use trefoil_front::sirenspec::names::stand::Reading;

/// A path that starts with `item`, `index` or `total`.
pub fn check(name: Name<'_, '_>, found: &mut Found) {
    let variable = name.reference().path.first().map_or("", |s| &*s.name);
    let instance = name.here().instance();
    if instance.is_some_and(|instance| variable != "item" || instance.item.is_some()) {
        return lacking::in_items(name, found);
    }
    if name.reference().default.is_some() || name.here().who == Reading::Nobody {
        return;
    }
    let message = match instance.is_some() {
        true => format!("`{variable}` is not defined with `swarm_size`, which has no list"),
        false => format!("`{variable}` is defined only inside a factory"),
    };
    let d = Diagnostic::error("loop-variable", name.at(), message);
    found.push(match name.here().who {
        Reading::Node(node) if !matches!(name.kind(node), Some(NodeKind::Factory(_))) => d.help(format!(
            "node `{}` is not a factory; write `{{{{ {} | default('...') }}}}` if the agent is used in both",
            name.known().id(node),
            name.dotted()
        )),
        _ => d.help("use it in a factory's `inputs` and in its agents' prompts, where it is the list element"),
    });
}
