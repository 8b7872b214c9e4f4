//! Prefixes that other systems use in paths, and names that may belong to a step's output.

use std::sync::Arc;

use trefoil_template::PathSegment;

use crate::habits::{PathHabit, WrittenFormat, path_habit};
use trefoil_front::agntz::names::{AgntzAgentNames, StepName};

/// A path in the notation of another system: up to which segment it is wrong, and the replacement.
pub fn foreign_prefix(
    scope: &AgntzAgentNames,
    path: &[PathSegment],
    name: &str,
    names: &[Arc<str>],
) -> Option<(usize, Arc<str>)> {
    let next = &path.get(1)?.name;
    if name == "process" && &**next == "env" && path.len() > 2 {
        return Some((1, "env".into()));
    }
    match path_habit(WrittenFormat::Agntz, name)? {
        PathHabit::Instead(meant) if path.len() == 2 => return Some((0, meant.into())),
        PathHabit::Instead(_) => return None,
        PathHabit::BeforeNames | PathHabit::BeforeResults | PathHabit::BeforeContext => {}
    }
    let is_step = |index: &usize| matches!(scope.steps.get(*index), Some(step) if names.contains(&step.key));
    if names.contains(next) || scope.steps_named(next).iter().any(is_step) {
        return Some((1, next.clone()));
    }
    None
}

/// The path to a part of a step's output with this name, if exactly one step has it.
pub fn output_member_path(scope: &AgntzAgentNames, name: &str, names: &[Arc<str>]) -> Option<String> {
    // Called for every unknown name and every step, so it only checks the declared output.
    let having: Vec<&StepName> =
        scope.steps.iter().filter(|step| has_output_member(step, name) && names.contains(&step.key)).collect();
    let [step] = having.as_slice() else { return None };
    Some(format!("{}.{name}", step.key))
}

fn has_output_member(step: &StepName, name: &str) -> bool {
    let Some(callee) = &step.callee else { return false };
    matches!(callee.output.as_object(), Some(output) if output.members.contains_key(name))
}
