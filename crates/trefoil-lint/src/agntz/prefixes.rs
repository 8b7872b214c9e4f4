//! Prefixes that other systems use in paths, and names that may belong to a step's output.

use std::sync::Arc;

use trefoil_template::PathSegment;

use trefoil_front::agntz::names::{AgntzAgentNames, StepName};

/// Prefixes of names.
const PREFIXES: &[&str] = &[
    "args",
    "context",
    "ctx",
    "data",
    "input",
    "inputs",
    "output",
    "outputs",
    "params",
    "state",
    "step",
    "steps",
    "this",
    "var",
    "variables",
    "vars",
    "workflow",
];

/// Other names of the namespaces.
const NAMESPACES: &[(&str, &str)] = &[
    ("ENV", "env"),
    ("Env", "env"),
    ("environment", "env"),
    ("secret", "secrets"),
    ("Secret", "secrets"),
    ("Secrets", "secrets"),
];

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
    if let Some((_, meant)) = NAMESPACES.iter().find(|(other, _)| *other == name && path.len() == 2) {
        return Some((0, (*meant).into()));
    }
    let known = names.contains(next)
        || scope.steps_named(next).iter().any(|i| scope.steps.get(*i).is_some_and(|s| names.contains(&s.key)));
    (PREFIXES.contains(&name) && known).then(|| (1, next.clone()))
}

/// The path to a part of a step's output with this name, if exactly one step has it.
pub fn output_member_path(scope: &AgntzAgentNames, name: &str, names: &[Arc<str>]) -> Option<String> {
    // Called for every unknown name and every step, so it only checks the declared output.
    let has = |s: &&StepName| s.callee.as_deref().and_then(|c| c.output.as_object()?.members.get(name)).is_some();
    let mut having = scope.steps.iter().filter(has).filter(|s| names.contains(&s.key));
    let step = having.next()?;
    having.next().is_none().then(|| format!("{}.{name}", step.key))
}
