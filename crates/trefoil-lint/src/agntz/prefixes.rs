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
        PathHabit::Instead(meant) => return (path.len() == 2).then(|| (0, meant.into())),
        PathHabit::BeforeNames | PathHabit::BeforeResults | PathHabit::BeforeContext => {}
    }
    let known = names.contains(next)
        || scope.steps_named(next).iter().any(|i| scope.steps.get(*i).is_some_and(|s| names.contains(&s.key)));
    known.then(|| (1, next.clone()))
}

/// The path to a part of a step's output with this name, if exactly one step has it.
pub fn output_member_path(scope: &AgntzAgentNames, name: &str, names: &[Arc<str>]) -> Option<String> {
    // Called for every unknown name and every step, so it only checks the declared output.
    let has = |s: &&StepName| s.callee.as_deref().and_then(|c| c.output.as_object()?.members.get(name)).is_some();
    let mut having = scope.steps.iter().filter(has).filter(|s| names.contains(&s.key));
    let step = having.next()?;
    having.next().is_none().then(|| format!("{}.{name}", step.key))
}
