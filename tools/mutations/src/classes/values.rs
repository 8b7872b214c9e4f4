//! Values of the wrong type, out of range, or not among the allowed ones.

use trefoil_project::schema::{SchemaSegment, ValueForm, values_at};
use trefoil_syntax::yaml::{YamlNodeKind, YamlScalar};

use super::{AEGIS, AGNTZ, ALL, Class, SIREN, class};
use crate::Manifest;
use crate::edit::{Mutation, misspelt, range};
use crate::manifest::Place;

pub(super) const CLASSES: &[Class] = &[
    class("a word that is not among the choices", ALL, word),
    class("text for a number", ALL, number),
    class("text for true or false", ALL, boolean),
    class("text for a list", ALL, list),
    class("text for a mapping", ALL, mapping),
    class("a list for text", ALL, text),
    class("a number below its range", ALL, below),
    class("a score in percent", AEGIS, percent),
    class("a temperature of 7", &["agntz", "aegis"], temperature),
    class("a duration without a unit", AEGIS, duration),
    class("an unknown provider", ALL, provider),
    class("a model without a provider", SIREN, bare_model),
    class("a model as text", AGNTZ, text_model),
    class("an empty prompt", ALL, empty),
    class("`writes` outside of `working` and `output`", SIREN, writes),
    class("a hundred times too many in a swarm", SIREN, swarm),
];

/// Numbers that are not part of the manifest's data.
fn numbers(m: &Manifest) -> impl Iterator<Item = &Place> {
    m.places.iter().filter(|p| {
        let number = matches!(p.entry.value.as_scalar(), Some((YamlScalar::Int(_) | YamlScalar::Float(_), _)));
        let data =
            ["cpu", "memory", "disk", "default", "const", "value", "version", "minimum", "maximum", "min", "max"];
        number && !data.contains(&&*p.entry.key.value) && m.is_format_key(p).is_some()
    })
}

fn put(m: &Manifest, p: &Place, new: &str) -> Option<Mutation> {
    m.put(range(p.entry.value.span), new)
}

fn word(m: &Manifest) -> Vec<Mutation> {
    let words = m.places.iter().filter_map(|p| Some((p, p.entry.value.as_string()?)));
    words
        .filter_map(|(p, text)| {
            let mut path = p.path.clone();
            path.push(SchemaSegment::Key(p.entry.key.value.to_string()));
            let choices = values_at(m.dialect, &m.root, &path);
            let closed = choices.iter().any(|c| !c.open && *c.text == *text.value);
            closed.then(|| m.put(range(text.content_span()), misspelt(&text.value)))?
        })
        .collect()
}

fn number(m: &Manifest) -> Vec<Mutation> {
    numbers(m).filter_map(|p| put(m, p, "a few")).collect()
}

fn boolean(m: &Manifest) -> Vec<Mutation> {
    let flags = m.places.iter().filter(|p| matches!(p.entry.value.as_scalar(), Some((YamlScalar::Bool(_), _))));
    let known = flags.filter(|p| !["default", "const", "value", "when"].contains(&&*p.entry.key.value));
    known
        .filter(|p| m.is_format_key(p).is_some_and(|k| !k.values.is_empty()))
        .filter_map(|p| put(m, p, "maybe"))
        .collect()
}

fn takes(m: &Manifest, wanted: ValueForm) -> Vec<Mutation> {
    let known = m
        .places
        .iter()
        .filter(|p| p.entry.value.as_scalar().is_none() && m.is_format_key(p).is_some_and(|k| k.takes == wanted));
    known
        .filter(|p| {
            p.entry.key.value.len() > 1 && !["metadata", "spec", "nodes", "states"].contains(&&*p.entry.key.value)
        })
        .filter_map(|p| {
            let end = m.end(&p.entry.value);
            m.edits().put(p.entry.key.span.end as usize..end, ": something").at(p.entry.key.span.start as usize).done()
        })
        .collect()
}

fn list(m: &Manifest) -> Vec<Mutation> {
    takes(m, ValueForm::List)
}

fn mapping(m: &Manifest) -> Vec<Mutation> {
    takes(m, ValueForm::Mapping)
}

fn text(m: &Manifest) -> Vec<Mutation> {
    let keys = [
        "ref",
        "agent",
        "agent_id",
        "from",
        "to",
        "target",
        "model",
        "name",
        "writes",
        "url",
        "system",
        "instruction",
        "pattern",
    ];
    let texts = m.places.iter().filter(|p| p.entry.value.as_string().is_some() && keys.contains(&&*p.entry.key.value));
    texts
        .filter(|p| m.is_format_key(p).is_some() && !matches!(&*p.parent.kind, YamlNodeKind::Scalar(..)))
        .filter_map(|p| {
            let span = range(p.entry.value.span);
            let inner = m.text[span.clone()].to_owned();
            (!inner.contains('\n')).then(|| m.put(span, format!("[{inner}]")))?
        })
        .collect()
}

fn below(m: &Manifest) -> Vec<Mutation> {
    let any = ["seed", "expected", "presencePenalty", "frequencyPenalty"];
    numbers(m).filter(|p| !any.contains(&&*p.entry.key.value)).filter_map(|p| put(m, p, "-5")).collect()
}

fn percent(m: &Manifest) -> Vec<Mutation> {
    let keys = ["threshold", "min", "max", "agreement", "confidence", "min_score", "min_confidence"];
    numbers(m).filter(|p| keys.contains(&&*p.entry.key.value)).filter_map(|p| put(m, p, "85")).collect()
}

fn temperature(m: &Manifest) -> Vec<Mutation> {
    let there = m.keyed("temperature").filter_map(|p| put(m, p, "7"));
    let (under, key) = if m.dialect == "agntz" { ("model", "provider") } else { ("runtime", "model") };
    let inside = |p: &&Place| p.path.last() == Some(&SchemaSegment::Key(under.into()));
    let without =
        m.keyed(key).filter(inside).filter(|p| p.parent.as_mapping().is_some_and(|o| o.get("temperature").is_none()));
    let put = without.filter_map(|p| {
        let end = m.end(&p.entry.value);
        let flow = m.text[range(p.parent.span)].starts_with('{');
        if flow { m.put(end..end, ", temperature: 7") } else { m.beside(&p.entry, "temperature: 7") }
    });
    there.chain(put).collect()
}

fn duration(m: &Manifest) -> Vec<Mutation> {
    let keys = ["timeout", "iteration_timeout"];
    let places = m.places.iter().filter(|p| keys.contains(&&*p.entry.key.value) && p.entry.value.as_string().is_some());
    places
        .filter(|p| !p.path.contains(&SchemaSegment::Key("resources".into())) && m.is_format_key(p).is_some())
        .filter_map(|p| put(m, p, "300"))
        .collect()
}

fn provider(m: &Manifest) -> Vec<Mutation> {
    let named = m.keyed("provider").filter(|p| m.is_format_key(p).is_some()).filter_map(|p| put(m, p, "opneai"));
    let models = m.keyed("model").filter_map(|p| {
        let text = p.entry.value.as_string()?;
        let end = text.value.find(':')?;
        m.put(range(text.source_span(0..end as u32)), "opneai")
    });
    named.chain(models).collect()
}

fn bare_model(m: &Manifest) -> Vec<Mutation> {
    let models = m.keyed("model").filter(|p| p.path.len() == 2);
    models
        .filter_map(|p| {
            let text = p.entry.value.as_string()?;
            let end = text.value.find(':')?;
            m.put(range(text.source_span(0..end as u32 + 1)), "")
        })
        .collect()
}

fn text_model(m: &Manifest) -> Vec<Mutation> {
    m.keyed("model")
        .filter(|p| p.entry.value.as_mapping().is_some() && m.is_format_key(p).is_some())
        .filter_map(|p| {
            let end = m.end(&p.entry.value);
            m.edits().put(p.entry.key.span.end as usize..end, ": gpt-5.4").at(p.entry.key.span.start as usize).done()
        })
        .collect()
}

fn empty(m: &Manifest) -> Vec<Mutation> {
    let keys: &[&str] = if m.dialect == "sirenspec" { &["system", "prompt"] } else { &["instruction"] };
    let texts = m.places.iter().filter(|p| keys.contains(&&*p.entry.key.value) && m.is_format_key(p).is_some());
    texts
        .filter_map(|p| {
            let span = range(p.entry.value.span);
            m.put(span.start..m.end_of_text(&p.entry.value).map_or(span.end, |e| e.max(m.end(&p.entry.value))), "\"\"")
        })
        .collect()
}

fn writes(m: &Manifest) -> Vec<Mutation> {
    m.keyed("writes").filter_map(|p| put(m, p, "result.text")).collect()
}

fn swarm(m: &Manifest) -> Vec<Mutation> {
    m.keyed("swarm_size").filter_map(|p| put(m, p, "10000")).collect()
}
