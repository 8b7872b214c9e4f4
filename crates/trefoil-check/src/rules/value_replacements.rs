//! Values that a second writer replaces in any order: two branches with one key, the result of another node, a seeded
//! value (`write-conflict`).

use std::sync::Arc;

use trefoil_ir::types::{TypeMember, ValueKind};
use trefoil_ir::{DeclarationKind, GraphNode, NameDeclaration, NodeId, SlotId, StepKind};
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
        for branch in parallel.branches.iter().map(|branch| &model.program.steps[*branch]) {
            let Some(slot) = branch.out.filter(|_| branch.label.is_some()) else { continue };
            let key = &model.program.flows[flow].slots[slot].name;
            if key.is_empty() {
                continue;
            }
            let at = result_name_location(model, branch.origin, key);
            match first.get(key) {
                Some(other) => {
                    let d = cx.new_finding(at, format!("two branches write `{key}`"));
                    let d = Diagnostic { severity: FindingSeverity::Error, ..d };
                    cx.report_finding(
                        d.with_label(*other, "written here too")
                            .with_help(format!("write another `{}` for the step", cx.model.format_words().kept)),
                    );
                }
                None => drop(first.insert(key, at)),
            }
        }
    }
}

/// The place of the name of a step's result; otherwise the step.
pub(super) fn result_name_location(model: &SemanticModel<'_>, step: Location, name: &str) -> Location {
    let around = |d: &&NameDeclaration| {
        d.at.file == step.file && d.extent.start <= step.span.start && step.span.end <= d.extent.end
    };
    let steps = model.facts.declarations.iter().filter(|d| d.kind == DeclarationKind::Step && *d.name == *name);
    steps.filter(around).min_by_key(|d| d.extent.end - d.extent.start).map_or(step, |d| d.at)
}

/// A node that writes to the path of another node's result, which templates then cannot read any more. A fallback does
/// so on purpose.
pub(super) fn check_node_results(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for (flow, _, step) in model.all_steps() {
        let StepKind::Graph(graph) = &step.kind else { continue };
        let step = |node: &GraphNode| &model.program.steps[node.step];
        let labels = graph.nodes.entries().filter_map(|(id, node)| Some((&**step(node).label.as_ref()?, id)));
        let labels: HashMap<&str, NodeId> = labels.collect();
        for (id, node) in graph.nodes.entries() {
            let step = step(node);
            for path in step.out.into_iter().flat_map(|slot| paths(model, flow, slot)) {
                let Some((name, member)) = path.strip_prefix("working.").and_then(|path| owner(&labels, path)) else {
                    continue;
                };
                let Some(other) = labels.get(name).filter(|other| **other != id) else { continue };
                if node.fallback_of.contains(other) {
                    continue;
                }
                let owner = &model.program.steps[graph.nodes[*other].step];
                let Some(left) = owner.out.map(|slot| model.program_types().slot_type(flow, slot)) else { continue };
                if !matches!(left.find_member(member), TypeMember::Is { .. }) {
                    continue;
                }
                let own = words::step_name(model.program, node.step);
                let message = format!(
                    "{own} overwrites the result of `{name}`: afterwards `{name}.{member}` is the value from {own}"
                );
                let here = find_write_location(model, step.origin, path).unwrap_or(step.origin);
                let d = cx.new_finding(here, message).with_label(owner.origin, "this node");
                let own = own.trim_matches('`');
                cx.report_finding(d.with_help(format!("write `working.{own}.{member}`, or another unused path")));
            }
        }
    }
}

/// The paths that a slot is written to.
fn paths<'p>(model: &SemanticModel<'p>, flow: trefoil_ir::FlowId, slot: SlotId) -> &'p [Arc<str>] {
    &model.program.flows[flow].slots[slot].writes
}

/// The node that a path names first, and the rest of the path.
fn owner<'p>(labels: &HashMap<&str, NodeId>, path: &'p str) -> Option<(&'p str, &'p str)> {
    let ends = path.match_indices('.').map(|(at, _)| at);
    let (name, rest) = ends
        .filter_map(|at| Some((path.get(..at)?, path.get(at + 1..)?)))
        .find(|(name, _)| labels.contains_key(name))?;
    Some((name, rest.split('.').next().unwrap_or(rest)))
}

/// A path below a seeded value that is not an object, so the value is lost.
pub(super) fn check_seeds(cx: &mut RuleContext<'_>) {
    let facts = cx.model.facts;
    let keys = || facts.declarations.iter().filter(|d| d.kind == DeclarationKind::Key);
    let nodes =
        DeclarationExtents::from_declarations(facts.declarations.iter().filter(|d| d.kind == DeclarationKind::Node));
    if nodes.0.is_empty() {
        return;
    }
    let written = |at: Location| nodes.hold(at);
    let seeds: HashMap<Location, _> = keys().filter(|d| !written(d.at)).map(|d| (d.at, d)).collect();
    let mut found = Vec::new();
    for key in keys().filter(|d| written(d.at)) {
        let Some(seed) = key.parent.and_then(|parent| seeds.get(&parent)) else { continue };
        if seed
            .schema
            .solid_kinds()
            .is_some_and(|kinds| !kinds.contains(ValueKind::Object) && !kinds.contains(ValueKind::List))
        {
            let path = tree_path(cx.model, seed);
            let message = format!("writing here replaces `{path}`, which has a value from the start");
            let d = cx.new_finding(Location::new(key.at.file, key.extent), message).with_label(seed.at, "the value");
            found.push(d.with_help("write to a path that is not below a text"));
        }
    }
    found.into_iter().for_each(|d| cx.report_finding(d));
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
            *end = last.filter(|(before, _)| before == file).map_or(*end, |(_, reach)| reach.max(*end));
            last = Some((*file, *end));
        }
        Self(extents)
    }
    /// Whether a place is in a declaration.
    fn hold(&self, at: Location) -> bool {
        let after = self.0.partition_point(|(file, start, _)| (*file, *start) <= (at.file, at.span.start));
        let before = after.checked_sub(1).and_then(|before| self.0.get(before));
        before.is_some_and(|(file, _, end)| *file == at.file && at.span.end <= *end)
    }
}

/// The path to a key from the root of its tree, as used by nodes that write below it.
fn tree_path(model: &SemanticModel<'_>, key: &NameDeclaration) -> String {
    let mut names = vec![&*key.name];
    let mut parent = key.parent;
    while let Some(outer) =
        parent.and_then(|at| model.facts.declarations.iter().find(|d| d.kind == DeclarationKind::Key && d.at == at))
    {
        names.push(&outer.name);
        parent = outer.parent;
    }
    names.reverse();
    let inner = names.join(".");
    let written = model.program.flows.iter().flat_map(|flow| &flow.slots).flat_map(|slot| &slot.writes);
    let mut roots = written
        .filter_map(|path| path.split_once('.'))
        .filter(|(_, rest)| rest.strip_prefix(&*inner).is_some_and(|below| below.starts_with('.')));
    roots.next().map_or_else(|| inner.clone(), |(root, _)| format!("{root}.{inner}"))
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
