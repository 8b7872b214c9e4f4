//! References to names that do not exist.

use std::collections::HashSet;

use trefoil_project::schema::SchemaSegment;
use trefoil_syntax::yaml::YamlNode;

use super::{AEGIS, AGNTZ, ALL, Class, SIREN, class};
use crate::Manifest;
use crate::edit::{Mutation, misspelt, range};
use crate::manifest::{Place, Reference, state_key};

pub(super) const CLASSES: &[Class] = &[
    class("a step, state or node misspelt in a template", ALL, step),
    class("a property of an output misspelt", ALL, property),
    class("an input misspelt in a template", ALL, input),
    class("a property of plain text", ALL, of_text),
    class("a `ref` misspelt", &["agntz", "sirenspec"], reference),
    class("an agent misspelt", &["aegis", "sirenspec"], agent),
    class("an end of an edge misspelt", SIREN, edge),
    class("a target of a transition misspelt", AEGIS, target),
    class("a fallback node misspelt", SIREN, fallback),
    class("an initial state misspelt", AEGIS, initial),
    class("a judge misspelt", AEGIS, judge),
    class("a property under `workflow` misspelt", AEGIS, workflow),
    class("an agent of a swarm misspelt", SIREN, member),
    class("an agent beyond the last", AEGIS, beyond),
    class("`secrets` or `env` without a name", ALL, no_name),
];

/// The names of results of steps, states and nodes.
pub fn steps(m: &Manifest) -> HashSet<String> {
    match m.dialect {
        "agntz" => m.pipelines().iter().flat_map(|(_, items, _)| items.iter().filter_map(state_key)).collect(),
        "aegis" => states(m).into_iter().map(|(name, _)| name).collect(),
        _ => m.entries("nodes").iter().map(|e| e.key.value.to_string()).collect(),
    }
}

/// The states of a workflow by name, in either form.
pub fn states(m: &Manifest) -> Vec<(String, YamlNode)> {
    let Some(states) = m.get("spec.states") else { return Vec::new() };
    let mapped =
        states.as_mapping().into_iter().flat_map(|s| &s.entries).map(|e| (e.key.value.to_string(), e.value.clone()));
    let listed = states
        .as_sequence()
        .unwrap_or_default()
        .iter()
        .filter_map(|n| Some((n.as_mapping()?.get("name")?.value.as_string()?.value.to_string(), n.clone())));
    mapped.chain(listed).collect()
}

fn misspell(m: &Manifest, r: &Reference, at: usize) -> Option<Mutation> {
    let (name, span) = r.segments.get(at)?;
    let wrong = misspelt(name);
    (!m.text.contains(&wrong)).then(|| m.put(span.clone(), wrong))?
}

fn value(m: &Manifest, p: &Place) -> Option<Mutation> {
    let text = p.entry.value.as_string().filter(|t| !t.value.contains("{{") && !t.value.is_empty())?;
    m.put(range(text.content_span()), misspelt(&text.value))
}

fn step(m: &Manifest) -> Vec<Mutation> {
    let steps = steps(m);
    let read = |r: &&Reference| r.segments.first().is_some_and(|(name, _)| steps.contains(name));
    m.references().iter().filter(read).filter_map(|r| misspell(m, r, 0)).collect()
}

fn property(m: &Manifest) -> Vec<Mutation> {
    let steps = steps(m);
    let read =
        |r: &&Reference| r.segments.first().is_some_and(|(name, _)| steps.contains(name)) && r.segments.len() > 1;
    let last = |r: &Reference| if m.dialect == "agntz" { r.segments.len() - 1 } else { 1 };
    m.references().iter().filter(read).filter_map(|r| misspell(m, r, last(r))).collect()
}

fn input(m: &Manifest) -> Vec<Mutation> {
    let one = |r: &Reference| match m.dialect {
        "agntz" => {
            let place = m.places.get(r.place)?;
            let owner = (0..=place.path.len()).rev().find_map(|n| {
                m.places.iter().find(|p| p.path == place.path[..n] && &*p.entry.key.value == "inputSchema")
            })?;
            let declared = owner.entry.value.as_mapping()?.get(&r.segments.first()?.0).is_some();
            declared.then(|| misspell(m, r, 0))?
        }
        "aegis" => {
            let schema = m.get("spec.input_schema").or_else(|| m.get("metadata.input_schema"))?;
            let declared = schema.as_mapping()?.get("properties")?.value.as_mapping()?;
            let (root, name) = (r.segments.first()?, r.segments.get(1)?);
            (root.0 == "input" && declared.get(&name.0).is_some()).then(|| misspell(m, r, 1))?
        }
        _ => (r.segments.first()?.0 == "inputs" && r.segments.len() > 1).then(|| misspell(m, r, 1))?,
    };
    m.references().iter().filter_map(one).collect()
}

fn of_text(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for r in m.references() {
        let Some((root, _)) = r.segments.first() else { continue };
        let text = match m.dialect {
            "agntz" => {
                r.segments.len() == 1
                    && m.pipelines().iter().any(|(place, items, _)| {
                        m.places.get(r.place).is_some_and(|p| p.path.starts_with(&place.path))
                            && items.iter().any(|s| state_key(s).as_ref() == Some(root) && is_text_agent(m, s))
                    })
                    && !m.text[r.tag.clone()].contains('#')
            }
            "sirenspec" => {
                r.segments.len() == 2
                    && r.segments.get(1).is_some_and(|(s, _)| s == "output")
                    && m.entries("nodes").iter().any(|n| {
                        let node = n.value.as_mapping();
                        *n.key.value == **root
                            && node.is_some_and(|n| n.get("type").is_none() && n.get("agent").is_some())
                    })
                    && !m.text[r.tag.clone()].contains("json_or")
            }
            _ => false,
        };
        if let Some((_, last)) = r.segments.last().filter(|_| text) {
            found.extend(m.put(last.end..last.end, ".headline"));
        }
    }
    found
}

fn is_text_agent(m: &Manifest, step: &YamlNode) -> bool {
    let child = m.child(step);
    let child = child.as_ref().and_then(YamlNode::as_mapping);
    child.is_some_and(|c| {
        let llm = c.get("kind").and_then(|e| e.value.as_string()).is_some_and(|k| &*k.value == "llm");
        llm && c.get("outputSchema").is_none()
    })
}

fn reference(m: &Manifest) -> Vec<Mutation> {
    m.keyed("ref").filter(|p| m.is_format_key(p).is_some()).filter_map(|p| value(m, p)).collect()
}

fn agent(m: &Manifest) -> Vec<Mutation> {
    let keys = ["agent", "agent_id", "workflow_id"];
    let all = m.places.iter().filter(|p| keys.contains(&&*p.entry.key.value) && m.is_format_key(p).is_some());
    let judged = |p: &&Place| !p.path.iter().any(|s| matches!(s, SchemaSegment::Key(k) if k == "judges"));
    all.filter(judged).filter_map(|p| value(m, p)).collect()
}

fn judge(m: &Manifest) -> Vec<Mutation> {
    let inside = |p: &&Place| p.path.iter().any(|s| matches!(s, SchemaSegment::Key(k) if k == "judges"));
    // Validators of tool calls have no effect here.
    let run = |p: &&Place| !p.path.iter().any(|s| matches!(s, SchemaSegment::Key(k) if k == "tool_validation"));
    let listed = m.keyed("judges").filter_map(|p| p.entry.value.as_sequence()).flatten().filter_map(|n| n.as_string());
    let names = listed.filter_map(|t| m.put(range(t.content_span()), misspelt(&t.value)));
    m.keyed("agent_id")
        .chain(m.keyed("agent"))
        .filter(inside)
        .chain(m.keyed("judge_agent").filter(run))
        .filter_map(|p| value(m, p))
        .chain(names)
        .collect()
}

fn edge(m: &Manifest) -> Vec<Mutation> {
    let ends = m.keyed("from").chain(m.keyed("to"));
    ends.filter(|p| m.is_format_key(p).is_some()).filter_map(|p| value(m, p)).collect()
}

fn target(m: &Manifest) -> Vec<Mutation> {
    let inside = |p: &&Place| p.path.iter().any(|s| matches!(s, SchemaSegment::Key(k) if k == "transitions"));
    m.keyed("target").filter(inside).filter_map(|p| value(m, p)).collect()
}

fn fallback(m: &Manifest) -> Vec<Mutation> {
    m.keyed("fallback_node").filter_map(|p| value(m, p)).collect()
}

fn initial(m: &Manifest) -> Vec<Mutation> {
    m.keyed("initial_state").filter_map(|p| value(m, p)).collect()
}

fn workflow(m: &Manifest) -> Vec<Mutation> {
    let one = |r: &Reference| (r.segments.first()?.0 == "workflow").then(|| misspell(m, r, 1))?;
    m.references().iter().filter_map(one).collect()
}

fn member(m: &Manifest) -> Vec<Mutation> {
    let one = |r: &Reference| (r.segments.get(1)?.0 == "agents").then(|| misspell(m, r, 2))?;
    m.references().iter().filter_map(one).collect()
}

fn beyond(m: &Manifest) -> Vec<Mutation> {
    let panels: Vec<_> =
        states(m).into_iter().filter(|(_, n)| n.as_mapping().is_some_and(|n| n.get("consensus").is_some())).collect();
    let one = |r: &Reference| {
        let (root, agents, number) = (r.segments.first()?, r.segments.get(1)?, r.segments.get(2)?);
        let panel = panels.iter().any(|(name, _)| *name == root.0) && agents.0 == "agents";
        panel.then(|| m.put(number.1.clone(), "99"))?
    };
    m.references().iter().filter_map(one).collect()
}

fn no_name(m: &Manifest) -> Vec<Mutation> {
    let root = if m.dialect == AGNTZ[0] { "secrets" } else { "env" };
    if m.dialect == AEGIS[0] {
        return Vec::new();
    }
    let one = |r: &Reference| m.put(r.segments.first()?.1.start..r.segments.last()?.1.end, root);
    m.references().iter().filter_map(one).collect()
}
