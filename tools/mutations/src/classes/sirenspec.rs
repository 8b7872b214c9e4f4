//! Mistakes that are specific to SirenSpec: nodes and their types, edges and their conditions, swarms, written paths.

use trefoil_project::schema::SchemaSegment;
use trefoil_syntax::yaml::{YamlEntry, YamlNode, YamlStyle};

use super::{Class, SIREN, class};
use crate::Manifest;
use crate::edit::{Mutation, range};
use crate::manifest::{Place, Reference};

pub(super) const CLASSES: &[Class] = &[
    class("single braces around a name", SIREN, single_braces),
    class("a `$` before single braces", SIREN, dollar),
    class("an input without `inputs`", SIREN, bare_input),
    class("a node behind `nodes`", SIREN, behind_nodes),
    class("a swarm's agent without its node", SIREN, bare_agent),
    class("`is` between a value and a text", SIREN, identity),
    class("a condition of a text alone", SIREN, text_alone),
    class("two values that one path cannot have", SIREN, contradiction),
    class("two values of which one path never has both", SIREN, tautology),
    class("one condition for two nodes that write one path", SIREN, same_condition),
    class("a node without its type", SIREN, no_type),
    class("a type as another system calls it", SIREN, other_type),
    class("a key as another system calls it", SIREN, other_key),
    class("`when` without anything behind it", SIREN, no_condition),
    class("a blank in a model", SIREN, blank_in_model),
    class("a swarm's model with its provider", SIREN, provider_in_model),
    class("text around a list's placeholder", SIREN, around_list),
    class("a credential of the environment in a prompt", SIREN, credential),
    class("a blank in a path that is written", SIREN, blank_in_path),
    class("`writes` without a name", SIREN, no_name),
    class("a result where nobody reads it", SIREN, lost_result),
    class("a sub-workflow's input left out", SIREN, no_input),
    class("a placeholder in the message that a run starts with", SIREN, templated_start),
    class("a synthesis that leaves an agent out", SIREN, unheard_agent),
    class("another node's result as the path that is written", SIREN, other_result),
    class("an item's bare name", SIREN, bare_item),
];

/// References that are alone in their braces, in text for a model or a person.
fn plain(m: &Manifest) -> Vec<Reference> {
    let read = |r: &Reference| {
        let key = m.places.get(r.place).map(|p| &*p.entry.key.value);
        matches!(key, Some("system" | "prompt")) && !m.text[r.tag.clone()].contains('|')
    };
    m.references().into_iter().filter(|r| r.segments.len() > 1 && read(r)).collect()
}

fn path(m: &Manifest, r: &Reference) -> Option<String> {
    Some(m.text[r.segments.first()?.1.start..r.segments.last()?.1.end].to_owned())
}

fn single_braces(m: &Manifest) -> Vec<Mutation> {
    plain(m).iter().filter_map(|r| m.put(r.tag.clone(), format!("{{ {} }}", path(m, r)?))).collect()
}

fn dollar(m: &Manifest) -> Vec<Mutation> {
    plain(m).iter().filter_map(|r| m.put(r.tag.clone(), format!("${{{}}}", path(m, r)?))).collect()
}

fn bare_input(m: &Manifest) -> Vec<Mutation> {
    let taken = |name: &str| {
        m.entries("nodes").iter().any(|n| *n.key.value == *name) || m.text.contains(&format!("working.{name}"))
    };
    let one = |r: &Reference| {
        let [(root, at), (name, end), ..] = r.segments.as_slice() else { return None };
        (root == "inputs" && !taken(name)).then(|| m.put(at.start..end.start, ""))?
    };
    plain(m).iter().filter_map(one).collect()
}

fn behind_nodes(m: &Manifest) -> Vec<Mutation> {
    let node = |name: &str| m.entries("nodes").iter().any(|n| *n.key.value == *name);
    let one = |r: &Reference| {
        let (root, at) = r.segments.first()?;
        node(root).then(|| m.put(at.start..at.start, "nodes."))?
    };
    plain(m).iter().filter_map(one).collect()
}

fn bare_agent(m: &Manifest) -> Vec<Mutation> {
    let one = |r: &Reference| {
        let [(_, node), (agents, _), (agent, at), ..] = r.segments.as_slice() else { return None };
        let known = m.entries("nodes").iter().any(|n| *n.key.value == **agent);
        (agents == "agents" && !known).then(|| m.put(node.start..at.start, ""))?
    };
    plain(m).iter().filter_map(one).collect()
}

/// Conditions of edges that compare one path with one text: the place, the path, and the text with its quotes.
fn equalities(m: &Manifest) -> Vec<(&Place, String, String)> {
    let one = |p: &'_ Place| {
        let text = p.entry.value.as_string()?;
        let (path, literal) = text.value.split_once(" == ")?;
        let plain = path.chars().all(|c| c.is_alphanumeric() || "._".contains(c));
        let quoted = literal.len() > 2 && literal.starts_with('"') && literal.ends_with('"') && !literal.contains(' ');
        (text.style == YamlStyle::Plain && plain && quoted).then(|| (path.to_owned(), literal.to_owned()))
    };
    m.keyed("when").filter_map(|p| one(p).map(|(path, literal)| (p, path, literal))).collect()
}

fn condition(m: &Manifest, new: impl Fn(&str, &str) -> String) -> Vec<Mutation> {
    let all = equalities(m).into_iter();
    all.filter_map(|(p, path, literal)| m.put(range(p.entry.value.span), new(&path, &literal))).collect()
}

fn identity(m: &Manifest) -> Vec<Mutation> {
    condition(m, |path, literal| format!("{path} is {literal}"))
}

fn text_alone(m: &Manifest) -> Vec<Mutation> {
    condition(m, |_, literal| format!("'{literal}'"))
}

fn contradiction(m: &Manifest) -> Vec<Mutation> {
    condition(m, |path, literal| format!("{path} == {literal} and {path} == \"another\""))
}

fn tautology(m: &Manifest) -> Vec<Mutation> {
    condition(m, |path, literal| format!("{path} != {literal} or {path} != \"another\""))
}

/// The text of a key of a mapping.
fn text_of<'n>(node: &'n YamlNode, key: &str) -> Option<&'n str> {
    Some(&*node.as_mapping()?.get(key)?.value.as_string()?.value)
}

fn same_condition(m: &Manifest) -> Vec<Mutation> {
    let edges = m.get("edges").and_then(YamlNode::as_sequence).unwrap_or_default();
    let node = |edge: &YamlNode| {
        let id = text_of(edge, "to")?;
        m.entries("nodes").iter().find(|n| *n.key.value == *id)
    };
    let mut found = Vec::new();
    for (at, second) in edges.iter().enumerate() {
        for first in edges.iter().take(at) {
            let (Some(one), Some(two)) = (node(first), node(second)) else { continue };
            let writes = text_of(&one.value, "writes").is_some_and(|w| text_of(&two.value, "writes") == Some(w));
            let (Some(when), Some(other)) = (text_of(first, "when"), second.as_mapping().and_then(|e| e.get("when")))
            else {
                continue;
            };
            if writes && text_of(first, "from") == text_of(second, "from") {
                let marks = [one, two].map(|n| n.key.span.start as usize);
                let span = range(other.value.span);
                found.extend(m.edits().put(span.clone(), when).at_all(marks).at(span.start).done());
            }
        }
    }
    found
}

/// Nodes whose type is not `agent`: the node, and its `type`.
fn typed(m: &Manifest) -> Vec<(&YamlEntry, &Place)> {
    let inside = |p: &Place, node: &YamlEntry| {
        p.path == [SchemaSegment::Key("nodes".into()), SchemaSegment::Key(node.key.value.to_string())]
    };
    let nodes = m.entries("nodes").iter();
    nodes.filter_map(|n| Some((n, m.keyed("type").find(|p| inside(p, n))?))).collect()
}

fn no_type(m: &Manifest) -> Vec<Mutation> {
    let one = |(node, place): (&YamlEntry, &Place)| {
        let keys = node.value.as_mapping()?.entries.iter().map(|e| e.key.span.start as usize);
        let marks = keys.chain([node.key.span.start as usize]);
        m.edits().put(m.whole(place)?, "").at_all(marks).done()
    };
    typed(m).into_iter().filter_map(one).collect()
}

fn other_type(m: &Manifest) -> Vec<Mutation> {
    let one = |(_, place): (&YamlEntry, &Place)| {
        let new = match &*place.entry.value.as_string()?.value {
            "factory" => "loop",
            "human" => "approval",
            "swrm" => "parallel",
            "workflow" => "call",
            _ => return None,
        };
        m.put(range(place.entry.value.span), new)
    };
    typed(m).into_iter().filter_map(one).collect()
}

fn other_key(m: &Manifest) -> Vec<Mutation> {
    let words = [
        ("system", "instructions"),
        ("writes", "output"),
        ("from", "source"),
        ("to", "target"),
        ("when", "if"),
        ("ref", "path"),
        ("streaming", "stream"),
        ("max_attempts", "attempts"),
        ("edges", "transitions"),
    ];
    let known = m.places.iter().filter(|p| m.is_format_key(p).is_some());
    known
        .filter_map(|p| {
            let (_, other) = words.iter().find(|(key, _)| *key == &*p.entry.key.value)?;
            m.put(range(p.entry.key.span), *other)
        })
        .collect()
}

fn no_condition(m: &Manifest) -> Vec<Mutation> {
    let one = |p: &Place| {
        let (key, end) = (range(p.entry.key.span), m.end(&p.entry.value));
        let block = m.column(key.start) > 0 && m.text[end..m.line_end(end)].trim().is_empty();
        block.then(|| m.edits().put(key.end..end, ":").at(key.start).done())?
    };
    m.keyed("when").filter_map(one).collect()
}

fn blank_in_model(m: &Manifest) -> Vec<Mutation> {
    let models = m.keyed("model").filter_map(|p| Some((p, p.entry.value.as_string()?)));
    let quoted = models.filter(|(p, text)| {
        text.style == YamlStyle::Double && p.path.first() == Some(&SchemaSegment::Key("agents".into()))
    });
    quoted
        .filter_map(|(p, text)| {
            let colon = text.value.find(':')?;
            let at = range(p.entry.value.span).start + 1 + colon + 1;
            m.put(at..at, " ")
        })
        .collect()
}

fn provider_in_model(m: &Manifest) -> Vec<Mutation> {
    let one = |p: &Place| {
        let provider = text_of(&p.parent, "provider")?;
        let model = p.entry.value.as_string()?;
        m.put(range(model.content_span()), format!("{provider}:{}", model.value))
    };
    m.keyed("model").filter_map(one).collect()
}

fn around_list(m: &Manifest) -> Vec<Mutation> {
    let lists = m.keyed("for_each").filter_map(|p| p.entry.value.as_string());
    let quoted = lists.filter(|t| t.style != YamlStyle::Plain && t.value.starts_with("{{"));
    quoted
        .filter_map(|text| {
            let at = range(text.content_span()).start;
            m.put(at..at, "The tasks: ")
        })
        .collect()
}

fn credential(m: &Manifest) -> Vec<Mutation> {
    let prompts =
        m.places.iter().filter(|p| matches!(&*p.entry.key.value, "system" | "prompt") && m.is_format_key(p).is_some());
    prompts
        .filter_map(|p| {
            let end = m.end_of_text(&p.entry.value)?;
            m.append(p, "{{ env.OPENAI_API_KEY }}")?;
            m.edits().put(end..end, " {{ env.OPENAI_API_KEY }}").at(end).done()
        })
        .collect()
}

/// `writes` to which nothing else in the file refers.
fn written(m: &Manifest) -> impl Iterator<Item = (&Place, &str)> {
    let texts = m.keyed("writes").filter_map(|p| Some((p, &*p.entry.value.as_string()?.value)));
    texts.filter(|(_, text)| m.text.matches(*text).count() == 1)
}

fn blank_in_path(m: &Manifest) -> Vec<Mutation> {
    written(m).filter_map(|(p, text)| m.put(range(p.entry.value.span), format!("{text} text"))).collect()
}

fn no_name(m: &Manifest) -> Vec<Mutation> {
    written(m).filter_map(|(p, text)| m.put(range(p.entry.value.span), text.split('.').next()?)).collect()
}

fn lost_result(m: &Manifest) -> Vec<Mutation> {
    let Some(last) = m.entries("nodes").last() else { return Vec::new() };
    let agent = last.value.as_mapping().is_some_and(|n| n.get("type").is_none());
    let end = written(m).filter(|(p, text)| agent && p.parent.span == last.value.span && text.starts_with("output."));
    // Its template may use another `output`, and a caller may read the node.
    let alone = m.others.is_empty() && !m.text.contains(&format!("{}.output", last.key.value));
    end.filter(|_| alone)
        .filter_map(|(p, text)| {
            let new = text.replacen("output.", "working.", 1);
            let span = range(p.entry.value.span);
            m.edits().put(span.clone(), new).at(last.key.span.start as usize).at(span.start).done()
        })
        .collect()
}

fn no_input(m: &Manifest) -> Vec<Mutation> {
    let calls = m.entries("nodes").iter().filter(|n| text_of(&n.value, "type") == Some("workflow"));
    let one = |node: &YamlEntry| {
        let inputs = node.value.as_mapping()?.get("inputs")?;
        let field = inputs.value.as_mapping()?.entries.first()?;
        m.put(range(field.key.span), format!("{}_x", field.key.value))
    };
    calls.filter_map(one).collect()
}

fn templated_start(m: &Manifest) -> Vec<Mutation> {
    let input = |p: &&Place| p.path == [SchemaSegment::Key("input".into())];
    let texts = m.keyed("message").filter(input).filter_map(|p| Some((p, p.entry.value.as_string()?)));
    texts.filter_map(|(p, _)| m.put(range(p.entry.value.span), "\"{{ env.TOPIC }}\"")).collect()
}

fn unheard_agent(m: &Manifest) -> Vec<Mutation> {
    let member = |id: &str| m.keyed("id").find(|p| text_of(&p.parent, "id") == Some(id));
    let one = |r: &Reference| {
        let [(node, _), (agents, _), (agent, _), ..] = r.segments.as_slice() else { return None };
        let once = agents == "agents" && m.text.matches(&format!("{node}.agents.{agent}.")).count() == 1;
        let id = member(agent).filter(|_| once)?;
        m.edits().put(r.tag.clone(), "his answer").at(range(id.entry.value.span).start).at(r.tag.start).done()
    };
    plain(m).iter().filter_map(one).collect()
}

fn other_result(m: &Manifest) -> Vec<Mutation> {
    let nodes = m.entries("nodes");
    let other = |own: &Place| {
        let agent = |n: &&YamlEntry| {
            n.value.as_mapping().is_some_and(|node| node.get("agent").is_some() && node.get("type").is_none())
        };
        nodes.iter().find(|n| agent(n) && n.value.span != own.parent.span)
    };
    let fallback = m.text.contains("fallback");
    let one = |(p, _): (&Place, &str)| {
        let id = &other(p).filter(|_| !fallback)?.key.value;
        m.put(range(p.entry.value.span), format!("working.{id}.output"))
    };
    written(m).filter_map(one).collect()
}

fn bare_item(m: &Manifest) -> Vec<Mutation> {
    let lone = |p: &&Place| p.entry.value.as_string().is_some_and(|t| &*t.value == "{{ item }}");
    m.places.iter().filter(lone).filter_map(|p| m.put(range(p.entry.value.span), "item")).collect()
}
