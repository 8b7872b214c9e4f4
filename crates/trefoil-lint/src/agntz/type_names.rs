//! Entries of an `output` that look like those of a schema: `answer: string`.

use std::sync::Arc;

use trefoil_ir::types::Member;
use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{Style, Text};

use trefoil_front::Source;
use trefoil_front::agntz::names::{AgentNames, At, Here};

use super::Found;
use trefoil_front::schema::reading::TYPES;

/// Reports an entry whose value is the name of a type, as in a schema; here it is a text.
pub fn check(file: Source<'_>, names: &Arc<AgentNames>, source: &Text, key: &Text, alone: bool, found: &mut Found) {
    let word = &*source.value;
    // The value of `kind` or `format` may be the name of a type, and so may that of `type` next to other entries.
    let about = matches!(&*key.value, "kind" | "format") || &*key.value == "type" && !alone;
    if !TYPES.contains(&word) || source.style != Style::Plain || about {
        return;
    }
    let at = file.at(source.span);
    let d = Diagnostic::warning(
        "not-a-placeholder",
        at,
        format!("`{word}` is text here, not a type, so the result is this word"),
    );
    let name = &*key.value;
    let has = |path: &str| Here::anywhere(names, At::End).has(path);
    // The last step that has the property is most likely meant.
    let of_step = names
        .steps
        .iter()
        .rev()
        .filter(|s| matches!(s.callee.as_deref().map(|c| c.output.member(name)), Some(Member::Is { .. })));
    let path = of_step.map(|s| format!("{}.{name}", s.key)).find(|path| has(path));
    let path = path.or_else(|| has(name).then(|| name.to_owned()));
    found.push(match path {
        Some(path) => {
            let meant = format!("\"{{{{{path}}}}}\"");
            d.suggestion(format!("write `{meant}`"), at, meant)
        }
        None => d.help("write a template for each entry of `output`, such as `\"{{step.property}}\"`"),
    });
}
