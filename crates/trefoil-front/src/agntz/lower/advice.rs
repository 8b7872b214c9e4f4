//! What to say about a name that is not there.

use std::sync::Arc;
use trefoil_syntax::hash::HashSet;

use trefoil_syntax::suggest::Near;
use trefoil_syntax::{Location, Severity, suggest};

use super::scope::{At, Note, Scope};
use super::signature::Outside;

/// How many names a message lists.
const LISTED: usize = 12;

/// Names in backticks with commas, the first dozen.
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let mut seen = HashSet::default();
    let mut names = names.into_iter().filter(|n| seen.insert(*n));
    let mut list = names.by_ref().take(LISTED).map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ");
    if names.next().is_some() {
        list.push_str(", ...");
    }
    list
}

/// In an agent inside a step that gives no input, `userQuery` is known to be null.
pub fn query_is_null(outside: Option<&Outside<'_>>) -> Option<Note> {
    outside.filter(|o| o.given.is_none())?;
    let message = "`userQuery` is always null: the step gives no `input`".to_owned();
    let help = "a step does not pass on what came before it: write `input: { ... }`".to_owned();
    Some(Note::new(Severity::Warning, "unresolved-name", message, help))
}

/// A root that nothing defines: an error where names are declared, else a warning (decision C9).
pub fn unknown(scope: &Scope<'_>, name: &str, at: At) -> Note {
    let names: Vec<Arc<str>> = scope.names(at);
    let (help, near) = advice(scope, name, &names);
    if scope.inputs.closed {
        let message = format!("`{name}` is not defined here");
        return Note::new(Severity::Error, "unresolved-name", message, help).meant(0, near);
    }
    let message = match scope.outside.filter(|_| !scope.inputs.declared).map(|o| &o.given) {
        Some(None) => format!("`{name}` is always null: the step gives no `input`"),
        Some(Some(_)) => format!("`{name}` is always null: the step's `input` does not have it"),
        None => format!("`{name}` is not declared: it is null unless the input has it"),
    };
    let given = scope.outside.and_then(|o| o.given.as_ref()).into_iter().flatten();
    let slip = given.filter(|text| near.is_some_and(|n| n.sure && *n.name == *text.value)).map(|text| {
        let at = Location::new(scope.file, text.content());
        (at, format!("the step gives `{}`", text.value))
    });
    let label = slip.last();
    Note { label, ..Note::new(Severity::Warning, "unresolved-name", message, help).meant(0, near) }
}

fn advice<'n>(scope: &'n Scope<'_>, name: &str, names: &'n [Arc<str>]) -> (String, Option<Near<'n>>) {
    if let Some(step) = scope.steps.iter().find(|s| &*s.id == name) {
        let key = Near { name: &step.key, distance: 0, sure: names.contains(&step.key) };
        return (format!("the output of `{name}` lands at `{}`", step.key), Some(key));
    }
    let given = scope.outside.and_then(|o| o.given.as_ref()).into_iter().flatten();
    let near = suggest::near(name, given.map(|text| &*text.value)).filter(|near| near.sure);
    if let Some(near) = near.filter(|near| names.iter().any(|n| **n == *near.name)) {
        let there = list(names.iter().map(|n| &**n));
        return (format!("did you mean `{}`? there is {there}", near.name), Some(near));
    }
    if scope.outside.is_some_and(|o| o.names.iter().any(|n| &**n == name)) {
        let pass = format!("input: {{ {name}: \"{{{{{name}}}}}\" }}");
        return (format!("an agent does not see the state of its pipeline: pass it with `{pass}`"), None);
    }
    let there = match names {
        [] => "there are no names here".to_owned(),
        some => format!("there is {}", list(some.iter().map(|n| &**n))),
    };
    let near = suggest::near(name, names.iter().map(|n| &**n));
    let help = match near {
        Some(near) => format!("did you mean `{}`? {there}", near.name),
        None if !scope.inputs.declared => format!("declare it under `inputSchema`; {there}"),
        None => there,
    };
    (help, near)
}
