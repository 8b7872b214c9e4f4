//! Mistakes in agntz manifests beyond those found by reading. Each file has one kind of mistake, found in the manifest
//! and its bound names.

pub mod agents;
pub mod braces;
pub mod copied;
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

use trefoil_front::Source;
use trefoil_front::agntz::bind::{BoundAgent, Callee, Units};
use trefoil_front::agntz::manifest::{Kind, Llm, OutputMap, Pipeline, Tool, ToolAgent, ToolUse};
use trefoil_front::agntz::names::At;

pub(crate) use crate::Found;

/// Checks everything that can be reached from the entries.
pub fn check(units: &Units<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    references::check(units, &mut found);
    for (document, agent) in &units.agents {
        let (Some(document), Some(agent)) = (units.project.documents.get(*document), agent) else { continue };
        check_agent(Source::of(units.project, document), agent, &mut found);
    }
    found
}

fn check_agent(file: Source<'_>, bound: &BoundAgent<'_>, found: &mut Found) {
    texts(file, bound, found);
    agents::check(file, bound, found);
    match &bound.agent.kind {
        Kind::Llm(llm) => model(file, bound, llm, found),
        Kind::Tool(tool) => tool_call(file, bound, tool, found),
        Kind::Sequential(p) | Kind::Parallel(p) => pipeline(file, bound, p, found),
        Kind::Hosted(_) | Kind::Unknown => {}
    }
    for callee in &bound.callees {
        if let Callee::Inline(inner) = callee {
            check_agent(file, inner, found);
        }
    }
}

/// Checks every text separately.
fn texts(file: Source<'_>, bound: &BoundAgent<'_>, found: &mut Found) {
    // If names are not declared, one warning for each name is enough.
    let mut said = HashSet::default();
    for text in &bound.texts.all {
        literals::check(text, found);
        unresolved::check(file, &text.here, &text.bound.uses, &mut said, found);
    }
}

fn model(file: Source<'_>, bound: &BoundAgent<'_>, llm: &Llm<'_>, found: &mut Found) {
    for (source, key) in [(llm.instruction, "instruction"), (llm.prompt, "prompt")] {
        source.into_iter().for_each(|t| braces::check(file, &bound.names, t, At::End, key, found));
    }
    examples::check(file, &llm.examples, llm.output.as_ref(), found);
    inert::check(file, llm, found);
    for tool in &llm.tools {
        match tool {
            Tool::Http { http, .. } => {
                braces::request(file, &bound.names, http, found);
                request::check(file, http, false, found);
            }
            Tool::Mcp { tools, .. } => {
                let params = tools.iter().flatten().flat_map(|tool| &tool.params);
                params.for_each(|(key, value)| {
                    braces::check(file, &bound.names, value, At::End, &key.value, found);
                });
            }
            Tool::Local(_) | Tool::Client { .. } | Tool::Agent { .. } => {}
        }
    }
}

fn tool_call(file: Source<'_>, bound: &BoundAgent<'_>, agent: &ToolAgent<'_>, found: &mut Found) {
    match &agent.tool {
        Some(ToolUse::Local(params) | ToolUse::Mcp { params, .. }) => {
            params.iter().for_each(|(key, value)| braces::check(file, &bound.names, value, At::End, &key.value, found));
        }
        Some(ToolUse::Http(http)) => {
            braces::request(file, &bound.names, http, found);
            request::check(file, http, true, found);
        }
        None => {}
    }
}

fn pipeline(file: Source<'_>, bound: &BoundAgent<'_>, pipeline: &Pipeline<'_>, found: &mut Found) {
    keys::check(file, bound, pipeline, found);
    inputs::check(file, bound, pipeline, found);
    for (index, (step, name)) in pipeline.steps.iter().zip(&bound.names.steps).enumerate() {
        let map = step.input.as_deref().unwrap_or_default();
        for (key, value) in map {
            let property = name.callee.as_ref().and_then(|c| c.inputs.get(&key.value));
            if property.is_none_or(|p| inputs::takes_any_text(&p.of)) {
                braces::check(file, &bound.names, value, At::Step(index), &key.value, found);
            }
        }
        copied::check(file, &bound.names, At::Step(index), map.iter().copied(), found);
    }
    if let Some(map) = &pipeline.output {
        output(file, bound, map, found);
    }
}

fn output(file: Source<'_>, bound: &BoundAgent<'_>, map: &OutputMap<'_>, found: &mut Found) {
    let OutputMap::Map(entries) = map else { return };
    for (key, value) in entries {
        match value {
            OutputMap::Text(source) => {
                braces::check(file, &bound.names, source, At::End, &key.value, found);
                type_names::check(file, &bound.names, source, key, entries.len() == 1, found);
            }
            OutputMap::Map(_) => output(file, bound, value, found),
        }
    }
    let texts = entries.iter().filter_map(|(key, value)| match value {
        OutputMap::Text(source) => Some((*key, *source)),
        OutputMap::Map(_) => None,
    });
    copied::check(file, &bound.names, At::End, texts, found);
}
