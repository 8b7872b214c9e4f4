//! Judges that cannot judge: their prompt does not show the text, or their answer has no score.

use trefoil_ir::types::ValueType;
use trefoil_syntax::{Diagnostic, Location};

use super::unit::FindingList;
use trefoil_front::aegis::callees::AegisCallee;
use trefoil_front::aegis::directory::AegisDirectory;
use trefoil_front::aegis::manifest::{AegisUnitKind, answer_schema};
use trefoil_front::yaml_reader::to_value;
use trefoil_front::{ManifestDocument, ManifestSource};
use trefoil_syntax::yaml::{YamlNode, YamlText};

/// Names through which a prompt shows the input; the last ones show everything.
const SHOWING: &[&str] = &["input", "intent", "attachments", "this", "@root", "{{."];

/// Reports why judges among the callees cannot judge.
pub fn check_judges(
    file: ManifestSource<'_>,
    callees: &[AegisCallee<'_>],
    directory: &AegisDirectory<'_>,
    found: &mut FindingList,
) {
    let mut said: Vec<&str> = Vec::new();
    for AegisCallee { name, .. } in callees.iter().filter(|callee| callee.verdict) {
        if said.contains(&&*name.value) {
            continue;
        }
        said.push(&name.value);
        let Some(document) = directory.document_of(AegisUnitKind::Agent, &name.value) else { continue };
        let at = file.location_of(name.span);
        found.extend(blind(document, name, at));
        found.extend(without_score(document, name, at));
    }
}

/// A prompt that does not show the text to judge.
fn blind(document: &ManifestDocument, name: &YamlText, at: Location) -> Option<Diagnostic> {
    // The default prompt shows the input.
    let prompt = prompt(&document.root)?;
    if SHOWING.iter().any(|word| prompt.value.contains(word)) {
        return None;
    }
    let message = format!("`{}` never sees what it judges: its prompt does not read `input`", name.value);
    let d = Diagnostic::new_warning("unused", at, message);
    let d = d.with_label(Location::new(document.file, prompt.span), "its prompt");
    Some(d.with_help("write `{{input}}` where the model should read it"))
}

/// The text of `prompt_template`.
fn prompt(root: &YamlNode) -> Option<&YamlText> {
    let task = &root.as_mapping()?.get("spec")?.value.as_mapping()?.get("task")?.value;
    task.as_mapping()?.get("prompt_template")?.value.as_string()
}

/// An answer whose schema declares no score, so it is not a verdict.
fn without_score(document: &ManifestDocument, name: &YamlText, at: Location) -> Option<Diagnostic> {
    let node = answer_schema(&document.root)?;
    let answer = ValueType::from_schema(&to_value(node));
    let properties = &answer.as_object()?.members;
    let lists_all = answer.only_lists() && !properties.is_empty();
    if properties.contains_key("score") || !(answer.never_has("score") || lists_all) {
        return None;
    }
    let message = format!("`{}` answers without a `score`, so its answer is not a verdict", name.value);
    let d = Diagnostic::new_warning("missing-score", at, message);
    let d = d.with_label(Location::new(document.file, node.span), "its answer is declared here");
    Some(d.with_help("declare a `score` from 0 to 1 in the schema of its answer"))
}
