//! Names without a value. [`check_workflow_names`] applies to each reference the rules for its root.

mod environment;
mod habits;
mod lacking;
mod loops;
mod name;
mod path_advice;
mod undefined;
mod working;

use std::sync::Arc;

use super::subject::{CheckedWorkflow, FindingList};
use name::NameReference;
use trefoil_front::names::PathResolution;
use trefoil_front::sirenspec::manifest::StateTree;
use trefoil_front::sirenspec::names::name_scope::SirenScope;
use trefoil_front::sirenspec::names::node_part::ReadingPoint;
use trefoil_front::sirenspec::names::path_targets::TreePathTarget;
use trefoil_front::sirenspec::names::workflow_names::segment_names;

/// Checks every reference of every text.
pub fn check_workflow_names(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    for text in subject.texts.all_texts() {
        for used in &text.text.uses {
            one(NameReference { subject, text, used }, found);
        }
    }
}

fn one(name: NameReference<'_, '_>, found: &mut FindingList) {
    let here = name.text_position();
    let path = segment_names(&name.reference().path);
    let Some((head, rest)) = path.split_first() else { return };
    if !here.is_condition() {
        undefined::default_is_text(name, found);
    }
    match (&**head, here.is_condition()) {
        ("inputs", false) => input(name, found),
        ("env", false) => environment::check_environment_name(name, found),
        ("item" | "index" | "total", false) => loops::check_loop_variable(name, found),
        ("_budget", _) => {}
        ("working", _) if matches!(rest, [word, ..] if **word == *"_budget") && !is_seeded(here, rest) => {}
        ("working", false) if working::check_working_path(name, rest, found) => {}
        ("output", _) => tree(name, StateTree::Output, 1, rest, found),
        ("working", _) | (_, true) => tree(name, StateTree::Working, 1, rest, found),
        _ => tree(name, StateTree::Working, 0, &path, found),
    }
}

fn is_seeded(here: &SirenScope, path: &[Arc<str>]) -> bool {
    here.known.seeded_value(StateTree::Working, path).is_some()
}

/// A field of the input.
fn input(name: NameReference<'_, '_>, found: &mut FindingList) {
    let Some(field) = name.reference().path.get(1) else { return undefined::no_field(name, "inputs", found) };
    match &name.used.bound.end {
        // The checker reports paths that continue after a value.
        PathResolution::Nothing(stop) if stop.before.what.is_some() => {}
        PathResolution::Nothing(stop) => {
            let candidates = stop.before.names.iter().map(|name| &**name).collect();
            undefined::report_undefined(name, stop.segment, candidates, None, found);
        }
        PathResolution::Open(1) if name.text_position().is_slip(&field.name) => {
            undefined::report_undefined(name, 1, name.workflow_names().inputs.field_names().collect(), None, found);
        }
        _ => lacking::in_default(name, &field.name, found),
    }
}

/// A path under `working` or `output`; `base` is the number of segments that name the tree.
fn tree(name: NameReference<'_, '_>, root: StateTree, base: usize, path: &[Arc<str>], found: &mut FindingList) {
    if path.is_empty() {
        return;
    }
    match name.text_position().resolve_path(root, path) {
        // The checker reports nodes that have not ended yet.
        TreePathTarget::There(_) | TreePathTarget::Agents | TreePathTarget::Own(_) | TreePathTarget::Late { .. } => {}
        TreePathTarget::Nowhere { .. } => match own_agents(name.text_position(), path) {
            Some(taken) => {
                let agents = name.text_position().swarm_agents().iter().map(|(id, _)| &**id).collect();
                undefined::report_undefined(name, base + taken + 1, agents, None, found);
            }
            None => undefined::report_unknown_path(name, root, base, path, found),
        },
    }
}

/// If a path leads into the agents of the reader's own swarm: the number of segments that name the reader.
fn own_agents(here: &SirenScope, path: &[Arc<str>]) -> Option<usize> {
    let (node, taken) = here.known.node_at(path)?;
    if here.who != ReadingPoint::Node(node) || here.swarm_agents().is_empty() || **path.get(taken)? != *"agents" {
        return None;
    }
    Some(taken)
}
