//! The order of steps and nodes, and the edges between them (agntz and SirenSpec).

use trefoil_project::schema::SchemaSegment;
use trefoil_syntax::yaml::{YamlEntry, YamlNode};

use super::{AGNTZ, Class, SIREN, class};
use crate::Manifest;
use crate::edit::{Mutation, line_of, range};
use crate::manifest::{Reference, state_key};

pub(super) const CLASSES: &[Class] = &[
    class("a step or node deleted that others read", &["agntz", "sirenspec"], deleted),
    class("an agent deleted that nodes call", SIREN, agent_deleted),
    class("an input deleted that templates read", SIREN, input_deleted),
    class("two steps or nodes under one name", &["agntz", "sirenspec"], one_name),
    class("an output that hides an input", AGNTZ, shadow),
    class("steps in the wrong order", &["agntz", "sirenspec"], swapped),
    class("a call of itself", AGNTZ, own_ref),
    class("an edge the wrong way round", SIREN, edge_turned),
    class("an edge to itself", SIREN, self_edge),
    class("edges in a circle", SIREN, circle),
    class("templates in a circle", SIREN, own_output),
    class("an output that nobody reads", AGNTZ, unread),
    class("two nodes at the same time write one path", SIREN, one_path),
    class("a fallback to itself", SIREN, own_fallback),
    class("a budget below the worst case", SIREN, budget),
    class("a fan-out over plain words", SIREN, words),
    class("two agents of a swarm under one id", SIREN, twins),
    class("a loop that can end on no pass", AGNTZ, endless),
    class("a step with `ref` and `agent`", AGNTZ, ref_and_agent),
];

/// References to a name in a part of the document.
fn reading(m: &Manifest, name: &str, within: &[SchemaSegment]) -> Vec<Reference> {
    let reads = |r: &Reference| {
        r.segments.first().is_some_and(|(n, _)| n == name)
            && m.places.get(r.place).is_some_and(|p| p.path.starts_with(within))
    };
    m.references().into_iter().filter(reads).collect()
}

fn deleted(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (place, items, _) in m.pipelines() {
        for (at, step) in items.iter().enumerate() {
            let (Some(key), Some(whole)) = (state_key(step), m.item(items, at)) else { continue };
            let readers: Vec<_> =
                reading(m, &key, &place.path).into_iter().map(|r| r.tag.start).filter(|s| !whole.contains(s)).collect();
            if items.len() > 1 && !readers.is_empty() {
                found.extend(m.edits().put(whole, "").at_all(readers).done());
            }
        }
    }
    if m.dialect == "sirenspec" {
        for node in m.entries("nodes") {
            let Some(whole) = m.get("nodes").and_then(YamlNode::as_mapping).and_then(|n| m.whole_of(node, n)) else {
                continue;
            };
            let name = &*node.key.value;
            let readers = reading(m, name, &[]).into_iter().map(|r| r.tag.start).filter(|s| !whole.contains(s));
            let ends = m
                .keyed("from")
                .chain(m.keyed("to"))
                .filter(|p| p.entry.value.as_string().is_some_and(|t| &*t.value == name));
            let marks: Vec<_> = readers.chain(ends.map(|p| p.entry.value.span.start as usize)).collect();
            if !marks.is_empty() && m.entries("nodes").len() > 1 {
                found.extend(m.edits().put(whole, "").at_all(marks).done());
            }
        }
    }
    found
}

fn agent_deleted(m: &Manifest) -> Vec<Mutation> {
    let Some(agents) = m.get("agents").and_then(YamlNode::as_mapping) else { return Vec::new() };
    let one = |agent: &YamlEntry| {
        let calls = m.keyed("agent").filter(|p| p.entry.value.as_string().is_some_and(|t| t.value == agent.key.value));
        let marks: Vec<_> = calls.map(|p| p.entry.value.span.start as usize).collect();
        (!marks.is_empty()).then(|| m.edits().put(m.whole_of(agent, agents)?, "").at_all(marks).done())?
    };
    agents.entries.iter().filter_map(one).collect()
}

fn input_deleted(m: &Manifest) -> Vec<Mutation> {
    let Some(inputs) = m.get("input").and_then(YamlNode::as_mapping) else { return Vec::new() };
    let one = |input: &YamlEntry| {
        let reads = |r: &Reference| {
            r.segments.first().is_some_and(|(n, _)| n == "inputs")
                && r.segments.get(1).is_some_and(|(n, _)| *n == *input.key.value)
        };
        let marks: Vec<_> = m.references().into_iter().filter(reads).map(|r| r.tag.start).collect();
        // `message` always exists.
        (!marks.is_empty() && &*input.key.value != "message")
            .then(|| m.edits().put(m.whole_of(input, inputs)?, "").at_all(marks).done())?
    };
    inputs.entries.iter().filter_map(one).collect()
}

fn one_name(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (_, items, _) in m.pipelines() {
        for pair in items.windows(2) {
            let (Some(first), Some(entry)) = (state_key(&pair[0]), pair[1].as_mapping().and_then(|s| s.get("ref")))
            else {
                continue;
            };
            let has = pair[1].as_mapping().is_some_and(|s| s.get("stateKey").is_some());
            if !has && state_key(&pair[1]).as_ref() != Some(&first) {
                let added = m.beside(entry, &format!("stateKey: {first}"));
                found.extend(added.map(|mut a| {
                    a.lines.push(line_of(&m.text, entry.key.span.start as usize));
                    a
                }));
            }
        }
    }
    if m.dialect == "sirenspec" {
        for pair in m.entries("nodes").windows(2) {
            let at = range(pair[1].key.span);
            found.extend(m.put(at, &*pair[0].key.value));
        }
    }
    found
}

fn shadow(m: &Manifest) -> Vec<Mutation> {
    let Some(input) = m.entries("inputSchema").iter().find(|e| e.value.as_string().is_some()) else {
        return Vec::new();
    };
    let steps = m.pipelines().into_iter().filter(|(p, _, _)| p.path.is_empty()).flat_map(|(_, items, _)| items);
    let one = |step: &YamlNode| {
        let step = step.as_mapping()?;
        let entry = step.get("ref").filter(|_| step.get("stateKey").is_none())?;
        m.beside(entry, &format!("stateKey: {}", input.key.value))
    };
    steps.filter_map(one).collect()
}

fn swapped(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    let mut swap = |first: std::ops::Range<usize>, second: std::ops::Range<usize>, readers: Vec<usize>| {
        let moved: Vec<_> = readers.into_iter().filter(|r| second.contains(r)).collect();
        if moved.is_empty() || first.end > second.start || !m.text[second.clone()].ends_with('\n') {
            return;
        }
        let mutation =
            m.edits().put(first.clone(), &m.text[second.clone()]).put(second.clone(), &m.text[first.clone()]).done();
        found.extend(mutation.map(|mut mutation| {
            let at = |r: usize| line_of(&mutation.text, r - second.start + first.start);
            mutation.lines = moved.iter().map(|r| at(*r)).collect();
            mutation
        }));
    };
    for (place, items, ordered) in m.pipelines() {
        if !ordered || place.parent.as_mapping().is_some_and(|p| p.get("until").is_some()) {
            continue;
        }
        for at in 1..items.len() {
            let (Some(first), Some(second)) = (m.item(items, at - 1), m.item(items, at)) else { continue };
            let Some(key) = state_key(&items[at - 1]) else { continue };
            swap(first, second, reading(m, &key, &place.path).into_iter().map(|r| r.tag.start).collect());
        }
    }
    if m.dialect == "sirenspec" && m.get("edges").is_none() {
        let Some(nodes) = m.get("nodes").and_then(YamlNode::as_mapping) else { return found };
        for pair in nodes.entries.windows(2) {
            let (Some(first), Some(second)) = (m.whole_of(&pair[0], nodes), m.whole_of(&pair[1], nodes)) else {
                continue;
            };
            // An agent's system prompt is evaluated at its node.
            swap(first, second, reading(m, &pair[0].key.value, &[]).into_iter().map(|r| r.tag.start).collect());
        }
    }
    found
}

fn own_ref(m: &Manifest) -> Vec<Mutation> {
    let Some(id) = m.get("id").and_then(YamlNode::as_string) else { return Vec::new() };
    m.keyed("ref")
        .filter(|p| m.is_format_key(p).is_some())
        .filter_map(|p| m.put(range(p.entry.value.span), &*id.value))
        .collect()
}

fn edges(m: &Manifest) -> &[YamlNode] {
    m.get("edges").and_then(YamlNode::as_sequence).unwrap_or_default()
}

fn end<'n>(edge: &'n YamlNode, key: &str) -> Option<&'n trefoil_syntax::yaml::YamlText> {
    edge.as_mapping()?.get(key)?.value.as_string()
}

fn edge_turned(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for edge in edges(m) {
        let (Some(from), Some(to)) = (end(edge, "from"), end(edge, "to")) else { continue };
        // Only what the edge's own ends show: the node at its end, or that node's agent, reads the node at its start.
        let node = m.entries("nodes").iter().find(|n| n.key.value == to.value);
        let agent = node.and_then(|n| n.value.as_mapping()?.get("agent")?.value.as_string());
        let mut within = vec![vec![SchemaSegment::Key("nodes".into()), SchemaSegment::Key(to.value.to_string())]];
        within
            .extend(agent.map(|a| vec![SchemaSegment::Key("agents".into()), SchemaSegment::Key(a.value.to_string())]));
        let readers: Vec<_> = within.iter().flat_map(|w| reading(m, &from.value, w)).map(|r| r.tag.start).collect();
        if !readers.is_empty() {
            let edits = m.edits().put(range(from.span), &*to.value).put(range(to.span), &*from.value);
            let places = [from.span.start, to.span.start].map(|s| s as usize);
            found.extend(edits.at_all(readers).at_all(places).done());
        }
    }
    found
}

fn add_edge(m: &Manifest, after: usize, from: &str, to: &str) -> Option<Mutation> {
    let edges = edges(m);
    let whole = m.item(edges, after)?;
    let dash = m.text[whole.clone()].find('-')?;
    let line = format!("{}- {{from: {from}, to: {to}}}\n", " ".repeat(dash));
    let ends = edges.iter().filter_map(|e| end(e, "from")).map(|t| t.span.start as usize);
    m.edits().put(whole.end..whole.end, line).at_all(ends).at(whole.end).done()
}

fn self_edge(m: &Manifest) -> Vec<Mutation> {
    edges(m)
        .iter()
        .filter_map(|e| {
            let to = end(e, "to")?;
            m.edits()
                .put(range(to.span), &*end(e, "from")?.value)
                .at(to.span.start as usize)
                .at(e.span.start as usize)
                .done()
        })
        .collect()
}

fn circle(m: &Manifest) -> Vec<Mutation> {
    edges(m)
        .iter()
        .enumerate()
        .filter_map(|(at, e)| add_edge(m, at, &end(e, "to")?.value, &end(e, "from")?.value))
        .collect()
}

fn own_output(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for node in m.entries("nodes") {
        let Some(agent) = node.value.as_mapping().and_then(|n| n.get("agent")).and_then(|a| a.value.as_string()) else {
            continue;
        };
        let shared =
            m.keyed("agent").filter(|p| p.entry.value.as_string().is_some_and(|t| t.value == agent.value)).count();
        let path = [SchemaSegment::Key("agents".into()), SchemaSegment::Key(agent.value.to_string())];
        let system = m.keyed("system").find(|p| p.path == path).filter(|_| shared == 1);
        found.extend(system.and_then(|p| m.append(p, &format!("{{{{ {}.output }}}}", node.key.value))).map(
            |mut mutation| {
                mutation.lines.push(line_of(&mutation.text, node.key.span.start as usize));
                mutation
            },
        ));
    }
    found
}

fn unread(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (place, items, ordered) in m.pipelines() {
        let output = place.parent.as_mapping().is_some_and(|p| p.get("output").is_some());
        for (at, step) in items.iter().enumerate() {
            let Some(key) = state_key(step) else { continue };
            let readers = reading(m, &key, &place.path);
            let by_id = step.as_mapping().and_then(|s| {
                s.get("agent")?.value.as_mapping()?.get("id")?.value.as_string().map(|t| t.value.to_string())
            });
            let aliased = by_id.is_some_and(|id| id != key && !reading(m, &id, &place.path).is_empty());
            // A pipeline around this one may refer to its steps through its own key.
            let outside = m.references().iter().any(|r| {
                r.segments.iter().skip(1).any(|(n, _)| *n == key)
                    && m.places.get(r.place).is_some_and(|p| !p.path.starts_with(&place.path))
            });
            let last = at + 1 == items.len() && !output || outside;
            let conditions = readers.iter().any(|r| matches!(&*m.places[r.place].entry.key.value, "when" | "until"));
            if readers.is_empty() || aliased || last || conditions || (!ordered && !output) {
                continue;
            }
            let edits = readers.iter().fold(m.edits(), |e, r| e.put(r.tag.clone(), "it"));
            let whole = m.item(items, at).unwrap_or(range(step.span));
            let inner = m.places.iter().map(|p| p.entry.key.span.start as usize).filter(|s| whole.contains(s));
            found.extend(edits.at_all(inner).done());
        }
    }
    found
}

fn one_path(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for first in edges(m) {
        for second in edges(m) {
            let (Some(a), Some(b)) = (end(first, "to"), end(second, "to")) else { continue };
            let same = end(first, "from").map(|t| &t.value) == end(second, "from").map(|t| &t.value);
            let writes = |id: &str| {
                let node = m.entries("nodes").iter().find(|n| &*n.key.value == id)?;
                Some(node.value.as_mapping()?.get("writes")?.value.clone())
            };
            let (Some(one), Some(two)) = (writes(&a.value), writes(&b.value)) else { continue };
            if !same || a.value >= b.value {
                continue;
            }
            // Without their conditions, both run.
            let mut edits = m.edits();
            for edge in [first, second] {
                let Some(edge) = edge.as_mapping() else { continue };
                if let Some(whole) = edge.get("when").and_then(|when| m.whole_of(when, edge)) {
                    edits = edits.put(whole, "");
                }
            }
            let text = m.text[range(one.span)].to_owned();
            let places = [one.span, two.span, a.span, b.span].map(|s| s.start as usize);
            let nodes = m.entries("nodes").iter().filter(|n| n.key.value == a.value || n.key.value == b.value);
            let inside = nodes.flat_map(|n| {
                n.value.as_mapping().into_iter().flat_map(|n| &n.entries).map(|e| e.key.span).chain([n.key.span])
            });
            let places = places.into_iter().chain(inside.map(|s| s.start as usize));
            found.extend(edits.put(range(two.span), text).at_all(places).done());
        }
    }
    found
}

fn own_fallback(m: &Manifest) -> Vec<Mutation> {
    let named = m.keyed("fallback_node").filter_map(|p| match p.path.as_slice() {
        [SchemaSegment::Key(_), SchemaSegment::Key(node), ..] => m.put(range(p.entry.value.span), node.as_str()),
        _ => None,
    });
    let plain = m.entries("nodes").iter().filter_map(|n| {
        let node = n.value.as_mapping().filter(|n| n.get("on_failure").is_none() && n.get("type").is_none())?;
        m.beside(node.get("agent")?, &format!("on_failure: {{action: fallback, fallback_node: {}}}", n.key.value))
    });
    named.chain(plain).collect()
}

fn budget(m: &Manifest) -> Vec<Mutation> {
    let agents =
        m.entries("nodes").iter().filter(|n| n.value.as_mapping().is_some_and(|n| n.get("agent").is_some())).count();
    let version = m.keyed("version").find(|p| p.path.is_empty());
    let there = m.get("budget").is_some();
    version
        .filter(|_| agents > 1 && !there)
        .and_then(|p| m.beside(&p.entry, "budget: {max_calls: 1}"))
        .into_iter()
        .collect()
}

fn words(m: &Manifest) -> Vec<Mutation> {
    m.keyed("for_each").filter_map(|p| m.put(range(p.entry.value.span), "apples and pears")).collect()
}

fn twins(m: &Manifest) -> Vec<Mutation> {
    let lists = m.keyed("agents").filter_map(|p| p.entry.value.as_sequence());
    let ids = lists
        .map(|items| items.iter().filter_map(|n| n.as_mapping()?.get("id")?.value.as_string()).collect::<Vec<_>>());
    ids.filter_map(|ids| m.put(range(ids.get(1)?.content_span()), &*ids.first()?.value)).collect()
}

fn endless(m: &Manifest) -> Vec<Mutation> {
    m.keyed("until").filter_map(|p| m.put(range(p.entry.value.span), "\"done == true\"")).collect()
}

fn ref_and_agent(m: &Manifest) -> Vec<Mutation> {
    let calls = m.keyed("ref").filter(|p| m.is_format_key(p).is_some());
    calls
        .filter_map(|p| {
            m.beside(
                &p.entry,
                "agent: {id: other, kind: llm, model: {provider: openai, name: gpt-5.4}, instruction: Help.}",
            )
        })
        .collect()
}
