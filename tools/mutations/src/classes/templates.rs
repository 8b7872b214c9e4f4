//! Mistakes inside `{{ }}`.

use trefoil_project::schema::SchemaSegment;

use super::{AEGIS, AGNTZ, ALL, Class, SIREN, class};
use crate::Manifest;
use crate::edit::Mutation;
use crate::manifest::Place;

pub(super) const CLASSES: &[Class] = &[
    class("a tag that is not closed", ALL, unclosed_tag),
    class("a block that is not closed", &["agntz", "aegis"], unclosed_block),
    class("a close without a block", &["agntz", "aegis"], stray_close),
    class("an unknown block", ALL, unknown_block),
    class("an unknown helper or filter", ALL, filter),
    class("an empty placeholder", ALL, empty),
    class("`else` where there is none", AGNTZ, no_else),
    class("a filter's quotes that do not match", SIREN, quotes),
    class("a loop variable outside of a factory", SIREN, outside),
    class("a node through `working`", SIREN, through_working),
    class("a space in a path", ALL, space),
    class("a path with two dots", ALL, dots),
];

/// Texts that are templates but not conditions.
fn texts(m: &Manifest) -> Vec<&Place> {
    let not = ["when", "until", "expression", "for_each", "swarm_size", "env", "url"];
    let all = m.templates().map(|(_, p)| p);
    let whole = |p: &&Place| m.dialect != "agntz" || matches!(&*p.entry.key.value, "instruction" | "prompt");
    all.filter(|p| !not.contains(&&*p.entry.key.value) && m.is_format_key(p).is_some()).filter(whole).collect()
}

fn append(m: &Manifest, more: &str) -> Vec<Mutation> {
    texts(m)
        .into_iter()
        .filter_map(|p| {
            let end = m.end_of_text(&p.entry.value)?;
            m.append(p, more)
                .filter(|_| end > 0)
                .and_then(|_| m.edits().put(end..end, format!(" {more}")).at(end).done())
        })
        .collect()
}

fn unclosed_tag(m: &Manifest) -> Vec<Mutation> {
    let one = |r: &crate::manifest::Reference| {
        let close = m.text[r.tag.clone()].rfind("}}")? + r.tag.start;
        m.edits().put(close..close + 2, "").at(r.tag.start).done()
    };
    m.references().iter().filter_map(one).collect()
}

fn unclosed_block(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (_, place) in m.templates() {
        let span = crate::edit::range(place.entry.value.span);
        let (mut at, text) = (0, &m.text[span.clone()]);
        while let Some(next) = text[at..].find("{{/") {
            let start = span.start + at + next;
            let Some(end) = m.text[start..].find("}}") else { break };
            let opens: Vec<_> = text[..at + next].match_indices("{{#").map(|(o, _)| span.start + o).collect();
            found.extend(m.edits().put(start..start + end + 2, "").at_all(opens).at(start).done());
            at += next + 3;
        }
    }
    found.extend(append(m, "{{#if input}}"));
    found
}

fn stray_close(m: &Manifest) -> Vec<Mutation> {
    append(m, "{{/if}}")
}

fn unknown_block(m: &Manifest) -> Vec<Mutation> {
    append(m, if m.dialect == "sirenspec" { "{{#if inputs.message}}yes{{/if}}" } else { "{{#iff input}}yes{{/iff}}" })
}

fn filter(m: &Manifest) -> Vec<Mutation> {
    let one = |r: &crate::manifest::Reference| {
        let inner = m.text[r.tag.clone()].contains('|') || m.text[r.tag.clone()].starts_with("{{{");
        let end = r.segments.last()?.1.end;
        let start = r.segments.first()?.1.start;
        match m.dialect {
            _ if inner => None,
            "aegis" => m.put(start..start, "shout "),
            _ => m.put(end..end, " | shout"),
        }
    };
    m.references().iter().filter_map(one).collect()
}

fn empty(m: &Manifest) -> Vec<Mutation> {
    append(m, "{{}}")
}

fn no_else(m: &Manifest) -> Vec<Mutation> {
    append(m, "{{#if userQuery}}a{{else}}b{{/if}}")
}

fn quotes(m: &Manifest) -> Vec<Mutation> {
    m.text
        .match_indices("('")
        .filter_map(|(at, _)| {
            let close = at + 2 + m.text[at + 2..].find("')")?;
            (!m.text[at..close].contains('\n')).then(|| m.edits().put(close..close + 1, "").at(at).done())?
        })
        .collect()
}

fn outside(m: &Manifest) -> Vec<Mutation> {
    let workers: Vec<_> = m
        .entries("nodes")
        .iter()
        .filter(|e| e.value.as_mapping().is_some_and(|n| n.get("for_each").is_some() || n.get("swarm_size").is_some()))
        .filter_map(|e| e.value.as_mapping()?.get("agent")?.value.as_string())
        .collect();
    let agents = m.keyed("system").filter(|p| match p.path.as_slice() {
        [SchemaSegment::Key(agents), SchemaSegment::Key(id)] => {
            agents == "agents" && !workers.iter().any(|w| *w.value == **id)
        }
        _ => false,
    });
    let used = |p: &&Place| {
        let Some(SchemaSegment::Key(id)) = p.path.last() else { return false };
        m.keyed("agent").any(|a| a.entry.value.as_string().is_some_and(|t| *t.value == **id))
    };
    agents.filter(used).filter_map(|p| m.append(p, "{{ item }}")).collect()
}

fn through_working(m: &Manifest) -> Vec<Mutation> {
    let nodes = m.entries("nodes");
    let one = |r: &crate::manifest::Reference| {
        let root = r.segments.first()?;
        let node = nodes.iter().any(|n| *n.key.value == *root.0) && !m.text.contains(&format!("working.{}.", root.0));
        let end = r.segments.get(1)?.1.end;
        (node && !m.text.contains(&format!("working.{}\n", root.0)))
            .then(|| m.put(root.1.start..end, format!("working.{}", root.0)))?
    };
    m.references().iter().filter_map(one).collect()
}

fn space(m: &Manifest) -> Vec<Mutation> {
    let one = |r: &crate::manifest::Reference| {
        let second = r.segments.get(1)?;
        m.put(second.1.start - 1..second.1.start, " ")
    };
    if m.dialect == AEGIS[0] { Vec::new() } else { m.references().iter().filter_map(one).collect() }
}

fn dots(m: &Manifest) -> Vec<Mutation> {
    let one = |r: &crate::manifest::Reference| {
        let second = r.segments.get(1)?;
        m.put(second.1.start..second.1.start, ".")
    };
    m.references().iter().filter_map(one).collect()
}
