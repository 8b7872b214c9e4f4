//! Entries of an `output` that look like those of a schema: `answer: string`.

use std::sync::Arc;

use trefoil_ir::types::TypeMember;
use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{YamlStyle, YamlText};

use trefoil_front::ManifestSource;
use trefoil_front::agntz::names::{AgntzAgentNames, AgntzScope, PipelinePosition};

use super::FindingList;
use trefoil_front::schema::schema_reading::TYPES;

/// Reports an entry whose value is the name of a type, as in a schema; here it is a text.
pub fn check_type_name(
    file: ManifestSource<'_>,
    names: &Arc<AgntzAgentNames>,
    source: &YamlText,
    key: &YamlText,
    alone: bool,
    found: &mut FindingList,
) {
    let word = &*source.value;
    // The value of `kind` or `format` may be the name of a type, and so may that of `type` next to other entries.
    let about = matches!(&*key.value, "kind" | "format") || &*key.value == "type" && !alone;
    if !TYPES.contains(&word) || source.style != YamlStyle::Plain || about {
        return;
    }
    let at = file.location_of(source.span);
    let d = Diagnostic::new_warning(
        "not-a-placeholder",
        at,
        format!("`{word}` is text here, not a type, so the result is this word"),
    );
    let name = &*key.value;
    found.push(match meant_path(names, name) {
        Some(path) => {
            let meant = format!("\"{{{{{path}}}}}\"");
            d.with_suggestion(format!("write `{meant}`"), at, meant)
        }
        None => d.with_help("write a template for each entry of `output`, such as `\"{{step.property}}\"`"),
    });
}

/// The path to a value with this name: that of the last step that has it, or the name itself.
fn meant_path(names: &Arc<AgntzAgentNames>, name: &str) -> Option<String> {
    let has = |path: &str| AgntzScope::for_lookup(names, PipelinePosition::End).has_path(path);
    for step in names.steps.iter().rev() {
        let path = format!("{}.{name}", step.key);
        if let Some(callee) = &step.callee
            && matches!(callee.output.find_member(name), TypeMember::Is { .. })
            && has(&path)
        {
            return Some(path);
        }
    }
    if has(name) { Some(name.to_owned()) } else { None }
}
