//! Mistakes in the names in a text: undefined names, names without a value yet, and paths that continue after a value
//! without members.

use std::sync::Arc;
use trefoil_syntax::hash::HashSet;

use trefoil_syntax::suggestions::NearMatch;
use trefoil_syntax::{Diagnostic, FindingSeverity, Location, suggestions};
use trefoil_template::{PathSegment, Reference};

use super::prefixes;
use trefoil_front::agntz::names::{AgntzAgentNames, AgntzScope, AgntzTextPurpose, NAMESPACES};
use trefoil_front::names::{BoundReference, MissingValueReason, PathResolution};
use trefoil_front::spelling_fixes;

use super::FindingList;

/// A finding about a path.
pub struct PathFinding {
    /// The severity.
    severity: FindingSeverity,
    rule: &'static str,
    message: String,
    help: Option<String>,
    /// The first and the last wrong segment; `None`: the whole path.
    segments: Option<(usize, usize)>,
    /// The replacement for them, and whether it is certain.
    meant: Option<(Arc<str>, bool)>,
    /// Another place, which may be the wrong one, and its label.
    label: Option<(Location, String)>,
}

impl PathFinding {
    fn new(severity: FindingSeverity, rule: &'static str, message: String, help: impl Into<Option<String>>) -> Self {
        Self { severity, rule, message, help: help.into(), segments: None, meant: None, label: None }
    }
    /// Adds that the segment at this index is wrong, with the replacement.
    fn with_suggestion(self, index: usize, near: Option<NearMatch<'_>>) -> Self {
        // if names are not declared, an apparent misspelling may still be a name
        let declared = self.severity == FindingSeverity::Error;
        Self { segments: Some((index, index)), meant: near.map(|n| (n.name.into(), n.sure && declared)), ..self }
    }
}

/// Reports the mistakes in the names of a text. `said`: the names already reported for the same agent; one warning for
/// each is enough.
pub fn check_text_names(
    file: trefoil_front::ManifestSource<'_>,
    here: &AgntzScope,
    uses: &[BoundReference],
    said: &mut HashSet<String>,
    found: &mut FindingList,
) {
    for one in uses {
        for note in notes(here, one) {
            if note.severity == FindingSeverity::Error || said.insert(note.message.clone()) {
                report(file, &here.names, one, note, found);
            }
        }
    }
}

fn report(
    file: trefoil_front::ManifestSource<'_>,
    names: &AgntzAgentNames,
    one: &BoundReference,
    note: PathFinding,
    found: &mut FindingList,
) {
    let segment = note.segments.and_then(|(from, to)| one.segments_location(from, to));
    let mut d = Diagnostic::new(note.rule, note.severity, segment.unwrap_or(one.at), note.message);
    d.help = note.help;
    if let Some((at, message)) = note.label {
        d = d.with_label(at, message);
    }
    let slip = note.segments.and_then(|(from, _)| one.reference.path.get(from)).map_or("", |s| &s.name);
    let by_ref = |name: &str| {
        let steps = names.steps_named(name).iter().filter_map(|i| names.steps.get(*i));
        steps.into_iter().any(|s| s.by_ref && s.callee.is_some())
    };
    let confirmed = |name: &str| by_ref(name) || file.confirms_misspelling(name, slip);
    found.push(match note.meant {
        Some((name, sure)) => spelling_fixes::fix_path(d, segment, &name, sure && confirmed(&name)),
        None => d,
    });
}

/// All mistakes in one path.
fn notes(here: &AgntzScope, one: &BoundReference) -> Vec<PathFinding> {
    let BoundReference { reference, bound, .. } = one;
    let path = &reference.path;
    let Some((root, first)) = path.first().zip(bound.entries.first()) else {
        return match (path.first(), &bound.end) {
            (Some(root), PathResolution::Nothing(_)) => vec![unknown(here, path, &root.name)],
            _ => Vec::new(),
        };
    };
    if NAMESPACES.contains(&&*root.name) {
        return namespace(reference).into_iter().collect();
    }
    let doubt =
        first.doubt.as_ref().and_then(|doubt| not_given(here, root, doubt)).filter(|_| wants_doubts(here, reference));
    // It is unknown what a step with an invalid input (reported) passes.
    let unclear = here.names.outside.as_ref().is_some_and(|o| o.unclear && !here.names.inputs.declared);
    let lost = match &bound.end {
        PathResolution::Open(0) if unclear => None,
        PathResolution::Open(0) => Some(unknown(here, path, &root.name)),
        // The checker reports paths that continue after a value.
        PathResolution::Nothing(_) | PathResolution::Open(_) | PathResolution::There => None,
    };
    doubt.into_iter().chain(lost).collect()
}

/// Whether to report that a path is null if its step is skipped: not in conditions, which test for that, and not inside
/// an `{{#if}}`.
fn wants_doubts(here: &AgntzScope, reference: &Reference) -> bool {
    !reference.guarded && !reference.has_tested_sibling() && here.purpose != AgntzTextPurpose::Condition
}

/// The whole input of a step that passes none. The checker reports other values that are missing on some paths.
fn not_given(here: &AgntzScope, root: &PathSegment, doubt: &MissingValueReason) -> Option<PathFinding> {
    // An undeclared name is reported separately.
    if *doubt != MissingValueReason::NotGiven || &*root.name != "userQuery" || here.names.query.is_none() {
        return None;
    }
    let message = "`userQuery` is always null: the step has no `input`".to_owned();
    let help = "add `input: { ... }` to the step: earlier results are not passed on automatically".to_owned();
    Some(PathFinding::new(FindingSeverity::Warning, "unresolved-name", message, help))
}

/// A path that starts with `env` or `secrets`.
fn namespace(reference: &Reference) -> Option<PathFinding> {
    let [root] = reference.path.as_slice() else { return None };
    let root = &root.name;
    let help = format!("write `{{{{{root}.NAME}}}}`");
    Some(PathFinding::new(FindingSeverity::Error, "unresolved-name", format!("`{root}` needs a name after it"), help))
}

/// An undefined root: an error if names are declared, otherwise a warning.
fn unknown(here: &AgntzScope, path: &[PathSegment], name: &str) -> PathFinding {
    let scope = &*here.names;
    let names: Vec<Arc<str>> = scope.root_names(here.at);
    let habit = prefixes::foreign_prefix(scope, path, name, &names);
    let (help, near) = match &habit {
        Some((last, meant)) => {
            let written = path.iter().take(last + 1).map(|s| &*s.name).collect::<Vec<_>>().join(".");
            let why = if *last > 0 && &**meant != "env" { ": names have no prefix here" } else { "" };
            (format!("write `{meant}` instead of `{written}`{why}"), None)
        }
        None => advice(scope, name, &names),
    };
    // If the agent of a step is unknown, its name may be the wrong one.
    let path =
        near.is_none().then(|| prefixes::output_member_path(scope, name, &names)).flatten().filter(|_| habit.is_none());
    let near = near.map(|near| match scope.steps_named(near.name).iter().filter_map(|i| scope.steps.get(*i)).next() {
        Some(step) if step.callee.is_none() => NearMatch { sure: false, ..near },
        _ => near,
    });
    let with_habit = |note: PathFinding| match habit {
        Some((last, meant)) => PathFinding { segments: Some((0, last)), meant: Some((meant, false)), ..note },
        None if note.meant.is_none() && path.is_some() => {
            PathFinding { meant: path.clone().map(|p| (p.into(), false)), ..note }
        }
        None => note,
    };
    if scope.inputs.closed {
        let message = format!("`{name}` is not defined here");
        let label = near
            .filter(|n| n.distance > 0)
            .and_then(|n| Some((declared(scope, n.name)?, format!("`{}` is declared here", n.name))));
        return with_habit(PathFinding {
            label,
            ..PathFinding::new(FindingSeverity::Error, "unresolved-name", message, help).with_suggestion(0, near)
        });
    }
    let message = match scope.outside.as_ref().filter(|_| !scope.inputs.declared).map(|o| &o.given) {
        Some(None) => format!("`{name}` is always null: the step has no `input`"),
        Some(Some(_)) => format!("`{name}` is always null: the step's `input` does not have it"),
        None => format!("`{name}` is not declared: it is null unless the input has it"),
    };
    let given = scope.outside.as_ref().and_then(|o| o.given.as_ref()).into_iter().flatten();
    let mut slip = given.filter(|text| near.is_some_and(|n| n.sure && *n.name == *text.value)).map(|text| {
        let at = Location::new(scope.file, text.content_span());
        (at, format!("the step passes `{}`", text.value))
    });
    let label = slip.next_back();
    with_habit(PathFinding {
        label,
        ..PathFinding::new(FindingSeverity::Warning, "unresolved-name", message, help).with_suggestion(0, near)
    })
}

/// The declaration of a name that is available here.
fn declared(scope: &AgntzAgentNames, name: &str) -> Option<Location> {
    let step = scope.steps_named(name).first().and_then(|i| scope.steps.get(*i));
    step.map(|s| s.at).or_else(|| scope.inputs.members.declaration_of(name))
}

fn advice<'n>(scope: &'n AgntzAgentNames, name: &str, names: &'n [Arc<str>]) -> (String, Option<NearMatch<'n>>) {
    if let Some(step) = scope.steps.iter().find(|s| &*s.id == name) {
        let key = NearMatch { name: &step.key, distance: 0, sure: names.contains(&step.key) };
        return (format!("write `{}`, where the output of `{name}` is", step.key), Some(key));
    }
    let given = scope.outside.as_ref().and_then(|o| o.given.as_ref()).into_iter().flatten();
    let near = suggestions::find_near_match(name, given.map(|text| &*text.value)).filter(|near| near.sure);
    if let Some(near) = near.filter(|near| names.iter().any(|n| **n == *near.name)) {
        let there = spelling_fixes::join_names(names.iter().map(|n| &**n));
        return (format!("did you mean `{}`? available: {there}", near.name), Some(near));
    }
    if scope.outside.as_ref().is_some_and(|o| o.names.iter().any(|n| &**n == name)) {
        let pass = format!("input: {{ {name}: \"{{{{{name}}}}}\" }}");
        return (format!("an agent does not see the state of its pipeline: pass it with `{pass}`"), None);
    }
    if names.iter().any(|n| n.strip_suffix('?') == Some(name)) {
        return (format!("declare it as `{name}`, without `?`"), None);
    }
    let there = match names {
        [] => "no names are available".to_owned(),
        some => format!("available: {}", spelling_fixes::join_names(some.iter().map(|n| &**n))),
    };
    // The id of a step is also a name if the wrong name is spelled like an id.
    let aliases = scope.steps.iter().filter(|s| name.contains('-') && names.contains(&s.key));
    let aliases = aliases.filter_map(|s| s.alias.as_deref());
    let near = suggestions::find_near_match(name, aliases.chain(names.iter().map(|n| &**n)));
    if let (None, Some(path)) = (near, prefixes::output_member_path(scope, name, names)) {
        return (format!("did you mean `{path}`? {there}"), None);
    }
    let help = match near {
        Some(near) => format!("did you mean `{}`? {there}", near.name),
        None if !scope.inputs.declared => match scope.outside.as_ref().map(|o| o.given.is_some()) {
            Some(true) => format!("add it to the step's `input`; {there}"),
            Some(false) => format!("add `input: {{ {name}: ... }}` to the step; {there}"),
            None => format!("declare it under `inputSchema`; {there}"),
        },
        None => there,
    };
    (help, near)
}
