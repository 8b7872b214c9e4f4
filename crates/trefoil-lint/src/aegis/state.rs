//! States as a whole: their names.

use trefoil_syntax::Diagnostic;

use super::unit::{Found, Workflow};
use trefoil_front::aegis::manifest::RESERVED;

/// Names that templates cannot read.
pub fn names(unit: &Workflow<'_, '_>, found: &mut Found) {
    for state in &unit.workflow.states {
        if RESERVED.contains(&&*state.name) || state.name.contains(['.', '/', ' ', '{', '}']) {
            let message = format!("templates cannot read the result of a state named `{}`", state.name);
            let d = Diagnostic::warning("invalid-name", unit.file.at(state.span), message);
            found.push(d.help("use letters, digits, `_` and `-`, and no reserved name"));
        }
    }
}
