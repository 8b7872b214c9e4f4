//! Prompts of agents: unknown names, and inputs that they do not show.

use trefoil_syntax::{Diagnostic, suggestions};
use trefoil_template::is_helper;

use super::template;
use super::unit::{AgentUnit, FindingList};
use trefoil_front::aegis::manifest::agent::ContextEntry;
use trefoil_front::aegis::manifest::execution::ValidatorKindSpec;
use trefoil_front::aegis::texts::PROMPT;
use trefoil_front::names::{BoundReference, PathResolution};
use trefoil_front::project::resolve_path;
use trefoil_front::spelling_fixes;

/// Unknown names in a prompt.
pub fn find_unknown_prompt_names(unit: &AgentUnit<'_, '_>, found: &mut FindingList) {
    for (_, used) in unit.texts.bound_references() {
        if let PathResolution::Nothing(stop) = &used.bound.end
            && stop.segment == 0
        {
            found.push(no_name(unit, used, &stop.before.names));
        }
    }
}

fn no_name(unit: &AgentUnit<'_, '_>, used: &BoundReference, names: &[std::sync::Arc<str>]) -> Diagnostic {
    let (at, name) = (used.at, used.segment_name(0));
    let place = used.segment_location(0);
    let d = Diagnostic::new_warning("unresolved-name", at, format!("a prompt has no `{name}`, so it is always empty"));
    match suggestions::find_near_match(name, names.iter().map(|n| &**n)) {
        _ if matches!(name, "last_error" | "error" | "error_message") => {
            spelling_fixes::fix_path(d.with_help("did you mean `previous_error`?"), place, "previous_error", false)
        }
        _ if is_helper(name) => d.with_help(format!("`{name}` is a helper: write its argument after it")),
        _ if unit.names.prompt.declared.declares_field(name) => spelling_fixes::fix_path(
            d.with_help(format!("write `input.{name}`")),
            place,
            &format!("input.{name}"),
            true,
        ),
        Some(near) => {
            spelling_fixes::fix_name(d.with_help(format!("did you mean `{}`?", near.name)), place, near, true)
        }
        None if matches!(name, "workflow" | "blackboard" | "state") => {
            d.with_help("an agent does not see the workflow that calls it: pass the value in the state's `input`")
        }
        None => d.with_help(format!("write `input.{name}` for a field of the input")),
    }
}

/// The first names of the prompt's references; `None`: it may show everything, or it is unknown.
fn displayed_names<'u>(unit: &'u AgentUnit<'_, '_>) -> Option<Vec<&'u str>> {
    let prompt = unit.agent.prompt.as_ref()?;
    unit.texts.get(PROMPT, prompt)?.as_template()?;
    let mut names = Vec::new();
    for (_, used) in unit.texts.bound_references() {
        names.push(&*used.reference.path.first()?.name);
    }
    Some(names)
}

/// Inputs of the agent that its prompt never shows.
pub fn find_unread_inputs(unit: &AgentUnit<'_, '_>, found: &mut FindingList) {
    let (Some(prompt), Some(shown)) = (&unit.agent.prompt, displayed_names(unit)) else { return };
    let at = unit.file.location_of(prompt.span);
    // A blank one is reported as missing.
    let written = matches!(&unit.agent.instruction, Some(text) if !text.value.trim().is_empty());
    if written && !shown.contains(&"instruction") {
        let d =
            Diagnostic::new_warning("unused", at, "`instruction` has no effect: `prompt_template` does not read it");
        found.push(d.with_help("write `{{instruction}}` where the model should read it"));
    }
    if !["input", "intent", "attachments"].iter().any(|name| shown.contains(name)) {
        let message = "`prompt_template` does not read `input`, so the model never sees the agent's input";
        let d = Diagnostic::new_info("unused", at, message);
        found.push(d.with_help("write `{{input}}` where the model should read it"));
    }
}

/// Texts for `{{context}}` that the prompt does not show.
pub fn unread_context(unit: &AgentUnit<'_, '_>, found: &mut FindingList) {
    let Some(ContextEntry::Text(first) | ContextEntry::File(first)) = unit.agent.context.first() else { return };
    let prompt = match unit.agent.prompt {
        // The default prompt shows the instruction and the input.
        None => "the default prompt",
        Some(_)
            if let Some(shown) = displayed_names(unit)
                && !shown.contains(&"context") =>
        {
            "`prompt_template`"
        }
        Some(_) => return,
    };
    let message = format!("`context` has no effect: {prompt} does not read it");
    let d = Diagnostic::new_warning("unused", unit.file.location_of(first.span), message);
    found.push(d.with_help("write `{{context}}` in `prompt_template` where the model should read it"));
}

/// Placeholders in texts that are not templates.
pub fn find_literal_placeholders(unit: &AgentUnit<'_, '_>, found: &mut FindingList) {
    let named = |path: &str| unit.names.prompt.is_path_start(path);
    if let Some(instruction) = &unit.agent.instruction {
        let help = "put it in `prompt_template`";
        template::check_literal_text(unit.file, instruction, "instruction", help, &named, found);
    }
    for validator in &unit.agent.execution.validation {
        if let ValidatorKindSpec::Judges { criteria, .. } = &validator.kind {
            template::check_literal_text(unit.file, criteria, "criteria", "", &named, found);
        }
    }
}

/// Files of the context that cannot be read.
pub fn find_missing_files(unit: &AgentUnit<'_, '_>, found: &mut FindingList) {
    if unit.project.context.is_some() {
        return;
    }
    for entry in &unit.agent.context {
        let ContextEntry::File(path) = entry else { continue };
        if !unit.project.attachments.contains_key(&resolve_path(&unit.document.path, &path.value)) {
            let message = format!("the file `{}` cannot be read", path.value);
            let d = Diagnostic::new_error("unknown-reference", unit.file.location_of(path.span), message);
            found.push(d.with_help("paths are relative to the manifest"));
        }
    }
}
