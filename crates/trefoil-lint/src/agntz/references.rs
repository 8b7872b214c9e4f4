//! References to agents that do not exist, that several manifests declare, or that are circular.

use trefoil_syntax::{Diagnostic, suggest};

use trefoil_front::Source;
use trefoil_front::agntz::bind::{LostReference, NoAgent, Units, file_stem};
use trefoil_front::agntz::signature::Link;
use trefoil_front::mend::{listed, rewritten};

use super::Found;

/// Checks every reference that does not resolve to a single agent.
pub fn check(units: &Units<'_>, found: &mut Found) {
    for lost in &units.lost {
        let Some(document) = units.project.documents.get(lost.from) else { continue };
        let file = Source::of(units.project, document);
        found.push(match &lost.why {
            NoAgent::Unknown => unknown(units, file, lost),
            NoAgent::Several(places) => {
                let message = format!("several manifests have the id `{}`", lost.id);
                let d = Diagnostic::error("ambiguous-reference", file.at(lost.text.span), message);
                places.iter().fold(d, |d, place| d.label(*place, "declared here"))
            }
            NoAgent::Ring(ring) => circular(file, lost, ring),
        });
    }
}

fn unknown(units: &Units<'_>, file: Source<'_>, lost: &LostReference<'_>) -> Diagnostic {
    let (text, id) = (lost.text, lost.id);
    let own = units.agents.get(&lost.from).and_then(Option::as_ref).map(|agent| &*agent.id);
    let others = || units.ids.names(lost.from).filter(|name| Some(*name) != own);
    let message = format!("no manifest in this folder has the id `{id}`");
    let d = Diagnostic::error("unknown-reference", file.at(text.span), message);
    // A version after the id is kept.
    let place = text.value.find(id).map(|at| file.at(text.source(at as u32..(at + id.len()) as u32)));
    if let Some(stem) = file_stem(id) {
        let known = others().any(|name| name == stem);
        let instead = if known { format!("write `ref: {stem}`") } else { format!("available: {}", listed(others())) };
        let d = d.help(format!("`ref` is the `id` of an agent, not a path; {instead}"));
        return match place.filter(|_| known) {
            Some(place) => d.fix(format!("write `{stem}`"), place, stem),
            None => d,
        };
    }
    match suggest::near(id, others()) {
        Some(near) => rewritten(d.help(format!("did you mean `{}`?", near.name)), place, near.name, near.sure),
        None if others().next().is_none() => d.help("this folder has no other manifest"),
        None => d.help(format!("available: {}", listed(others()))),
    }
}

/// A circular reference.
fn circular(file: Source<'_>, lost: &LostReference<'_>, ring: &[Link]) -> Diagnostic {
    let at = file.at(lost.text.span);
    let mut way: Vec<&str> = ring.iter().map(|link| &*link.id).collect();
    way.extend(way.first().copied());
    let message = match ring.len() {
        0 | 1 => format!("`{}` calls itself", lost.text.value),
        _ => format!("circular references: {}", way.join(" -> ")),
    };
    let mut d = Diagnostic::error("reference-cycle", at, message);
    for link in ring {
        if let Some(leaves) = link.leaves.filter(|leaves| *leaves != at) {
            d = d.label(leaves, format!("called by `{}`", link.id));
        }
    }
    d.help("remove this call; to repeat steps, use `until` and `maxIterations`")
}
