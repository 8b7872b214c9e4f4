//! Mistakes in agntz manifests beyond those found by reading. Each file has one kind of mistake, found in the manifest
//! and its bound names.

pub mod agents;
pub mod braces;
pub mod examples;
pub mod indented;
pub mod inert;
pub mod inputs;
pub mod keys;
pub mod literals;
pub mod prefixes;
pub mod references;
pub mod request;
pub mod type_names;
pub mod unresolved;

use trefoil_syntax::Diagnostic;
use trefoil_syntax::hash::HashSet;

use trefoil_front::ManifestSource;
use trefoil_front::agntz::binding::{AgntzCallee, AgntzUnits, BoundAgent};
use trefoil_front::agntz::manifest::{
    AgntzAgentKind, LlmAgent, LlmTool, OutputMap, PipelineManifest, ToolAgent, ToolInvocation,
};
use trefoil_front::agntz::names::PipelinePosition;

pub(crate) use crate::FindingList;

/// Checks everything that can be reached from the entries.
pub fn check_agntz(units: &AgntzUnits<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    references::check_agent_references(units, &mut found);
    for (document, agent) in &units.agents {
        let (Some(document), Some(agent)) = (units.project.documents.get(*document), agent) else { continue };
        check_agent(ManifestSource::for_document(units.project, document), agent, &mut found);
    }
    found
}

fn check_agent(file: ManifestSource<'_>, bound: &BoundAgent<'_>, found: &mut FindingList) {
    texts(file, bound, found);
    agents::check_agent_settings(file, bound, found);
    match &bound.agent.kind {
        AgntzAgentKind::Llm(llm) => model(file, bound, llm, found),
        AgntzAgentKind::Tool(tool) => tool_call(file, bound, tool, found),
        AgntzAgentKind::Sequential(p) | AgntzAgentKind::Parallel(p) => pipeline(file, bound, p, found),
        AgntzAgentKind::Hosted(_) | AgntzAgentKind::Unknown => {}
    }
    for callee in &bound.callees {
        if let AgntzCallee::Inline(inner) = callee {
            check_agent(file, inner, found);
        }
    }
}

/// Checks every text separately.
fn texts(file: ManifestSource<'_>, bound: &BoundAgent<'_>, found: &mut FindingList) {
    // If names are not declared, one warning for each name is enough.
    let mut said = HashSet::default();
    for text in &bound.texts.all {
        literals::check_literals(text, found);
        unresolved::check_text_names(file, &text.here, &text.bound.uses, &mut said, found);
    }
}

fn model(file: ManifestSource<'_>, bound: &BoundAgent<'_>, llm: &LlmAgent<'_>, found: &mut FindingList) {
    for (source, key) in [(llm.instruction, "instruction"), (llm.prompt, "prompt")] {
        source
            .into_iter()
            .for_each(|t| braces::check_bare_name(file, &bound.names, t, PipelinePosition::End, key, found));
    }
    examples::check_examples(file, &llm.examples, llm.output.as_ref(), found);
    inert::check_inert_placeholders(file, llm, found);
    for tool in &llm.tools {
        match tool {
            LlmTool::Http { http, .. } => {
                braces::check_request_values(file, &bound.names, http, found);
                request::check_request(file, http, false, found);
            }
            LlmTool::Mcp { tools, .. } => {
                let params = tools.iter().flatten().flat_map(|tool| &tool.params);
                params.for_each(|(key, value)| {
                    braces::check_bare_name(file, &bound.names, value, PipelinePosition::End, &key.value, found);
                });
            }
            LlmTool::Local(_) | LlmTool::Client { .. } | LlmTool::Agent { .. } => {}
        }
    }
}

fn tool_call(file: ManifestSource<'_>, bound: &BoundAgent<'_>, agent: &ToolAgent<'_>, found: &mut FindingList) {
    match &agent.tool {
        Some(ToolInvocation::Local(params) | ToolInvocation::Mcp { params, .. }) => {
            params.iter().for_each(|(key, value)| {
                braces::check_bare_name(file, &bound.names, value, PipelinePosition::End, &key.value, found)
            });
        }
        Some(ToolInvocation::Http(http)) => {
            braces::check_request_values(file, &bound.names, http, found);
            request::check_request(file, http, true, found);
        }
        None => {}
    }
}

fn pipeline(
    file: ManifestSource<'_>,
    bound: &BoundAgent<'_>,
    pipeline: &PipelineManifest<'_>,
    found: &mut FindingList,
) {
    keys::check_step_keys(file, bound, pipeline, found);
    inputs::check_step_inputs(file, bound, pipeline, found);
    for (index, (step, name)) in pipeline.steps.iter().zip(&bound.names.steps).enumerate() {
        let map = step.input.as_deref().unwrap_or_default();
        for (key, value) in map {
            let property = name.callee.as_ref().and_then(|c| c.inputs.get(&key.value));
            if property.is_none_or(|p| inputs::takes_any_text(&p.of)) {
                braces::check_bare_name(file, &bound.names, value, PipelinePosition::Step(index), &key.value, found);
            }
        }
    }
    if let Some(map) = &pipeline.output {
        output(file, bound, map, found);
    }
}

fn output(file: ManifestSource<'_>, bound: &BoundAgent<'_>, map: &OutputMap<'_>, found: &mut FindingList) {
    let OutputMap::Map(entries) = map else { return };
    for (key, value) in entries {
        match value {
            OutputMap::Text(source) => {
                braces::check_bare_name(file, &bound.names, source, PipelinePosition::End, &key.value, found);
                type_names::check_type_name(file, &bound.names, source, key, entries.len() == 1, found);
            }
            OutputMap::Map(_) => output(file, bound, value, found),
        }
    }
}
