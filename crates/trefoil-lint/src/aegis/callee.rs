//! Calls of agents and workflows that do not exist, or whose prompt does not show the input of the call.

use std::collections::BTreeSet;

use trefoil_syntax::yaml::{YamlNode, YamlText};
use trefoil_syntax::{Diagnostic, Location};

use super::unit::{FindingList, WorkflowUnit};
use trefoil_front::ManifestSource;
use trefoil_front::aegis::callees::AegisCallee;
use trefoil_front::aegis::directory::AegisDirectory;
use trefoil_front::aegis::manifest::AegisUnitKind;
use trefoil_front::spelling_fixes::fix_spelling;

/// Names of no unit, or of several. `own` is the agent to which these judges belong; it is not suggested as its own
/// judge.
pub fn find_unknown_callees(
    file: ManifestSource<'_>,
    callees: &[AegisCallee<'_>],
    directory: &AegisDirectory<'_>,
    own: Option<&str>,
    found: &mut FindingList,
) {
    let mut said = BTreeSet::new();
    for AegisCallee { unit, name, .. } in callees {
        let at = file.location_of(name.span);
        match (directory.find_documents(*unit, &name.value).as_slice(), unit) {
            ([_], _) => {}
            // Reported once in a file, at the first mention.
            ([], AegisUnitKind::Agent) if !said.insert(&*name.value) => {}
            ([], AegisUnitKind::Agent) => found.push(missing_agent(directory, name, own, at)),
            ([], AegisUnitKind::Workflow) => found.push(missing_workflow(directory, name, at)),
            (several, _) => found.push(ambiguous(directory, *unit, name, at, several)),
        }
    }
}

fn missing_agent(directory: &AegisDirectory<'_>, text: &YamlText, own: Option<&str>, at: Location) -> Diagnostic {
    let name = &*text.value;
    if let Some((_, place)) = directory.declarations_of(AegisUnitKind::Workflow, name).next() {
        let d = Diagnostic::new_warning("unknown-reference", at, format!("`{name}` is a workflow, not an agent"));
        return d
            .with_label(place, "declared here")
            .with_help("call it in a state of `kind: Subworkflow`, or name an agent");
    }
    let d = Diagnostic::new_warning("unknown-reference", at, format!("no agent in this folder is named `{name}`"));
    match near(directory, AegisUnitKind::Agent, text, own, at, d) {
        Ok(d) => d,
        Err(d) if looks_like_uuid(name) => {
            d.with_help("write the agent's `metadata.name`; ids on a server are not known here")
        }
        Err(d) => d.with_help(
            "only the embedded model can stand in for it; for any other model, add its manifest to the folder",
        ),
    }
}

fn missing_workflow(directory: &AegisDirectory<'_>, text: &YamlText, at: Location) -> Diagnostic {
    let message = format!("no workflow in this folder is named `{}`", text.value);
    let d = Diagnostic::new_warning("unknown-reference", at, message);
    match near(directory, AegisUnitKind::Workflow, text, None, at, d) {
        Ok(d) => d,
        Err(d) => d.with_help("add its manifest to the folder; a run that can reach this state does not start"),
    }
}

/// The finding with the most similar name, or unchanged if there is none.
fn near(
    directory: &AegisDirectory<'_>,
    unit: AegisUnitKind,
    text: &YamlText,
    except: Option<&str>,
    at: Location,
    d: Diagnostic,
) -> Result<Diagnostic, Diagnostic> {
    let Some(near) = directory.similar_name(unit, &text.value, except) else { return Err(d) };
    let d = d.with_help(format!("did you mean `{}`?", near.name));
    let d = match directory.declarations_of(unit, near.name).next() {
        Some((_, place)) => d.with_label(place, format!("`{}` is declared here", near.name)),
        None => d,
    };
    Ok(fix_spelling(d, at, text, near))
}

/// Several documents declare the referenced unit.
fn ambiguous(
    directory: &AegisDirectory<'_>,
    unit: AegisUnitKind,
    text: &YamlText,
    at: Location,
    several: &[usize],
) -> Diagnostic {
    let sort = if unit == AegisUnitKind::Agent { "agents" } else { "workflows" };
    let mut d = Diagnostic::new_error("ambiguous-reference", at, format!("several {sort} are named `{}`", text.value));
    for (document, place) in directory.declarations_of(unit, &text.value) {
        if several.contains(&document) {
            d = d.with_label(place, "one of them");
        }
    }
    d.with_help("rename all but one")
}

fn looks_like_uuid(name: &str) -> bool {
    let groups: Vec<_> = name.split('-').map(str::len).collect();
    groups == [8, 4, 4, 4, 12] && name.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}

/// Intents that the agent's prompt does not show.
pub fn find_unread_intents(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    for callee in unit.callees {
        let (Some(at), Some(document)) =
            (callee.intent, unit.directory.document_of(AegisUnitKind::Agent, &callee.name.value))
        else {
            continue;
        };
        // The default prompt does not show it.
        let words = ["intent", "this", "@root", "{{."];
        if let Some(prompt) = prompt_template(&document.root)
            && words.iter().any(|word| prompt.value.contains(word))
        {
            continue;
        }
        let message = format!("`intent` has no effect: the prompt of `{}` does not read it", callee.name.value);
        let d = Diagnostic::new_warning("unused", unit.file.location_of(at), message);
        found.push(d.with_help("write `{{intent}}` in its `prompt_template`, or put the text in `input`"));
    }
}

/// The text of `prompt_template` of an agent.
fn prompt_template(root: &YamlNode) -> Option<&YamlText> {
    let task = &root.as_mapping()?.get("spec")?.value.as_mapping()?.get("task")?.value;
    task.as_mapping()?.get("prompt_template")?.value.as_string()
}
