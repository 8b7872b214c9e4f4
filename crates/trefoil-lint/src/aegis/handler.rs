//! Templates of messages to be sent: unknown names.

use trefoil_syntax::{Diagnostic, suggest};

use super::unit::Found;
use trefoil_front::aegis::names::HANDLER;
use trefoil_front::aegis::texts::Texts;
use trefoil_front::mend;
use trefoil_front::names::{End, Use};

/// Checks every name in them.
pub fn find_unknown_handler_names(texts: &Texts, found: &mut Found) {
    let uses = texts.handlers.iter().flat_map(|text| &text.uses);
    found.extend(uses.filter(|used| used.bound.end == End::Open(0)).filter_map(finding));
}

fn finding(Use { reference, at, .. }: &Use) -> Option<Diagnostic> {
    let name = &*reference.path.first()?.name;
    let message = format!("an output handler has no `{name}`, so it is always empty");
    let d = Diagnostic::warning("unresolved-name", *at, message);
    Some(match suggest::near(name, HANDLER) {
        Some(near) => {
            let d = d.help(format!("did you mean `{}`?", near.name));
            mend::renamed(d, mend::segment(reference, *at, 0), near, true)
        }
        None => d.help("available: `output`, `intent`"),
    })
}
