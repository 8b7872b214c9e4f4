//! Calls of agents and workflows that do not exist, or whose prompt does not show the input of the call.

use std::collections::BTreeSet;

use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, Location};

use super::unit::{Found, Workflow};
use trefoil_front::Source;
use trefoil_front::aegis::callees::Callee;
use trefoil_front::aegis::directory::Directory;
use trefoil_front::aegis::manifest::Unit;
use trefoil_front::mend::respelt;

/// Names of no unit, or of several. `own` is the agent to which these judges belong; it is not suggested as its own
/// judge.
pub fn unknown(
    file: Source<'_>,
    callees: &[Callee<'_>],
    directory: &Directory<'_>,
    own: Option<&str>,
    found: &mut Found,
) {
    let mut said = BTreeSet::new();
    for Callee { unit, name, .. } in callees {
        let at = file.at(name.span);
        match (directory.find(*unit, &name.value).as_slice(), unit) {
            ([_], _) => {}
            // Reported once in a file, at the first mention.
            ([], Unit::Agent) if !said.insert(&*name.value) => {}
            ([], Unit::Agent) => found.push(missing_agent(directory, name, own, at)),
            ([], Unit::Workflow) => found.push(missing_workflow(directory, name, at)),
            (several, _) => found.push(ambiguous(directory, *unit, name, at, several)),
        }
    }
}

fn missing_agent(directory: &Directory<'_>, text: &Text, own: Option<&str>, at: Location) -> Diagnostic {
    let name = &*text.value;
    if let Some((_, place)) = directory.declared(Unit::Workflow, name).next() {
        let d = Diagnostic::warning("unknown-reference", at, format!("`{name}` is a workflow, not an agent"));
        return d.label(place, "declared here").help("call it in a state of `kind: Subworkflow`, or name an agent");
    }
    let d = Diagnostic::warning("unknown-reference", at, format!("no agent in this folder is named `{name}`"));
    match near(directory, Unit::Agent, text, own, at, d) {
        Ok(d) => d,
        Err(d) if looks_like_uuid(name) => {
            d.help("write the agent's `metadata.name`; ids on a server are not known here")
        }
        Err(d) => {
            d.help("only the embedded model can stand in for it; for any other model, add its manifest to the folder")
        }
    }
}

fn missing_workflow(directory: &Directory<'_>, text: &Text, at: Location) -> Diagnostic {
    let message = format!("no workflow in this folder is named `{}`", text.value);
    let d = Diagnostic::warning("unknown-reference", at, message);
    near(directory, Unit::Workflow, text, None, at, d)
        .unwrap_or_else(|d| d.help("add its manifest to the folder; a run that can reach this state does not start"))
}

/// The finding with the most similar name, or unchanged if there is none.
fn near(
    directory: &Directory<'_>,
    unit: Unit,
    text: &Text,
    except: Option<&str>,
    at: Location,
    d: Diagnostic,
) -> Result<Diagnostic, Diagnostic> {
    let Some(near) = directory.near(unit, &text.value, except) else { return Err(d) };
    let d = d.help(format!("did you mean `{}`?", near.name));
    let d = match directory.declared(unit, near.name).next() {
        Some((_, place)) => d.label(place, format!("`{}` is declared here", near.name)),
        None => d,
    };
    Ok(respelt(d, at, text, near))
}

/// Several documents declare the referenced unit.
fn ambiguous(directory: &Directory<'_>, unit: Unit, text: &Text, at: Location, several: &[usize]) -> Diagnostic {
    let sort = if unit == Unit::Agent { "agents" } else { "workflows" };
    let mut d = Diagnostic::error("ambiguous-reference", at, format!("several {sort} are named `{}`", text.value));
    for (_, place) in directory.declared(unit, &text.value).filter(|(document, _)| several.contains(document)) {
        d = d.label(place, "one of them");
    }
    d.help("rename all but one")
}

fn looks_like_uuid(name: &str) -> bool {
    let groups: Vec<_> = name.split('-').map(str::len).collect();
    groups == [8, 4, 4, 4, 12] && name.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
}

/// Intents that the agent's prompt does not show.
pub fn intents(unit: &Workflow<'_, '_>, found: &mut Found) {
    for callee in unit.callees {
        let (Some(at), Some(document)) = (callee.intent, unit.directory.document(Unit::Agent, &callee.name.value))
        else {
            continue;
        };
        let prompt = || {
            let task = &document.root.mapping()?.get("spec")?.value.mapping()?.get("task")?.value;
            task.mapping()?.get("prompt_template")?.value.string()
        };
        // The default prompt does not show it.
        let words = ["intent", "this", "@root", "{{."];
        if prompt().is_some_and(|text| words.iter().any(|word| text.value.contains(word))) {
            continue;
        }
        let message = format!("`intent` has no effect: the prompt of `{}` does not read it", callee.name.value);
        let d = Diagnostic::warning("unused", unit.file.at(at), message);
        found.push(d.help("write `{{intent}}` in its `prompt_template`, or put the text in `input`"));
    }
}
