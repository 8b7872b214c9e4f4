//! Prompts of agents: unknown names, and inputs that they do not show.

use trefoil_syntax::{Diagnostic, suggest};
use trefoil_template::is_helper;

use super::template;
use super::unit::{AgentUnit, Found};
use trefoil_front::aegis::manifest::agent::ContextEntry;
use trefoil_front::aegis::manifest::execution::ValidatorKindSpec;
use trefoil_front::aegis::texts::PROMPT;
use trefoil_front::mend;
use trefoil_front::names::{End, Use};
use trefoil_front::project::resolve_path;

/// Unknown names in a prompt.
pub fn unknown(unit: &AgentUnit<'_, '_>, found: &mut Found) {
    for (_, used) in unit.texts.uses() {
        if let End::Nothing(stop) = &used.bound.end
            && stop.segment == 0
        {
            found.push(no_name(unit, used, &stop.before.names));
        }
    }
}

fn no_name(unit: &AgentUnit<'_, '_>, used: &Use, names: &[std::sync::Arc<str>]) -> Diagnostic {
    let (at, name) = (used.at, used.name(0));
    let place = used.segment(0);
    let d = Diagnostic::warning("unresolved-name", at, format!("a prompt has no `{name}`, so it is always empty"));
    match suggest::near(name, names.iter().map(|n| &**n)) {
        _ if matches!(name, "last_error" | "error" | "error_message") => {
            mend::rewritten(d.help("did you mean `previous_error`?"), place, "previous_error", false)
        }
        _ if is_helper(name) => d.help(format!("`{name}` is a helper: write its argument after it")),
        _ if unit.names.prompt.declared.declares(name) => {
            mend::rewritten(d.help(format!("write `input.{name}`")), place, &format!("input.{name}"), true)
        }
        Some(near) => mend::renamed(d.help(format!("did you mean `{}`?", near.name)), place, near, true),
        None if matches!(name, "workflow" | "blackboard" | "state") => {
            d.help("an agent does not see the workflow that calls it: pass the value in the state's `input`")
        }
        None => d.help(format!("write `input.{name}` for a field of the input")),
    }
}

/// The first names of the prompt's references; `None`: it may show everything, or it is unknown.
fn shown<'u>(unit: &'u AgentUnit<'_, '_>) -> Option<Vec<&'u str>> {
    let prompt = unit.agent.prompt.as_ref()?;
    unit.texts.get(PROMPT, prompt)?.as_template()?;
    let uses = unit.texts.uses().map(|(_, used)| used.reference.path.first().map(|s| &*s.name));
    uses.collect()
}

/// Inputs of the agent that its prompt never shows.
pub fn unread(unit: &AgentUnit<'_, '_>, found: &mut Found) {
    let (Some(prompt), Some(shown)) = (&unit.agent.prompt, shown(unit)) else { return };
    let at = unit.file.at(prompt.span);
    // A blank one is reported as missing.
    let written = unit.agent.instruction.as_ref().is_some_and(|text| !text.value.trim().is_empty());
    if written && !shown.contains(&"instruction") {
        let d = Diagnostic::warning("unused", at, "`instruction` has no effect: `prompt_template` does not read it");
        found.push(d.help("write `{{instruction}}` where the model should read it"));
    }
    if !["input", "intent", "attachments"].iter().any(|name| shown.contains(name)) {
        let message = "`prompt_template` does not read `input`, so the model never sees the agent's input";
        let d = Diagnostic::info("unused", at, message);
        found.push(d.help("write `{{input}}` where the model should read it"));
    }
}

/// Texts for `{{context}}` that the prompt does not show.
pub fn unread_context(unit: &AgentUnit<'_, '_>, found: &mut Found) {
    let Some(ContextEntry::Text(first) | ContextEntry::File(first)) = unit.agent.context.first() else { return };
    let prompt = match unit.agent.prompt {
        // The default prompt shows the instruction and the input.
        None => "the default prompt",
        Some(_) if shown(unit).is_some_and(|shown| !shown.contains(&"context")) => "`prompt_template`",
        Some(_) => return,
    };
    let message = format!("`context` has no effect: {prompt} does not read it");
    let d = Diagnostic::warning("unused", unit.file.at(first.span), message);
    found.push(d.help("write `{{context}}` in `prompt_template` where the model should read it"));
}

/// Placeholders in texts that are not templates.
pub fn templates(unit: &AgentUnit<'_, '_>, found: &mut Found) {
    let named = |path: &str| unit.names.prompt.begin(path);
    if let Some(instruction) = &unit.agent.instruction {
        let help = "put it in `prompt_template`";
        template::none(unit.file, instruction, "instruction", help, &named, found);
    }
    for validator in &unit.agent.execution.validation {
        if let ValidatorKindSpec::Judges { criteria, .. } = &validator.kind {
            template::none(unit.file, criteria, "criteria", "", &named, found);
        }
    }
}

/// Files of the context that cannot be read.
pub fn files(unit: &AgentUnit<'_, '_>, found: &mut Found) {
    for entry in unit.agent.context.iter().filter(|_| unit.project.context.is_none()) {
        let ContextEntry::File(path) = entry else { continue };
        if !unit.project.attachments.contains_key(&resolve_path(&unit.document.path, &path.value)) {
            let message = format!("the file `{}` cannot be read", path.value);
            let d = Diagnostic::error("unknown-reference", unit.file.at(path.span), message);
            found.push(d.help("paths are relative to the manifest"));
        }
    }
}
