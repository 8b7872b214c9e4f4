//! References to agents that do not exist, that several manifests declare, or that are circular.

use trefoil_syntax::{Diagnostic, suggestions};

use trefoil_front::ManifestSource;
use trefoil_front::agntz::binding::{AgntzUnits, LostReference, NoAgent, file_stem};
use trefoil_front::agntz::signature::CycleLink;
use trefoil_front::spelling_fixes::{fix_path, join_names};

use super::FindingList;

/// Checks every reference that does not resolve to a single agent.
pub fn check_agent_references(units: &AgntzUnits<'_>, found: &mut FindingList) {
    for lost in &units.lost {
        let Some(document) = units.project.documents.get(lost.from) else { continue };
        let file = ManifestSource::for_document(units.project, document);
        found.push(match &lost.why {
            NoAgent::Unknown => unknown(units, file, lost),
            NoAgent::Several(places) => {
                let message = format!("several manifests have the id `{}`", lost.id);
                let mut d = Diagnostic::new_error("ambiguous-reference", file.location_of(lost.text.span), message);
                for place in places {
                    d = d.with_label(*place, "declared here");
                }
                d
            }
            NoAgent::Ring(ring) => circular(file, lost, ring),
        });
    }
}

fn unknown(units: &AgntzUnits<'_>, file: ManifestSource<'_>, lost: &LostReference<'_>) -> Diagnostic {
    let (text, id) = (lost.text, lost.id);
    let own = match units.agents.get(&lost.from) {
        Some(Some(agent)) => Some(&*agent.id),
        _ => None,
    };
    let others: Vec<&str> = units.ids.visible_ids(lost.from).filter(|name| Some(*name) != own).collect();
    let available = || format!("available: {}", join_names(others.iter().copied()));
    let message = format!("no manifest in this folder has the id `{id}`");
    let d = Diagnostic::new_error("unknown-reference", file.location_of(text.span), message);
    // A version after the id is kept.
    let place = text.value.find(id).map(|at| file.location_of(text.source_span(at as u32..(at + id.len()) as u32)));
    if let Some(stem) = file_stem(id) {
        let known = others.contains(&stem);
        let instead = if known { format!("write `ref: {stem}`") } else { available() };
        let d = d.with_help(format!("`ref` is the `id` of an agent, not a path; {instead}"));
        return match place {
            Some(place) if known => d.with_safe_fix(format!("write `{stem}`"), place, stem),
            _ => d,
        };
    }
    match suggestions::find_near_match(id, others.iter().copied()) {
        Some(near) => fix_path(d.with_help(format!("did you mean `{}`?", near.name)), place, near.name, near.sure),
        None if others.is_empty() => d.with_help("this folder has no other manifest"),
        None => d.with_help(available()),
    }
}

/// A circular reference.
fn circular(file: ManifestSource<'_>, lost: &LostReference<'_>, ring: &[CycleLink]) -> Diagnostic {
    let at = file.location_of(lost.text.span);
    let mut way: Vec<&str> = ring.iter().map(|link| &*link.id).collect();
    way.extend(way.first().copied());
    let message = match ring.len() {
        0 | 1 => format!("`{}` calls itself", lost.text.value),
        _ => format!("circular references: {}", way.join(" -> ")),
    };
    let mut d = Diagnostic::new_error("reference-cycle", at, message);
    for link in ring {
        if let Some(leaves) = link.leaves
            && leaves != at
        {
            d = d.with_label(leaves, format!("called by `{}`", link.id));
        }
    }
    d.with_help("remove this call; to repeat steps, use `until` and `maxIterations`")
}
