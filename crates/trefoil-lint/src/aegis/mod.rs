//! Mistakes in readable manifests: finders that check the manifest, its names and its bound texts. One file for each
//! subject; each finder is a line in one of the lists. None of them affects a run.

mod callee;
mod checked_reference;
mod command;
mod condition;
mod context;
mod cycle;
mod given;
mod initial;
mod key;
mod mounts;
mod names;
mod output;
mod output_types;
mod passed;
mod prompt;
mod state;
mod target;
mod template;
mod text;
mod unit;

use trefoil_syntax::Diagnostic;

use passed::LazyUnitMentions;
use trefoil_front::aegis::callees::AegisCallee;
use trefoil_front::aegis::{AegisUnit, AegisUnitContent, AegisUnits};
use trefoil_front::{ManifestDocument, ManifestSource};
use unit::{AgentUnit, FindingList, WorkflowUnit};

/// The finders for workflows.
const OF_WORKFLOWS: &[fn(&WorkflowUnit<'_, '_>, &mut FindingList)] = &[
    text::check_workflow_texts,
    state::check_state_names,
    state::blank_inputs,
    initial::find_unknown_initial_state,
    target::find_unknown_targets,
    condition::same_as_success,
    names::find_unknown_names,
    context::check_context_texts,
    output::check_output_keys,
    output_types::check_output_types,
    output::without_template,
    command::check_commands,
    command::check_update_keys,
    command::result_keys,
    given::check_call_inputs,
    callee::find_unread_intents,
    mounts::find_unknown_volumes,
];

/// The finders for agents.
const OF_AGENTS: &[fn(&AgentUnit<'_, '_>, &mut FindingList)] = &[
    text::check_agent_texts,
    prompt::find_unknown_prompt_names,
    prompt::find_unread_inputs,
    prompt::unread_context,
    prompt::find_literal_placeholders,
    prompt::find_missing_files,
];

/// The mistakes in everything that can be reached from entries.
pub fn check_aegis(units: &AegisUnits<'_>) -> Vec<Diagnostic> {
    let mentions: LazyUnitMentions<'_> = LazyUnitMentions::new(Box::new(|| passed::UnitMentions::from_units(units)));
    let mut found = Vec::new();
    for unit in &units.all {
        if let Some(document) = units.project.documents.get(unit.document) {
            found.extend(self::unit(units, document, unit, &mentions));
        }
    }
    found.extend(cycle::find_call_cycles(&units.calls));
    found
}

fn unit(
    units: &AegisUnits<'_>,
    document: &ManifestDocument,
    unit: &AegisUnit,
    mentions: &LazyUnitMentions<'_>,
) -> Vec<Diagnostic> {
    let at = unit.document;
    let file = ManifestSource::for_document(units.project, document);
    let directory = &units.directory.seen_from(unit.document);
    let mut found = Vec::new();
    match &unit.content {
        AegisUnitContent::Agent { agent, names, texts } => {
            let (callees, project) = (&AegisCallee::of_agent(agent), units.project);
            let unit = AgentUnit { file, document, agent, names, texts, project };
            OF_AGENTS.iter().for_each(|find| find(&unit, &mut found));
            passed::check_agent_fields(&unit, mentions, at, &mut found);
            callee::find_unknown_callees(file, callees, directory, Some(&*agent.identity.name), &mut found);
        }
        AegisUnitContent::Workflow { workflow, names, texts } => {
            let callees = &AegisCallee::of_workflow(workflow, texts);
            let unit = WorkflowUnit { file, workflow, names, texts, callees, directory };
            OF_WORKFLOWS.iter().for_each(|find| find(&unit, &mut found));
            passed::check_workflow_fields(&unit, mentions, at, &mut found);
            callee::find_unknown_callees(file, callees, directory, None, &mut found);
        }
    }
    found
}
