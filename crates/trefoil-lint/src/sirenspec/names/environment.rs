//! Environment variables that affect what a run does.

use trefoil_syntax::Diagnostic;

use super::name::NameReference;
use super::undefined;
use crate::sirenspec::subject::FindingList;
use trefoil_front::sirenspec::names::node_part::NodePart;

/// A path that starts with `env`.
pub fn check_environment_name(name: NameReference<'_, '_>, found: &mut FindingList) {
    if name.reference().path.len() < 2 {
        return undefined::no_field(name, "env", found);
    }
    if let NodePart::Decides(key) = name.text_position().stand {
        let path = name.dotted_path();
        let message =
            format!("`{path}` cannot be used in `{key}`: the steps of a run must not depend on the environment");
        let d = Diagnostic::new_error("env-decides", name.source_location(), message);
        found.push(d.with_help("pass the value as a field of `input`"));
    }
}
