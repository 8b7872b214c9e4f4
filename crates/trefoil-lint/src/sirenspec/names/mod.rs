//! Names without a value. [`check`] applies to each reference the rules for its root.

mod environment;
mod habits;
mod instead;
mod lacking;
mod loops;
mod name;
mod undefined;
mod working;

use std::sync::Arc;

use super::subject::{Found, Subject};
use name::Name;
use trefoil_front::names::End;
use trefoil_front::sirenspec::manifest::Root;
use trefoil_front::sirenspec::names::known::words;
use trefoil_front::sirenspec::names::leads::Leads;
use trefoil_front::sirenspec::names::place::Here;
use trefoil_front::sirenspec::names::stand::Reading;

/// Checks every reference of every text.
pub fn check(subject: &Subject<'_>, found: &mut Found) {
    for text in subject.texts.all() {
        for used in &text.text.uses {
            one(Name { subject, text, used }, found);
        }
    }
}

fn one(name: Name<'_, '_>, found: &mut Found) {
    let here = name.here();
    let path = words(&name.reference().path);
    let Some((head, rest)) = path.split_first() else { return };
    if !here.is_condition() {
        undefined::default_is_text(name, found);
    }
    match (&**head, here.is_condition()) {
        ("inputs", false) => input(name, found),
        ("env", false) => environment::check(name, found),
        ("item" | "index" | "total", false) => loops::check(name, found),
        ("_budget", _) => {}
        ("working", _) if rest.first().is_some_and(|w| **w == *"_budget") && !is_seeded(here, rest) => {}
        ("working", false) if working::check(name, rest, found) => {}
        ("output", _) => tree(name, Root::Output, 1, rest, found),
        ("working", _) | (_, true) => tree(name, Root::Working, 1, rest, found),
        _ => tree(name, Root::Working, 0, &path, found),
    }
}

fn is_seeded(here: &Here, path: &[Arc<str>]) -> bool {
    here.known.seeded(Root::Working, path).is_some()
}

/// A field of the input.
fn input(name: Name<'_, '_>, found: &mut Found) {
    let Some(field) = name.reference().path.get(1) else { return undefined::no_field(name, "inputs", found) };
    match &name.used.bound.end {
        // The checker reports paths that continue after a value.
        End::Nothing(stop) if stop.before.what.is_some() => {}
        End::Nothing(stop) => {
            let candidates = stop.before.names.iter().map(|name| &**name).collect();
            undefined::undefined(name, stop.segment, candidates, None, found);
        }
        End::Open(1) if name.here().is_slip(&field.name) => {
            undefined::undefined(name, 1, name.known().inputs.names().collect(), None, found);
        }
        _ => lacking::in_default(name, &field.name, found),
    }
}

/// A path under `working` or `output`; `base` is the number of segments that name the tree.
fn tree(name: Name<'_, '_>, root: Root, base: usize, path: &[Arc<str>], found: &mut Found) {
    if path.is_empty() {
        return;
    }
    match name.here().leads(root, path) {
        // The checker reports nodes that have not ended yet.
        Leads::There(_) | Leads::Agents | Leads::Own(_) | Leads::Late { .. } => {}
        Leads::Nowhere { .. } => match own_agents(name.here(), path) {
            Some(taken) => {
                let agents = name.here().swarm().iter().map(|(id, _)| &**id).collect();
                undefined::undefined(name, base + taken + 1, agents, None, found);
            }
            None => undefined::path(name, root, base, path, found),
        },
    }
}

/// If a path leads into the agents of the reader's own swarm: the number of segments that name the reader.
fn own_agents(here: &Here, path: &[Arc<str>]) -> Option<usize> {
    let (node, taken) = here.known.node_at(path)?;
    let own = here.who == Reading::Node(node) && !here.swarm().is_empty();
    (own && path.get(taken).is_some_and(|word| **word == *"agents")).then_some(taken)
}
