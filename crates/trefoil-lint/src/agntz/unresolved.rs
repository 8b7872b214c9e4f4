//! Mistakes in the names in a text: undefined names, names without a value yet, and paths that continue after a value
//! without members.

use std::sync::Arc;
use trefoil_syntax::hash::HashSet;

use trefoil_syntax::suggestions::NearMatch;
use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Diagnostic, FindingSeverity, Location, suggestions};
use trefoil_template::{PathSegment, Reference};

use super::prefixes;
use trefoil_front::agntz::names::{AgntzAgentNames, AgntzScope, AgntzTextPurpose, NAMESPACES, StepName};
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
    let slip = match note.segments {
        Some((from, _)) if let Some(segment) = one.reference.path.get(from) => &*segment.name,
        _ => "",
    };
    found.push(match note.meant {
        Some((name, sure)) => {
            let sure = sure && (has_step_by_ref(names, &name) || file.confirms_misspelling(&name, slip));
            spelling_fixes::fix_path(d, segment, &name, sure)
        }
        None => d,
    });
}

/// The steps with this name.
fn steps_named<'n>(names: &'n AgntzAgentNames, name: &str) -> Vec<&'n StepName> {
    names.steps_named(name).iter().filter_map(|index| names.steps.get(*index)).collect()
}

/// Whether a step with this name calls a known agent in another file.
fn has_step_by_ref(names: &AgntzAgentNames, name: &str) -> bool {
    steps_named(names, name).into_iter().any(|step| step.by_ref && step.callee.is_some())
}

/// All mistakes in one path.
fn notes(here: &AgntzScope, one: &BoundReference) -> Vec<PathFinding> {
    let BoundReference { reference, bound, .. } = one;
    let path = &reference.path;
    let Some(root) = path.first() else { return Vec::new() };
    let Some(first) = bound.entries.first() else {
        return match &bound.end {
            PathResolution::Nothing(_) => vec![unknown(here, path, &root.name)],
            _ => Vec::new(),
        };
    };
    if NAMESPACES.contains(&&*root.name) {
        return namespace(reference).into_iter().collect();
    }
    let mut notes = Vec::new();
    if let Some(doubt) = &first.doubt
        && wants_doubts(here, reference)
    {
        notes.extend(not_given(here, root, doubt));
    }
    // The checker reports paths that continue after a value. It is unknown what a step with an invalid input (reported)
    // passes.
    let is_unclear = matches!(&here.names.outside, Some(outside) if outside.unclear && !here.names.inputs.declared);
    if matches!(bound.end, PathResolution::Open(0)) && !is_unclear {
        notes.push(unknown(here, path, &root.name));
    }
    notes
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
    if let Some((last, meant)) = prefixes::foreign_prefix(scope, path, name, &names) {
        let written: Vec<&str> = path.iter().take(last + 1).map(|segment| &*segment.name).collect();
        let why = if last > 0 && &*meant != "env" { ": names have no prefix here" } else { "" };
        let help = format!("write `{meant}` instead of `{}`{why}", written.join("."));
        let note = undefined(scope, name, help, None);
        return PathFinding { segments: Some((0, last)), meant: Some((meant, false)), ..note };
    }
    let (help, mut near) = advice(scope, name, &names);
    let output_path = match near {
        None => prefixes::output_member_path(scope, name, &names),
        Some(_) => None,
    };
    // If the agent of a step is unknown, its name may be the wrong one.
    if let Some(near) = &mut near
        && let Some(step) = steps_named(scope, near.name).first()
        && step.callee.is_none()
    {
        near.sure = false;
    }
    let mut note = undefined(scope, name, help, near);
    if let (None, Some(path)) = (&note.meant, output_path) {
        note.meant = Some((path.into(), false));
    }
    note
}

/// The finding about an undefined root, with a similar name.
fn undefined(scope: &AgntzAgentNames, name: &str, help: String, near: Option<NearMatch<'_>>) -> PathFinding {
    if scope.inputs.closed {
        let message = format!("`{name}` is not defined here");
        let mut note = PathFinding::new(FindingSeverity::Error, "unresolved-name", message, help);
        if let Some(near) = near
            && near.distance > 0
            && let Some(at) = declared(scope, near.name)
        {
            note.label = Some((at, format!("`{}` is declared here", near.name)));
        }
        return note.with_suggestion(0, near);
    }
    let message = match &scope.outside {
        Some(outside) if !scope.inputs.declared => match &outside.given {
            None => format!("`{name}` is always null: the step has no `input`"),
            Some(_) => format!("`{name}` is always null: the step's `input` does not have it"),
        },
        _ => format!("`{name}` is not declared: it is null unless the input has it"),
    };
    let mut note = PathFinding::new(FindingSeverity::Warning, "unresolved-name", message, help);
    if let Some(near) = near
        && near.sure
        && let Some(text) = given_keys(scope).iter().rev().find(|text| *near.name == *text.value)
    {
        let at = Location::new(scope.file, text.content_span());
        note.label = Some((at, format!("the step passes `{}`", text.value)));
    }
    note.with_suggestion(0, near)
}

/// The declaration of a name that is available here.
fn declared(scope: &AgntzAgentNames, name: &str) -> Option<Location> {
    match steps_named(scope, name).first() {
        Some(step) => Some(step.at),
        None => scope.inputs.members.declaration_of(name),
    }
}

/// The names that the step around the agent passes.
fn given_keys(scope: &AgntzAgentNames) -> &[YamlText] {
    match &scope.outside {
        Some(outside) => outside.given.as_deref().unwrap_or_default(),
        None => &[],
    }
}

fn advice<'n>(scope: &'n AgntzAgentNames, name: &str, names: &'n [Arc<str>]) -> (String, Option<NearMatch<'n>>) {
    if let Some(step) = scope.steps.iter().find(|s| &*s.id == name) {
        let key = NearMatch { name: &step.key, distance: 0, sure: names.contains(&step.key) };
        return (format!("write `{}`, where the output of `{name}` is", step.key), Some(key));
    }
    let near = suggestions::find_near_match(name, given_keys(scope).iter().map(|text| &*text.value));
    if let Some(near) = near
        && near.sure
        && names.iter().any(|known| **known == *near.name)
    {
        let there = spelling_fixes::join_names(names.iter().map(|n| &**n));
        return (format!("did you mean `{}`? available: {there}", near.name), Some(near));
    }
    if matches!(&scope.outside, Some(outside) if outside.names.iter().any(|known| &**known == name)) {
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
    let mut candidates: Vec<&str> = Vec::new();
    for step in &scope.steps {
        if let Some(alias) = &step.alias
            && name.contains('-')
            && names.contains(&step.key)
        {
            candidates.push(alias);
        }
    }
    candidates.extend(names.iter().map(|known| &**known));
    let near = suggestions::find_near_match(name, candidates);
    if let (None, Some(path)) = (near, prefixes::output_member_path(scope, name, names)) {
        return (format!("did you mean `{path}`? {there}"), None);
    }
    let help = match near {
        Some(near) => format!("did you mean `{}`? {there}", near.name),
        None if !scope.inputs.declared => match &scope.outside {
            Some(outside) if outside.given.is_some() => format!("add it to the step's `input`; {there}"),
            Some(_) => format!("add `input: {{ {name}: ... }}` to the step; {there}"),
            None => format!("declare it under `inputSchema`; {there}"),
        },
        None => there,
    };
    (help, near)
}
