//! What to say about a name that is not there.

use std::sync::Arc;
use trefoil_syntax::hash::HashSet;

use trefoil_syntax::suggest::Near;
use trefoil_syntax::{Location, Severity, suggest};
use trefoil_template::Segment;

use super::scope::{At, Note, Scope, StepName};
use super::shape::Member;
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
pub fn unknown(scope: &Scope<'_>, path: &[Segment], name: &str, at: At) -> Note {
    let names: Vec<Arc<str>> = scope.names(at);
    let habit = habit(scope, path, name, &names);
    let (help, near) = match &habit {
        Some((last, meant)) => {
            let written = path.iter().take(last + 1).map(|s| &*s.name).collect::<Vec<_>>().join(".");
            (format!("write `{meant}` instead of `{written}`: names have no prefix here"), None)
        }
        None => advice(scope, name, &names),
    };
    // As long as nobody knows whom a step calls, its name may be the one that is wrong.
    let path = near.is_none().then(|| member(scope, name, &names)).flatten().filter(|_| habit.is_none());
    let near = near.map(|near| match scope.named(near.name).iter().filter_map(|i| scope.steps.get(*i)).next() {
        Some(step) if step.callee.is_none() => Near { sure: false, ..near },
        _ => near,
    });
    let with_habit = |note: Note| match habit {
        Some((last, meant)) => Note { segments: Some((0, last)), meant: Some((meant, false)), ..note },
        None if note.meant.is_none() && path.is_some() => {
            Note { meant: path.clone().map(|p| (p.into(), false)), ..note }
        }
        None => note,
    };
    if scope.inputs.closed {
        let message = format!("`{name}` is not defined here");
        let label = near
            .filter(|n| n.distance > 0)
            .and_then(|n| Some((declared(scope, n.name)?, format!("`{}` is declared here", n.name))));
        return with_habit(Note {
            label,
            ..Note::new(Severity::Error, "unresolved-name", message, help).meant(0, near)
        });
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
    with_habit(Note { label, ..Note::new(Severity::Warning, "unresolved-name", message, help).meant(0, near) })
}

/// Where a name of the scope is declared.
fn declared(scope: &Scope<'_>, name: &str) -> Option<Location> {
    let step = scope.named(name).first().and_then(|i| scope.steps.get(*i));
    step.map(|s| s.at).or_else(|| scope.inputs.members.place(name))
}

/// How other systems begin a path that here begins with the name itself.
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

/// A path as it is written elsewhere: up to which segment, and what to write in place of that.
fn habit(scope: &Scope<'_>, path: &[Segment], name: &str, names: &[Arc<str>]) -> Option<(usize, Arc<str>)> {
    let next = &path.get(1)?.name;
    if name == "process" && &**next == "env" && path.len() > 2 {
        return Some((1, "env".into()));
    }
    if let Some((_, meant)) = NAMESPACES.iter().find(|(other, _)| *other == name && path.len() == 2) {
        return Some((0, (*meant).into()));
    }
    let known = names.contains(next)
        || scope.named(next).iter().any(|i| scope.steps.get(*i).is_some_and(|s| names.contains(&s.key)));
    (PREFIXES.contains(&name) && known).then(|| (1, next.clone()))
}

/// The path to a part of a step's output that has this name, where just one step has it.
fn member(scope: &Scope<'_>, name: &str, names: &[Arc<str>]) -> Option<String> {
    let has = |s: &&StepName| matches!(s.callee.as_deref().map(|c| c.output.member(name)), Some(Member::Is(_)));
    let mut having = scope.steps.iter().filter(has).filter(|s| names.contains(&s.key));
    let step = having.next()?;
    having.next().is_none().then(|| format!("{}.{name}", step.key))
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
    // The id of a step is a name as well, for whoever writes it like one.
    let aliases = scope.steps.iter().filter(|s| name.contains('-') && names.contains(&s.key));
    let aliases = aliases.filter_map(|s| s.alias.as_deref());
    let near = suggest::near(name, aliases.chain(names.iter().map(|n| &**n)));
    if let (None, Some(path)) = (near, member(scope, name, names)) {
        return (format!("did you mean `{path}`? {there}"), None);
    }
    let help = match near {
        Some(near) => format!("did you mean `{}`? {there}", near.name),
        None if !scope.inputs.declared => format!("declare it under `inputSchema`; {there}"),
        None => there,
    };
    (help, near)
}
