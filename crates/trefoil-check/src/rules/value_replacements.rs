//! Values that a second writer replaces in any order: two branches with one key, the result of another node, a seeded
//! value (`write-conflict`).

use std::sync::Arc;

use trefoil_ir::types::{TypeMember, ValueKind};
use trefoil_ir::{DeclarationKind, NameDeclaration, NodeId, SlotId, StepGraph, StepKind};
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::{Diagnostic, FileId, FindingSeverity, Location};

use super::lost_write::find_write_location;
use crate::rule::RuleContext;
use crate::semantic::SemanticModel;
use crate::words;

/// Branches whose results have the same key, which has only one value.
pub(super) fn check_branches(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for (flow, _, step) in model.all_steps() {
        let StepKind::Parallel(parallel) = &step.kind else { continue };
        let mut first: HashMap<&Arc<str>, Location> = HashMap::default();
        for branch in &parallel.branches {
            let branch = &model.program.steps[*branch];
            let (Some(slot), Some(_)) = (branch.out, &branch.label) else { continue };
            let key = &model.program.flows[flow].slots[slot].name;
            if key.is_empty() {
                continue;
            }
            let at = result_name_location(model, branch.origin, key);
            let Some(other) = first.get(key) else {
                first.insert(key, at);
                continue;
            };
            let d = cx.new_finding(at, format!("two branches write `{key}`"));
            let d = Diagnostic { severity: FindingSeverity::Error, ..d };
            cx.report_finding(
                d.with_label(*other, "written here too")
                    .with_help(format!("write another `{}` for the step", cx.model.format_words().kept)),
            );
        }
    }
}

/// The place of the name of a step's result; otherwise the step.
pub(super) fn result_name_location(model: &SemanticModel<'_>, step: Location, name: &str) -> Location {
    let is_around = |d: &NameDeclaration| {
        d.at.file == step.file && d.extent.start <= step.span.start && step.span.end <= d.extent.end
    };
    let names_step = |d: &NameDeclaration| d.kind == DeclarationKind::Step && *d.name == *name;
    let declarations = model.facts.declarations.iter().filter(|d| names_step(d) && is_around(d));
    match declarations.min_by_key(|d| d.extent.end - d.extent.start) {
        Some(innermost) => innermost.at,
        None => step,
    }
}

/// A node that writes to the path of another node's result, which templates then cannot read any more. A fallback does
/// so on purpose.
pub(super) fn check_node_results(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for (flow, _, step) in model.all_steps() {
        let StepKind::Graph(graph) = &step.kind else { continue };
        let labels = labelled_nodes(model, graph);
        for (id, node) in graph.nodes.entries() {
            let step = &model.program.steps[node.step];
            let Some(slot) = step.out else { continue };
            for path in paths(model, flow, slot) {
                let Some(below) = path.strip_prefix("working.") else { continue };
                let Some((name, member)) = owner(&labels, below) else { continue };
                let Some(other) = labels.get(name) else { continue };
                if *other == id || node.fallback_of.contains(other) {
                    continue;
                }
                let owner = &model.program.steps[graph.nodes[*other].step];
                let Some(result) = owner.out else { continue };
                let replaced = model.program_types().slot_type(flow, result);
                if !matches!(replaced.find_member(member), TypeMember::Is { .. }) {
                    continue;
                }
                let writer = words::step_name(model.program, node.step);
                let message = format!(
                    "{writer} overwrites the result of `{name}`: afterwards `{name}.{member}` is the value from {writer}"
                );
                let here = find_write_location(model, step.origin, path).unwrap_or(step.origin);
                let d = cx.new_finding(here, message).with_label(owner.origin, "this node");
                let writer = writer.trim_matches('`');
                cx.report_finding(d.with_help(format!("write `working.{writer}.{member}`, or another unused path")));
            }
        }
    }
}

/// The nodes of a graph by their names.
fn labelled_nodes<'p>(model: &SemanticModel<'p>, graph: &'p StepGraph) -> HashMap<&'p str, NodeId> {
    let mut labels = HashMap::default();
    for (id, node) in graph.nodes.entries() {
        if let Some(label) = &model.program.steps[node.step].label {
            labels.insert(&**label, id);
        }
    }
    labels
}

/// The paths that a slot is written to.
fn paths<'p>(model: &SemanticModel<'p>, flow: trefoil_ir::FlowId, slot: SlotId) -> &'p [Arc<str>] {
    &model.program.flows[flow].slots[slot].writes
}

/// The node that a path names first, and the rest of the path.
fn owner<'p>(labels: &HashMap<&str, NodeId>, path: &'p str) -> Option<(&'p str, &'p str)> {
    for (dot, _) in path.match_indices('.') {
        if let (Some(name), Some(rest)) = (path.get(..dot), path.get(dot + 1..))
            && labels.contains_key(name)
        {
            return Some((name, rest.split('.').next().unwrap_or(rest)));
        }
    }
    None
}

/// A path below a seeded value that is not an object, so the value is lost.
pub(super) fn check_seeds(cx: &mut RuleContext<'_>) {
    let declarations = &cx.model.facts.declarations;
    let nodes = DeclarationExtents::from_declarations(declarations.iter().filter(|d| d.kind == DeclarationKind::Node));
    if nodes.0.is_empty() {
        return;
    }
    let mut seeds: HashMap<Location, &NameDeclaration> = HashMap::default();
    let mut written = Vec::new();
    for key in declarations {
        if key.kind != DeclarationKind::Key {
            continue;
        }
        if nodes.hold(key.at) {
            written.push(key);
        } else {
            seeds.insert(key.at, key);
        }
    }
    for key in written {
        let Some(parent) = key.parent else { continue };
        let Some(seed) = seeds.get(&parent) else { continue };
        let Some(kinds) = seed.schema.solid_kinds() else { continue };
        if kinds.contains(ValueKind::Object) || kinds.contains(ValueKind::List) {
            continue;
        }
        let path = tree_path(cx.model, seed);
        let message = format!("writing here replaces `{path}`, which has a value from the start");
        let d = cx.new_finding(Location::new(key.at.file, key.extent), message).with_label(seed.at, "the value");
        cx.report_finding(d.with_help("write to a path that is not below a text"));
    }
}

/// The starts of declarations in order, each with the furthest end of it and those before it in the file.
struct DeclarationExtents(Vec<(FileId, u32, u32)>);

impl DeclarationExtents {
    fn from_declarations<'d>(all: impl Iterator<Item = &'d NameDeclaration>) -> Self {
        Self::sorted(all.map(|d| (d.at.file, d.extent.start, d.extent.end)).collect())
    }
    fn sorted(mut extents: Vec<(FileId, u32, u32)>) -> Self {
        extents.sort_unstable();
        let mut last: Option<(FileId, u32)> = None;
        for (file, _, end) in &mut extents {
            if let Some((before, reach)) = last
                && before == *file
            {
                *end = reach.max(*end);
            }
            last = Some((*file, *end));
        }
        Self(extents)
    }
    /// Whether a place is in a declaration.
    fn hold(&self, at: Location) -> bool {
        let after = self.0.partition_point(|(file, start, _)| (*file, *start) <= (at.file, at.span.start));
        match self.0.get(..after) {
            Some([.., (file, _, end)]) => *file == at.file && at.span.end <= *end,
            _ => false,
        }
    }
}

/// The path to a key from the root of its tree, as used by nodes that write below it.
fn tree_path(model: &SemanticModel<'_>, key: &NameDeclaration) -> String {
    let mut names = vec![&*key.name];
    let mut parent = key.parent;
    while let Some(at) = parent {
        let is_parent = |d: &&NameDeclaration| d.kind == DeclarationKind::Key && d.at == at;
        let Some(outer) = model.facts.declarations.iter().find(is_parent) else { break };
        names.push(&outer.name);
        parent = outer.parent;
    }
    names.reverse();
    let inner = names.join(".");
    match written_root(model, &inner) {
        Some(root) => format!("{root}.{inner}"),
        None => inner,
    }
}

/// The root of the first written path that continues after a path.
fn written_root<'p>(model: &SemanticModel<'p>, inner: &str) -> Option<&'p str> {
    for flow in model.program.flows.iter() {
        for slot in flow.slots.iter() {
            for path in slot.writes.iter() {
                if let Some((root, rest)) = path.split_once('.')
                    && let Some(below) = rest.strip_prefix(inner)
                    && below.starts_with('.')
                {
                    return Some(root);
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use trefoil_syntax::{FileId, Location, Span};

    use super::DeclarationExtents;

    #[test]
    fn a_place_is_held_by_any_extent_around_it() {
        let (one, other) = (FileId(0), FileId(1));
        let extents = DeclarationExtents::sorted(vec![(one, 40, 50), (one, 0, 30), (one, 5, 10), (other, 0, 3)]);
        let held = |file, start, end| extents.hold(Location::new(file, Span::new(start, end)));
        assert!(held(one, 6, 9) && held(one, 12, 30) && held(one, 40, 50) && held(other, 0, 3));
        assert!(!held(one, 12, 31) && !held(one, 31, 40) && !held(other, 6, 9) && !held(FileId(2), 0, 1));
    }
}
