//! Placeholders in what is data: nobody fills them in.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::Text;

use super::unit::{Found, helped};
use crate::Reader;

/// Looks at a text that is no template. `what` is the key, `named` whether something can be meant by a path.
pub fn none(
    reader: &Reader<'_>,
    source: &Text,
    what: &str,
    help: &str,
    named: &dyn Fn(&str) -> bool,
    found: &mut Found,
) {
    let text = &*source.value;
    for (open, _) in text.match_indices("{{") {
        let Some(len) = text.get(open..).and_then(|rest| rest.find("}}")) else { return };
        let path = text.get(open + 2..open + len).unwrap_or_default().trim();
        // In quotes it is an example of a placeholder.
        let quoted = text.get(..open).is_some_and(|before| before.ends_with(['`', '"', '\'', '\\', '{']));
        if quoted || !named(path) {
            continue;
        }
        let at = reader.at(source.source(open as u32..(open + len + 2) as u32));
        let message = format!("`{{{{{path}}}}}` stays as it is: `{what}` is no template");
        found.push(helped(Diagnostic::warning("no-effect", at, message), help));
    }
}
