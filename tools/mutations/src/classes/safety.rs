//! Secrets and credentials in the wrong places, and data that controls too much.

use super::{AEGIS, AGNTZ, ALL, Class, class};
use crate::Manifest;
use crate::edit::{Mutation, range};
use crate::manifest::Place;

pub(super) const CLASSES: &[Class] = &[
    class("a secret in a prompt", AGNTZ, secret),
    class("a key in a prompt", ALL, key_in_prompt),
    class("a key in a header", &["agntz", "sirenspec"], key_in_header),
    class("a host that data decides", &["agntz", "sirenspec"], host),
    class("a command that data decides", AEGIS, command),
];

fn prompts(m: &Manifest) -> impl Iterator<Item = &Place> {
    let keys: &[&str] = match m.dialect {
        "agntz" => &["instruction", "prompt"],
        "aegis" => &["input", "input_template", "instruction", "prompt_template"],
        _ => &["system", "prompt"],
    };
    m.places.iter().filter(move |p| {
        keys.contains(&&*p.entry.key.value) && p.entry.value.as_string().is_some() && m.is_format_key(p).is_some()
    })
}

fn append(m: &Manifest, p: &Place, more: &str) -> Option<Mutation> {
    m.append(p, more)?;
    let end = m.end_of_text(&p.entry.value)?;
    m.edits().put(end..end, format!(" {more}")).at(end).at(p.entry.value.span.start as usize).done()
}

fn secret(m: &Manifest) -> Vec<Mutation> {
    prompts(m).filter_map(|p| append(m, p, "{{secrets.CRM_TOKEN}}")).collect()
}

fn key_in_prompt(m: &Manifest) -> Vec<Mutation> {
    prompts(m).filter_map(|p| append(m, p, "Use sk-proj-4fJ2mQ8vXbT7wLz1RkD9sYc3HnE6uGpA5oIiV0xM2qWtZyBe")).collect()
}

fn key_in_header(m: &Manifest) -> Vec<Mutation> {
    let headers =
        m.keyed("headers").filter(|p| m.is_format_key(p).is_some()).filter_map(|p| p.entry.value.as_mapping());
    let values = headers.flat_map(|h| &h.entries).filter(|e| e.value.as_string().is_some());
    values
        .filter_map(|e| {
            m.put(range(e.value.span), "\"Bearer sk-proj-4fJ2mQ8vXbT7wLz1RkD9sYc3HnE6uGpA5oIiV0xM2qWtZyBe\"")
        })
        .collect()
}

fn host(m: &Manifest) -> Vec<Mutation> {
    let name = if m.dialect == "agntz" { "{{userQuery}}" } else { "{{ inputs.message }}" };
    let closed = m.get("inputSchema").is_some();
    m.keyed("url")
        .filter(|p| m.is_format_key(p).is_some() && !closed && is_request(p))
        .filter_map(|p| {
            let text = p.entry.value.as_string()?;
            let start = text.value.find("://")? + 3;
            let end = text.value.get(start..)?.find(['/', '?']).map_or(text.value.len(), |e| start + e);
            let host = text.source_span(start as u32..end as u32);
            m.put(range(p.entry.value.span), format!("\"{}\"", text.value.replacen(&m.text[range(host)], name, 1)))
        })
        .collect()
}

/// Whether an address is a template, and not that of a callback.
fn is_request(p: &Place) -> bool {
    let kind = p.parent.as_mapping().and_then(|o| o.get("kind")).and_then(|e| e.value.as_string());
    kind.is_none_or(|k| &*k.value == "http")
}

fn command(m: &Manifest) -> Vec<Mutation> {
    let commands = m.keyed("command").filter(|p| {
        p.entry.value.as_string().is_some_and(|t| !t.value.contains("update_blackboard") && !t.value.contains('\n'))
    });
    commands.filter_map(|p| m.put(range(p.entry.value.span), "\"{{workflow.task}} --all\"")).collect()
}
