//! Judges that cannot judge: their prompt does not show the text, or their answer has no score.

use trefoil_ir::types::Type;
use trefoil_syntax::{Diagnostic, Location};

use super::unit::Found;
use trefoil_front::aegis::callees::Callee;
use trefoil_front::aegis::directory::Directory;
use trefoil_front::aegis::manifest::{Unit, answer_schema};
use trefoil_front::read::to_value;
use trefoil_front::{Document, Source};
use trefoil_syntax::yaml::{Node, Text};

/// Names through which a prompt shows the input; the last ones show everything.
const SHOWING: &[&str] = &["input", "intent", "attachments", "this", "@root", "{{."];

/// Reports why judges among the callees cannot judge.
pub fn check(file: Source<'_>, callees: &[Callee<'_>], directory: &Directory<'_>, found: &mut Found) {
    let mut said: Vec<&str> = Vec::new();
    for Callee { name, .. } in callees.iter().filter(|callee| callee.verdict) {
        if said.contains(&&*name.value) {
            continue;
        }
        said.push(&name.value);
        let Some(document) = directory.document(Unit::Agent, &name.value) else { continue };
        let at = file.at(name.span);
        found.extend(blind(document, name, at));
        found.extend(without_score(document, name, at));
    }
}

/// A prompt that does not show the text to judge.
fn blind(document: &Document, name: &Text, at: Location) -> Option<Diagnostic> {
    // The default prompt shows the input.
    let prompt = prompt(&document.root)?;
    if SHOWING.iter().any(|word| prompt.value.contains(word)) {
        return None;
    }
    let message = format!("`{}` never sees what it judges: its prompt does not read `input`", name.value);
    let d = Diagnostic::warning("unused", at, message);
    let d = d.label(Location::new(document.file, prompt.span), "its prompt");
    Some(d.help("write `{{input}}` where the model should read it"))
}

/// The text of `prompt_template`.
fn prompt(root: &Node) -> Option<&Text> {
    let task = &root.mapping()?.get("spec")?.value.mapping()?.get("task")?.value;
    task.mapping()?.get("prompt_template")?.value.string()
}

/// An answer whose schema declares no score, so it is not a verdict.
fn without_score(document: &Document, name: &Text, at: Location) -> Option<Diagnostic> {
    let node = answer_schema(&document.root)?;
    let answer = Type::declared(&to_value(node));
    let properties = &answer.as_object()?.members;
    let lists_all = answer.only_lists() && !properties.is_empty();
    if properties.contains_key("score") || !(answer.never_has("score") || lists_all) {
        return None;
    }
    let message = format!("`{}` answers without a `score`, so its answer is not a verdict", name.value);
    let d = Diagnostic::warning("missing-score", at, message);
    let d = d.label(Location::new(document.file, node.span), "its answer is declared here");
    Some(d.help("declare a `score` from 0 to 1 in the schema of its answer"))
}
