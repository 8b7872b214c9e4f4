//! Blackboard keys that the manifest does not write. A bare key may come from the start input, so it is reported only
//! if it certainly has no value, or is a misspelling of an existing name.

use trefoil_syntax::Diagnostic;
use trefoil_syntax::suggestions::{self, NearMatch};
use trefoil_template::is_helper;

use super::checked_reference::CheckedReference;
use crate::habits::{PathHabit, WrittenFormat, path_habit};
use trefoil_front::aegis::manifest::RESERVED;
use trefoil_front::aegis::names::WorkflowNames;
use trefoil_front::names::PathResolution;
use trefoil_front::spelling_fixes;

/// Names that only results of states have.
const OF_RESULTS: &[&str] =
    &["output", "status", "score", "confidence", "stdout", "stderr", "exit_code", "response", "agents", "consensus"];

/// One-word names that exist in every template.
const BUILT_IN: &[&str] = &["iteration_number", "previous_error"];

/// Checks a key.
pub fn check_blackboard_key(asked: &CheckedReference<'_>, at: usize) -> Option<Diagnostic> {
    if asked.used.bound.end != PathResolution::Open(at) {
        return None;
    }
    let key = asked.segment_name(at);
    let closed = asked.names.input.is_complete();
    let advice = prefixed(asked, at).or_else(|| result_of_nothing(asked, at));
    let advice = advice.or_else(|| joined(asked, at)).or_else(|| similar(asked, at, closed));
    advice.or_else(|| bare_helper(asked, key)).or_else(|| undeclared(asked, at))
}

/// A key that nothing writes, in a workflow that does not declare its start input. If a key was renamed in one place
/// only, another key is written; so a workflow that writes no keys is not reported.
fn undeclared(asked: &CheckedReference<'_>, at: usize) -> Option<Diagnostic> {
    // A value that a block tests first may be missing.
    let optional = asked.used.reference.guarded;
    if optional || asked.names.input.schema.is_some() || asked.names.keys.is_empty() {
        return None;
    }
    let key = asked.segment_name(at);
    let message = format!("nothing in this manifest defines `{key}`");
    let keys = spelling_fixes::join_names(asked.names.keys.keys().map(|key| &**key));
    let help = format!("defined: {keys}; if the start input has `{key}`, declare it in `input_schema`");
    Some(asked.path_warning("unresolved-name", &message, &help))
}

/// A prefix that other systems use for results or for the context.
fn prefixed(asked: &CheckedReference<'_>, at: usize) -> Option<Diagnostic> {
    let (names, root, key) = (asked.names, asked.segment_name(at), asked.segment_name(at + 1));
    if at > 0 || asked.path_length() < 2 {
        return None;
    }
    let special = RESERVED.contains(&key);
    let is_meant = match path_habit(WrittenFormat::Aegis, root)? {
        PathHabit::BeforeResults => names.state_index(key).is_some() || special,
        PathHabit::BeforeContext => names.keys.contains_key(key) || key == "task",
        PathHabit::BeforeNames | PathHabit::Instead(_) => false,
    };
    if !is_meant {
        return None;
    }
    Some(match names.state_index(key) {
        Some(_) => asked.redundant_word_warning(at, &[key]),
        None if special => asked.redundant_word_warning(at, &[key]),
        None if key == "task" => asked.redundant_word_warning(at, &["workflow", key]),
        None => asked.redundant_word_warning(at, &["workflow", "context", key]),
    })
}

/// A path that looks like the result of an unknown state.
fn result_of_nothing(asked: &CheckedReference<'_>, at: usize) -> Option<Diagnostic> {
    let (names, key) = (asked.names, asked.segment_name(at));
    if !OF_RESULTS.contains(&asked.segment_name(at + 1)) {
        return None;
    }
    let on_board = matches!(asked.segment_name(0), "blackboard" | "workflow");
    let states = suggestions::find_near_match(key, names.state_names());
    // A state is not a Blackboard key.
    let keys = || suggestions::find_near_match(key, names.keys.keys().map(|k| &**k));
    let near = if on_board { keys().or(states.map(|n| NearMatch { sure: false, ..n })) } else { states };
    let help = near.map(|n| format!("did you mean `{}`?", n.name)).unwrap_or_default();
    Some(asked.segment_warning("unresolved-name", &format!("unknown state `{key}`"), &help, at, near))
}

/// A two-word name, written as one word.
fn joined(asked: &CheckedReference<'_>, at: usize) -> Option<Diagnostic> {
    let key = asked.segment_name(at);
    let Some(PathHabit::Instead(path)) = path_habit(WrittenFormat::Aegis, key) else { return None };
    if at + 1 < asked.path_length() {
        return None;
    }
    let message = format!("nothing in this manifest defines `{key}`");
    let d = asked.path_warning("unresolved-name", &message, &format!("did you mean `{path}`?"));
    Some(spelling_fixes::fix_path(d, asked.segment_location(at), path, false))
}

/// A misspelling of an existing name. `closed`: the caller of the run cannot add the key.
fn similar(asked: &CheckedReference<'_>, at: usize, closed: bool) -> Option<Diagnostic> {
    let key = asked.segment_name(at);
    let abbreviated = BUILT_IN.iter().find(|n| abbreviates(key, n));
    let near = match abbreviated {
        Some(name) => Some(NearMatch { name, distance: 0, sure: false }),
        // One-letter names are all similar to each other.
        None if key.chars().nth(1).is_none() => None,
        None => suggestions::find_near_match(key, known(asked.names, asked.segment_name(0) == "workflow")),
    };
    if closed {
        let help = near.map(|n| format!("did you mean `{}`?", n.name)).unwrap_or_default();
        let message = format!("neither the context, the input nor a state defines `{key}`");
        return Some(asked.segment_warning("unresolved-name", &message, &help, at, near));
    }
    // The start input may contain it, unless it is certainly a misspelling.
    let near = near.filter(|n| n.sure || abbreviated.is_some())?;
    let help = format!("did you mean `{}`? if the start input has `{key}`, declare it in `input_schema`", near.name);
    let message = format!("nothing in this manifest defines `{key}`");
    Some(asked.segment_warning("unresolved-name", &message, &help, at, Some(NearMatch { sure: false, ..near })))
}

/// The names of which a key can be a misspelling. States and names of the format are not part of the context.
fn known(names: &WorkflowNames, of_context: bool) -> impl Iterator<Item = &str> {
    let own = names.keys.keys().chain(names.input.field_names()).map(|k| &**k);
    let others = names.state_names().chain(RESERVED.iter().copied());
    own.chain(others.filter(move |_| !of_context))
}

/// A helper without an argument.
fn bare_helper(asked: &CheckedReference<'_>, key: &str) -> Option<Diagnostic> {
    if !is_helper(key) || asked.path_length() > 1 {
        return None;
    }
    let message = format!("`{key}` is a helper without an argument, so it is read as the name of a key");
    Some(asked.path_warning("unresolved-name", &message, "write its argument after it"))
}

/// Whether a word is an abbreviated form of a name: `prev_error`, `iteration_nr`.
fn abbreviates(word: &str, name: &str) -> bool {
    let cut = |part: &str, whole: &str| {
        let mut left = whole.chars();
        part.chars().next() == whole.chars().next() && part.chars().all(|c| left.any(|w| w == c))
    };
    let (parts, wholes) = (word.split('_'), name.split('_'));
    parts.clone().count() == wholes.clone().count() && parts.zip(wholes).all(|(p, w)| p.len() > 1 && cut(p, w))
}
