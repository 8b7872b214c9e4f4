//! What people get wrong in agntz manifests, beyond what reading says. Each file is one kind of mistake, looked for in the
//! manifest and the names that were bound.

pub mod agents;
pub mod braces;
pub mod copied;
pub mod indented;
pub mod inputs;
pub mod keys;
pub mod literals;
pub mod masked;
pub mod prefixes;
pub mod type_names;
pub mod unresolved;

use trefoil_syntax::Diagnostic;
use trefoil_syntax::hash::HashSet;

use crate::text;
use trefoil_front::agntz::bind::{BoundAgent, Callee, Units};
use trefoil_front::agntz::manifest::{Kind, Llm, OutputMap, Pipeline, ToolAgent, ToolUse};
use trefoil_front::agntz::names::At;
use trefoil_front::read::Reader;

/// Looks at everything that the entries reach.
pub fn check(units: &Units<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (document, agent) in &units.agents {
        let (Some(document), Some(agent)) = (units.project.documents.get(*document), agent) else { continue };
        let own = std::cell::RefCell::default();
        check_agent(&Reader::of(units.project, document, &own), agent);
        found.extend(own.into_inner().diagnostics.into_sorted());
    }
    found
}

fn check_agent(reader: &Reader<'_>, bound: &BoundAgent<'_>) {
    texts(reader, bound);
    agents::check(reader, bound);
    match &bound.agent.kind {
        Kind::Llm(llm) => model(reader, bound, llm),
        Kind::Tool(tool) => tool_call(reader, bound, tool),
        Kind::Sequential(p) | Kind::Parallel(p) => pipeline(reader, bound, p),
        Kind::Hosted(_) | Kind::Unknown => {}
    }
    for callee in &bound.callees {
        if let Callee::Inline(inner) = callee {
            check_agent(reader, inner);
        }
    }
}

/// Every text by itself.
fn texts(reader: &Reader<'_>, bound: &BoundAgent<'_>) {
    // Where names are not declared, one warning a name is enough.
    let mut said = HashSet::default();
    for text in &bound.texts.all {
        let mut found = Vec::new();
        text::find(&text.bound, &mut found);
        literals::check(text, &mut found);
        found.into_iter().for_each(|d| reader.report(d));
        unresolved::check(reader, &text.here, &text.bound.uses, &mut said);
    }
}

fn model(reader: &Reader<'_>, bound: &BoundAgent<'_>, llm: &Llm<'_>) {
    for (source, key) in [(llm.instruction, "instruction"), (llm.prompt, "prompt")] {
        source.into_iter().for_each(|t| braces::check(reader, &bound.names, t, At::End, key));
    }
    llm.inner_http.iter().for_each(|http| braces::request(reader, &bound.names, http));
}

fn tool_call(reader: &Reader<'_>, bound: &BoundAgent<'_>, agent: &ToolAgent<'_>) {
    match &agent.tool {
        Some(ToolUse::Local(params) | ToolUse::Mcp { params, .. }) => {
            params.iter().for_each(|(key, value)| braces::check(reader, &bound.names, value, At::End, &key.value));
        }
        Some(ToolUse::Http(http)) => braces::request(reader, &bound.names, http),
        None => {}
    }
}

fn pipeline(reader: &Reader<'_>, bound: &BoundAgent<'_>, pipeline: &Pipeline<'_>) {
    keys::check(reader, bound, pipeline);
    inputs::check(reader, bound, pipeline);
    for (index, (step, name)) in pipeline.steps.iter().zip(&bound.names.steps).enumerate() {
        let map = step.input.as_deref().unwrap_or_default();
        for (key, value) in map {
            let property = name.callee.as_ref().and_then(|c| c.inputs.get(&key.value));
            if property.is_none_or(|p| inputs::takes_any_text(&p.json)) {
                braces::check(reader, &bound.names, value, At::Step(index), &key.value);
            }
        }
        copied::check(reader, &bound.names, At::Step(index), map.iter().copied());
    }
    if let Some(map) = &pipeline.output {
        output(reader, bound, map);
        if bound.entry {
            masked::check(reader, bound, map);
        }
    }
}

fn output(reader: &Reader<'_>, bound: &BoundAgent<'_>, map: &OutputMap<'_>) {
    let OutputMap::Map(entries) = map else { return };
    for (key, value) in entries {
        match value {
            OutputMap::Text(source) => {
                braces::check(reader, &bound.names, source, At::End, &key.value);
                type_names::check(reader, &bound.names, source, key, entries.len() == 1);
            }
            OutputMap::Map(_) => output(reader, bound, value),
        }
    }
    let texts = entries.iter().filter_map(|(key, value)| match value {
        OutputMap::Text(source) => Some((*key, *source)),
        OutputMap::Map(_) => None,
    });
    copied::check(reader, &bound.names, At::End, texts);
}
