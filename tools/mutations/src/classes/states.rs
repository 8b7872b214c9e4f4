//! States and their transitions (AEGIS).

use trefoil_project::schema::SchemaSegment;
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode};

use super::names::states;
use super::{AEGIS, Class, class};
use crate::Manifest;
use crate::edit::{Mutation, range};
use crate::manifest::Place;

pub(super) const CLASSES: &[Class] = &[
    class("a state deleted that others name", AEGIS, deleted),
    class("a transition removed that a state needs", AEGIS, unreachable),
    class("a state that leads only to itself", AEGIS, own_target),
    class("no transition for the rest", AEGIS, no_rest),
    class("a condition that the state's kind cannot meet", AEGIS, wrong_kind),
    class("a transition after one that is always taken", AEGIS, after_always),
    class("a gap in the ranges of scores", AEGIS, gap),
    class("two states under one name", AEGIS, one_name),
    class("a transition without a target", AEGIS, no_target),
    class("an output of a state that may not have run", AEGIS, later),
    class("more judges wanted than there are agents", AEGIS, judges),
    class("an initial state left out", AEGIS, no_initial),
    class("a workflow's state without an agent", AEGIS, no_agent),
];

/// The transitions of each state: the state's name and node, its list.
fn transitions(m: &Manifest) -> Vec<(String, YamlNode, Vec<YamlNode>)> {
    let of = |node: &YamlNode| Some(node.as_mapping()?.get("transitions")?.value.as_sequence()?.to_vec());
    states(m).into_iter().filter_map(|(name, node)| Some((name, node.clone(), of(&node)?))).collect()
}

fn text<'n>(node: &'n YamlNode, key: &str) -> Option<&'n trefoil_syntax::yaml::YamlText> {
    node.as_mapping()?.get(key)?.value.as_string()
}

fn head(node: &YamlNode) -> usize {
    node.as_mapping().and_then(|s| s.entries.first()).map_or(0, |e| e.key.span.start as usize)
}

/// The places of a state's name and of its first key.
fn marks(m: &Manifest, name: &str, node: &YamlNode) -> Vec<usize> {
    let keys = m.places.iter().filter(|p| &*p.entry.key.value == name && p.entry.value.span == node.span);
    keys.map(|p| p.entry.key.span.start as usize)
        .chain([head(node)])
        .chain(text(node, "name").map(|t| t.span.start as usize))
        .collect()
}

fn deleted(m: &Manifest) -> Vec<Mutation> {
    let Some(all) = m.get("spec.states").and_then(YamlNode::as_mapping) else { return Vec::new() };
    let one = |state: &YamlEntry| {
        let name = &*state.key.value;
        let whole = m.whole_of(state, all)?;
        let targets = m
            .keyed("target")
            .chain(m.keyed("initial_state"))
            .filter(|p| p.entry.value.as_string().is_some_and(|t| &*t.value == name));
        let reads = m
            .references()
            .into_iter()
            .filter(|r| r.segments.first().is_some_and(|(n, _)| n == name))
            .map(|r| r.tag.start);
        let marks: Vec<_> =
            targets.map(|p| p.entry.value.span.start as usize).chain(reads).filter(|s| !whole.contains(s)).collect();
        (!marks.is_empty()).then(|| m.edits().put(whole, "").at_all(marks).done())?
    };
    all.entries.iter().filter_map(one).collect()
}

fn unreachable(m: &Manifest) -> Vec<Mutation> {
    let all = transitions(m);
    let states = states(m);
    let mut found = Vec::new();
    for (name, node) in &states {
        let first = m.get("spec.initial_state").and_then(YamlNode::as_string).is_none_or(|t| *t.value == **name);
        let ways: Vec<_> = all
            .iter()
            .flat_map(|(from, _, list)| list.iter().enumerate().map(move |(at, t)| (from, list, at, t)))
            .filter(|(from, _, _, t)| *from != name && text(t, "target").is_some_and(|x| *x.value == **name))
            .collect();
        if let ([(_, list, at, _)], false) = (ways.as_slice(), first)
            && list.len() > 1
        {
            found.extend(m.item(list, *at).and_then(|w| m.edits().put(w, "").at_all(marks(m, name, node)).done()));
        }
    }
    found
}

fn own_target(m: &Manifest) -> Vec<Mutation> {
    let single = transitions(m).into_iter().filter(|(_, _, list)| list.len() == 1);
    single
        .filter_map(|(name, node, list)| {
            let target = text(list.first()?, "target")?;
            m.edits()
                .put(range(target.span), name.clone())
                .at(target.span.start as usize)
                .at(head(list.first()?))
                .at_all(marks(m, &name, &node))
                .done()
        })
        .collect()
}

fn no_rest(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (name, node, list) in transitions(m) {
        let Some(last) = list.last() else { continue };
        let word = text(last, "condition").map_or("always", |t| &t.value);
        let others = list.iter().rev().skip(1).all(|t| {
            text(t, "condition").is_some_and(|c| {
                ["custom", "score_above", "score_below", "input_equals", "consensus", "confidence_above", "exit_code"]
                    .contains(&&*c.value)
            })
        });
        if list.len() > 1 && word == "always" && others {
            let inner = list.iter().map(head);
            let key = node.as_mapping().and_then(|n| n.get("transitions")).map(|e| e.key.span.start as usize);
            found
                .extend(m.item(&list, list.len() - 1).and_then(|w| {
                    m.edits().put(w, "").at_all(marks(m, &name, &node)).at_all(inner).at_all(key).done()
                }));
        }
    }
    found
}

fn wrong_kind(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (_, node, list) in transitions(m) {
        let wrong = match text(&node, "kind").map(|t| &*t.value) {
            Some("Agent") => "input_equals_yes",
            Some("Human") => "exit_code_zero",
            Some("System") => "all_approved",
            Some("ParallelAgents") => "rejected",
            _ => continue,
        };
        let words = list
            .iter()
            .filter_map(|t| text(t, "condition"))
            .filter(|t| !matches!(&*t.value, "custom" | "input_equals"));
        found.extend(words.filter_map(|t| m.put(range(t.content_span()), wrong)));
    }
    found
}

fn after_always(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (_, node, list) in transitions(m) {
        for (at, t) in list.iter().enumerate().take(list.len().saturating_sub(1)) {
            let plain =
                |t: &YamlMapping| ["threshold", "expression", "value", "min", "max"].iter().all(|k| t.get(k).is_none());
            let Some(word) =
                text(t, "condition").filter(|w| &*w.value != "always" && t.as_mapping().is_some_and(plain))
            else {
                continue;
            };
            // A failed agent matches `on_failure` anyway.
            let failures =
                |t: &YamlNode| text(t, "condition").is_some_and(|c| matches!(&*c.value, "on_failure" | "custom"));
            let agent = text(&node, "kind").is_some_and(|k| matches!(&*k.value, "Agent" | "Subworkflow"));
            if agent && list.iter().skip(at + 1).all(failures) {
                continue;
            }
            let later = list
                .iter()
                .skip(at + 1)
                .flat_map(|n| [head(n)].into_iter().chain(text(n, "condition").map(|c| c.span.start as usize)));
            found.extend(
                m.edits().put(range(word.content_span()), "always").at(word.span.start as usize).at_all(later).done(),
            );
        }
    }
    found
}

fn gap(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (name, node, list) in transitions(m) {
        let scored = |t: &YamlNode| text(t, "condition").is_some_and(|c| c.value.starts_with("score_"));
        if list.len() < 2 || !list.iter().all(scored) {
            continue;
        }
        // Raising the upper threshold opens a new gap, even if `above` and `below` the same number already leave one.
        for t in list.iter().filter(|t| text(t, "condition").is_some_and(|c| &*c.value == "score_above")) {
            let Some(number) = t.as_mapping().and_then(|t| t.get("threshold")) else { continue };
            let marks = marks(m, &name, &node)
                .into_iter()
                .chain(list.iter().map(head))
                .chain(list.iter().filter_map(|t| text(t, "condition")).map(|t| t.span.start as usize));
            let key = node.as_mapping().and_then(|n| n.get("transitions")).map(|e| e.key.span.start as usize);
            found.extend(m.edits().put(range(number.value.span), "0.99").at_all(marks).at_all(key).done());
        }
    }
    found
}

fn one_name(m: &Manifest) -> Vec<Mutation> {
    let mapped =
        m.entries("spec.states").windows(2).filter_map(|pair| m.put(range(pair[1].key.span), &*pair[0].key.value));
    let listed: Vec<_> = m
        .get("spec.states")
        .and_then(YamlNode::as_sequence)
        .unwrap_or_default()
        .iter()
        .filter_map(|n| text(n, "name"))
        .collect();
    let listed = listed.windows(2).filter_map(|pair| m.put(range(pair[1].span), &*pair[0].value)).collect::<Vec<_>>();
    mapped.chain(listed).collect()
}

fn no_target(m: &Manifest) -> Vec<Mutation> {
    let inside = |p: &&Place| p.path.iter().any(|s| *s == SchemaSegment::Key("transitions".into()));
    m.keyed("target")
        .filter(inside)
        .filter_map(|p| {
            m.edits()
                .put(m.whole(p)?, "")
                .at(head(&p.parent))
                .at_all(
                    p.parent
                        .as_mapping()?
                        .entries
                        .iter()
                        .find(|e| e.key.span != p.entry.key.span)
                        .map(|e| e.key.span.start as usize),
                )
                .done()
        })
        .collect()
}

fn later(m: &Manifest) -> Vec<Mutation> {
    let states = states(m);
    let initial = m.get("spec.initial_state").and_then(YamlNode::as_string);
    let Some((name, node)) = states.iter().find(|(n, _)| initial.is_some_and(|t| *t.value == **n)) else {
        return Vec::new();
    };
    let ends: Vec<_> = states
        .iter()
        .filter(|(_, n)| {
            n.as_mapping().is_some_and(|n| {
                n.get("transitions").is_none_or(|t| t.value.as_sequence().is_some_and(|s| s.is_empty()))
            })
        })
        .collect();
    let place = m
        .keyed("input")
        .chain(m.keyed("prompt"))
        .chain(m.keyed("input_template"))
        .find(|p| p.parent.span == node.span && p.entry.value.as_string().is_some());
    let one =
        |end: &(String, YamlNode)| (end.0 != *name).then(|| m.append(place?, &format!("{{{{{}.output}}}}", end.0)))?;
    ends.into_iter().filter_map(one).collect()
}

fn judges(m: &Manifest) -> Vec<Mutation> {
    let named =
        m.keyed("min_judges_required").filter(|p| p.path.last() == Some(&SchemaSegment::Key("consensus".into())));
    named
        .filter_map(|p| {
            let above = m.places.iter().filter(|o| {
                o.entry.value.as_mapping().is_some() && p.path.starts_with(&o.path) && o.path.len() < p.path.len()
            });
            let kind = m.places.iter().filter(|o| o.path.len() + 1 == p.path.len() && p.path.starts_with(&o.path));
            m.edits()
                .put(range(p.entry.value.span), "99")
                .at(p.entry.value.span.start as usize)
                .at_all(above.chain(kind).map(|o| o.entry.key.span.start as usize))
                .done()
        })
        .collect()
}

fn no_initial(m: &Manifest) -> Vec<Mutation> {
    let mapped = m.get("spec.states").is_some_and(|s| s.as_mapping().is_some());
    let keys = m.keyed("initial_state").filter(|_| mapped);
    keys.filter_map(|p| {
        let others = p
            .parent
            .as_mapping()?
            .entries
            .iter()
            .map(|e| e.key.span.start as usize)
            .filter(|s| *s != p.entry.key.span.start as usize);
        let spec = m.places.iter().find(|o| &*o.entry.key.value == "spec" && o.path.is_empty())?;
        m.edits().put(m.whole(p)?, "").at_all(others).at(spec.entry.key.span.start as usize).done()
    })
    .collect()
}

fn no_agent(m: &Manifest) -> Vec<Mutation> {
    let states = states(m);
    let own =
        m.keyed("agent").chain(m.keyed("agent_id")).filter(|p| states.iter().any(|(_, n)| n.span == p.parent.span));
    own.filter_map(|p| {
        let name = states.iter().find(|(_, n)| n.span == p.parent.span)?;
        m.edits()
            .put(m.whole(p)?, "")
            .at_all(marks(m, &name.0, &name.1))
            .at_all(p.parent.as_mapping()?.get("kind").map(|e| e.key.span.start as usize))
            .done()
    })
    .collect()
}
