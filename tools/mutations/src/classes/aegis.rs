//! Mistakes that are specific to AEGIS: units and their declarations, blocks and helpers, results of states, conditions
//! of transitions.

use trefoil_project::schema::SchemaSegment;
use trefoil_syntax::yaml::{YamlNode, YamlText};

use super::names::states;
use super::{AEGIS, Class, class};
use crate::Manifest;
use crate::edit::{Mutation, misspelt, range};
use crate::manifest::{Place, Reference};

pub(super) const CLASSES: &[Class] = &[
    class("the `kind` of the other unit", AEGIS, other_unit),
    class("a key with nothing behind it", AEGIS, nothing),
    class("a blank text", AEGIS, blank),
    class("a key of what only containers need misspelt", AEGIS, declared_key),
    class("an amount that is none", AEGIS, amount),
    class("a model's name misspelt", AEGIS, model),
    class("an instruction that the prompt does not show", AEGIS, unshown),
    class("a name in single braces", AEGIS, single_braces),
    class("a state behind `states`", AEGIS, behind_states),
    class("an arrow in a path", AEGIS, arrow),
    class("a name of a loop outside of one", AEGIS, outside),
    class("a helper with nothing behind it", AEGIS, helper),
    class("`endif`", AEGIS, end_of_another),
    class("quotes of a word processor in a helper", AEGIS, typographic),
    class("a member of a consensus misspelt", AEGIS, consensus),
    class("a condition as another system calls it", AEGIS, other_condition),
    class("a condition left out before others", AEGIS, no_condition),
    class("a key of a transition as another system calls it", AEGIS, other_key),
    class("`min` above `max`", AEGIS, above),
    class("an agent's exit code", AEGIS, exit_code),
    class("a default response that no transition is for", AEGIS, no_answer),
    class("a result under a name that is taken", AEGIS, taken),
    class("an update of the Blackboard without values", AEGIS, no_values),
    class("an `n` that no strategy reads", AEGIS, unread_n),
    class("a JSON input without its last brace", AEGIS, no_brace),
    class("a shell's quote that is not closed", AEGIS, open_quote),
];

fn text(place: &Place) -> Option<&YamlText> {
    place.entry.value.as_string()
}

/// Texts of these keys, except in schemas, contexts and the like.
fn texts<'m>(m: &'m Manifest, keys: &'m [&'m str]) -> impl Iterator<Item = &'m Place> {
    let own = |p: &Place| {
        !p.path.iter().any(|s| matches!(s, SchemaSegment::Key(k) if matches!(&**k, "env" | "context" | "labels")))
    };
    m.places.iter().filter(move |p| keys.contains(&&*p.entry.key.value) && text(p).is_some() && own(p))
}

fn plain(p: &Place) -> bool {
    text(p).is_some_and(|t| !t.value.contains(['\n', '{']))
}

/// References to the result of a state, in whole tags without a helper.
fn results(m: &Manifest) -> Vec<Reference> {
    let names: Vec<String> = states(m).into_iter().map(|(name, _)| name).collect();
    m.references().into_iter().filter(|r| r.segments.len() > 1 && names.contains(&r.segments[0].0)).collect()
}

fn path(m: &Manifest, r: &Reference) -> Option<String> {
    Some(m.text[r.segments.first()?.1.start..r.segments.last()?.1.end].to_owned())
}

fn other_unit(m: &Manifest) -> Vec<Mutation> {
    let top = m.keyed("kind").filter(|p| p.path.is_empty());
    top.filter_map(|p| {
        let other = if &*text(p)?.value == "Workflow" { "Agent" } else { "Workflow" };
        m.put(range(text(p)?.content_span()), other)
    })
    .collect()
}

fn nothing(m: &Manifest) -> Vec<Mutation> {
    let keys =
        ["timeout", "mode", "model", "feedback", "iteration_timeout", "strategy", "criteria", "command", "agent"];
    texts(m, &keys)
        .filter(|p| plain(p) && m.is_format_key(p).is_some())
        .filter_map(|p| {
            let value = range(p.entry.value.span);
            m.edits().put(value, "").at(p.entry.key.span.start as usize).done()
        })
        .collect()
}

fn blank(m: &Manifest) -> Vec<Mutation> {
    let keys = ["command", "criteria", "judge_agent", "agent", "agent_id", "workflow_id", "result_key", "pattern"];
    texts(m, &keys).filter(|p| plain(p)).filter_map(|p| m.put(range(p.entry.value.span), "\"\"")).collect()
}

fn declared_key(m: &Manifest) -> Vec<Mutation> {
    // Below another key, they have no meaning.
    let known = |p: &Place| p.path.iter().any(|s| *s == SchemaSegment::Key("security".into()));
    let inside = |p: &&Place| {
        known(p)
            && p.path
                .iter()
                .any(|s| matches!(s, SchemaSegment::Key(k) if matches!(&**k, "network" | "filesystem" | "resources")))
    };
    let keys = m.places.iter().filter(inside).map(|p| &p.entry.key).filter(|k| k.value.len() > 3);
    keys.filter_map(|k| m.put(range(k.span), misspelt(&k.value))).collect()
}

fn amount(m: &Manifest) -> Vec<Mutation> {
    let known = |p: &&Place| !p.path.iter().any(|s| *s == SchemaSegment::Key("execution".into()));
    texts(m, &["memory", "disk", "size_limit"])
        .filter(known)
        .filter_map(|p| m.put(range(text(p)?.content_span()), "plenty"))
        .collect()
}

fn model(m: &Manifest) -> Vec<Mutation> {
    let usual =
        |p: &&Place| text(p).is_some_and(|t| matches!(&*t.value, "default" | "smart" | "judge" | "cheap" | "local"));
    texts(m, &["model"])
        .filter(usual)
        .filter_map(|p| m.put(range(text(p)?.content_span()), misspelt(&text(p)?.value)))
        .collect()
}

fn unshown(m: &Manifest) -> Vec<Mutation> {
    let all = m.references();
    let shown: Vec<_> = all
        .iter()
        .filter(|r| m.places[r.place].entry.key.value.as_ref() == "prompt_template" && r.segments[0].0 == "instruction")
        .collect();
    let [only] = shown.as_slice() else { return Vec::new() };
    let place = &m.places[only.place];
    if m.text.contains("#if instruction") {
        return Vec::new();
    }
    let at = place.entry.value.span.start as usize;
    m.edits().put(only.tag.clone(), "Work.").at(at).at(place.entry.key.span.start as usize).done().into_iter().collect()
}

fn single_braces(m: &Manifest) -> Vec<Mutation> {
    results(m).iter().filter_map(|r| m.put(r.tag.clone(), format!("{{{}}}", path(m, r)?))).collect()
}

fn behind_states(m: &Manifest) -> Vec<Mutation> {
    results(m).iter().filter_map(|r| m.put(r.segments[0].1.clone(), format!("states.{}", r.segments[0].0))).collect()
}

fn arrow(m: &Manifest) -> Vec<Mutation> {
    let dot = |r: &Reference| r.segments[0].1.end..r.segments[1].1.start;
    results(m).iter().filter_map(|r| m.put(dot(r), "->")).collect()
}

/// Templates at places that every unit has.
fn prompts(m: &Manifest) -> impl Iterator<Item = &Place> {
    texts(m, &["prompt_template", "input", "input_template", "prompt", "feedback"])
        .filter(|p| !p.path.iter().any(|s| matches!(s, SchemaSegment::Key(k) if &**k == "validation")))
}

fn outside(m: &Manifest) -> Vec<Mutation> {
    let all = ["{{@index}}", "{{../name}}", "{{this.name}}"].into_iter().cycle();
    prompts(m).zip(all).filter_map(|(p, what)| m.append(p, what)).collect()
}

fn helper(m: &Manifest) -> Vec<Mutation> {
    prompts(m).filter_map(|p| m.append(p, "{{json}}")).collect()
}

fn end_of_another(m: &Manifest) -> Vec<Mutation> {
    let closing =
        m.text.match_indices("{{/if}}").filter(|(at, _)| prompts(m).any(|p| range(p.entry.value.span).contains(at)));
    closing.filter_map(|(at, tag)| m.put(at..at + tag.len(), "{{endif}}")).collect()
}

fn typographic(m: &Manifest) -> Vec<Mutation> {
    let single = |r: &&Reference| m.text[r.tag.clone()].starts_with("{{") && !m.text[r.tag.clone()].starts_with("{{{");
    let all = results(m);
    all.iter()
        .filter(single)
        .filter_map(|r| m.put(r.tag.clone(), format!("{{{{default {} “none”}}}}", path(m, r)?)))
        .collect()
}

fn consensus(m: &Manifest) -> Vec<Mutation> {
    let of = |r: &&Reference| r.segments.len() == 3 && r.segments[1].0 == "consensus";
    results(m).iter().filter(of).filter_map(|r| m.put(r.segments[2].1.clone(), misspelt(&r.segments[2].0))).collect()
}

/// The transitions of each state: its kind, its node, the list.
fn transitions(m: &Manifest) -> Vec<(String, YamlNode, Vec<YamlNode>)> {
    let word = |node: &YamlNode, key: &str| Some(node.as_mapping()?.get(key)?.value.as_string()?.value.to_string());
    let of = |node: &YamlNode| Some(node.as_mapping()?.get("transitions")?.value.as_sequence()?.to_vec());
    states(m).into_iter().filter_map(|(_, node)| Some((word(&node, "kind")?, node.clone(), of(&node)?))).collect()
}

fn condition(node: &YamlNode) -> Option<&YamlText> {
    node.as_mapping()?.get("condition")?.value.as_string()
}

fn other_condition(m: &Manifest) -> Vec<Mutation> {
    let other = |word: &str| {
        Some(match word {
            "always" => "otherwise",
            "on_success" => "success",
            "on_failure" => "on_error",
            "exit_code_zero" => "exit_zero",
            "exit_code_non_zero" => "exit_non_zero",
            "score_above" => "score_gt",
            "score_below" => "score_lt",
            _ => return None,
        })
    };
    let all = transitions(m).into_iter().flat_map(|(_, _, list)| list);
    all.filter_map(|t| m.put(range(condition(&t)?.content_span()), other(&condition(&t)?.value)?)).collect()
}

fn no_condition(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (_, _, list) in transitions(m) {
        for (at, t) in list.iter().enumerate() {
            let later = list
                .iter()
                .skip(at + 1)
                .any(|t| condition(t).is_some_and(|c| !matches!(&*c.value, "on_failure" | "custom")));
            let Some(mapping) = t.as_mapping().filter(|_| later) else { continue };
            let Some(entry) = mapping.get("condition").filter(|_| mapping.entries.len() == 2) else { continue };
            let Some(target) = mapping.get("target").filter(|t| t.key.span.start > entry.key.span.start) else {
                continue;
            };
            let gone = entry.key.span.start as usize..target.key.span.start as usize;
            found.extend(m.put(gone, ""));
        }
    }
    found
}

fn other_key(m: &Manifest) -> Vec<Mutation> {
    let other = |key: &str| {
        Some(match key {
            "condition" => "when",
            "target" => "to",
            "expression" => "expr",
            _ => return None,
        })
    };
    let inside = |p: &&Place| p.path.iter().any(|s| *s == SchemaSegment::Key("transitions".into()));
    m.places.iter().filter(inside).filter_map(|p| m.put(range(p.entry.key.span), other(&p.entry.key.value)?)).collect()
}

fn above(m: &Manifest) -> Vec<Mutation> {
    m.keyed("min")
        .filter_map(|p| {
            let max = p.parent.as_mapping()?.get("max")?;
            let (min, max) = (range(p.entry.value.span), range(max.value.span));
            let (low, high) = (m.text[min.clone()].to_owned(), m.text[max.clone()].to_owned());
            m.edits().put(min.clone(), high).put(max.clone(), low).done()
        })
        .collect()
}

fn exit_code(m: &Manifest) -> Vec<Mutation> {
    let agents = transitions(m).into_iter().filter(|(kind, ..)| kind == "Agent").flat_map(|(_, _, list)| list);
    let words = agents.filter_map(|t| condition(&t).cloned()).filter(|c| &*c.value == "on_success");
    words.filter_map(|c| m.put(range(c.content_span()), "exit_code_zero")).collect()
}

fn no_answer(m: &Manifest) -> Vec<Mutation> {
    let mut found = Vec::new();
    for (_, node, list) in transitions(m) {
        let open =
            list.iter().any(|t| condition(t).is_none_or(|c| matches!(&*c.value, "always" | "custom" | "on_success")));
        let Some(entry) = node.as_mapping().and_then(|n| n.get("default_response")).filter(|_| !open) else { continue };
        found.extend(entry.value.as_string().and_then(|t| m.put(range(t.content_span()), "later")));
    }
    found
}

fn taken(m: &Manifest) -> Vec<Mutation> {
    texts(m, &["result_key"]).filter_map(|p| m.put(range(text(p)?.content_span()), "input")).collect()
}

fn no_values(m: &Manifest) -> Vec<Mutation> {
    let update = |p: &&Place| {
        let command = p.parent.as_mapping().and_then(|s| s.get("command")).and_then(|c| c.value.as_string());
        command.is_some_and(|c| &*c.value == "update_blackboard")
    };
    m.keyed("env")
        .filter(update)
        .filter_map(|p| {
            let command = p.parent.as_mapping()?.get("command")?;
            m.edits().put(m.whole(p)?, "").at(command.key.span.start as usize).done()
        })
        .collect()
}

fn unread_n(m: &Manifest) -> Vec<Mutation> {
    let other = |p: &&Place| text(p).is_some_and(|t| &*t.value != "best_of_n");
    texts(m, &["strategy"])
        .filter(other)
        .filter_map(|p| {
            let start = p.entry.key.span.start as usize;
            let alone = m.text[m.line_start(start)..start].trim().is_empty();
            let line = format!("n: 2\n{}", " ".repeat(m.column(start)));
            alone.then(|| m.put(start..start, line))?
        })
        .collect()
}

fn no_brace(m: &Manifest) -> Vec<Mutation> {
    let sub = |p: &&Place| p.parent.as_mapping().is_some_and(|s| s.get("workflow_id").is_some());
    texts(m, &["input"])
        .filter(sub)
        .filter(|p| text(p).is_some_and(|t| t.value.starts_with("{\"") && t.value.ends_with('}')))
        .filter_map(|p| {
            m.end_of_text(&p.entry.value)
                .and_then(|end| m.edits().put(end - 1..end, "").at(p.entry.key.span.start as usize).done())
        })
        .collect()
}

fn open_quote(m: &Manifest) -> Vec<Mutation> {
    let commands = texts(m, &["command"]).filter(|p| text(p).is_some_and(|t| !t.value.contains('\n')));
    let quoted = |p: &&Place| text(p).is_some_and(|t| t.value.matches('\'').count() == 2 && t.value.ends_with('\''));
    // In a single-quoted scalar, the shell's single quotes are doubled.
    let plain = |p: &&Place| !m.text[range(p.entry.value.span)].starts_with('\'');
    let last = |p: &Place| range(text(p)?.content_span()).end.checked_sub(1);
    commands.filter(quoted).filter(plain).filter_map(|p| m.put(last(p)?..last(p)? + 1, "")).collect()
}
