//! Environment variables that affect what a run does.

use trefoil_syntax::Diagnostic;

use super::name::Name;
use super::undefined;
use crate::sirenspec::subject::Found;
use trefoil_front::sirenspec::names::stand::Stand;

/// A path that starts with `env`.
pub fn check(name: Name<'_, '_>, found: &mut Found) {
    if name.reference().path.len() < 2 {
        return undefined::no_field(name, "env", found);
    }
    if let Stand::Decides(key) = name.here().stand {
        let path = name.dotted();
        let message =
            format!("`{path}` cannot be used in `{key}`: the steps of a run must not depend on the environment");
        let d = Diagnostic::error("env-decides", name.at(), message);
        found.push(d.help("pass the value as a field of `input`"));
    }
}
