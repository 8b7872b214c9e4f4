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
    let mut advice = prefixed(asked, at).or_else(|| result_of_nothing(asked, at));
    advice = advice.or_else(|| joined(asked, at)).or_else(|| similar(asked, at, closed));
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
    let near = if on_board {
        let keys = suggestions::find_near_match(key, names.keys.keys().map(|key| &**key));
        keys.or(states.map(|near| NearMatch { sure: false, ..near }))
    } else {
        states
    };
    let help = near_help(near);
    Some(asked.segment_warning("unresolved-name", &format!("unknown state `{key}`"), &help, at, near))
}

fn near_help(near: Option<NearMatch<'_>>) -> String {
    match near {
        Some(near) => format!("did you mean `{}`?", near.name),
        None => String::new(),
    }
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
        None => {
            let known = known_names(asked.names, asked.segment_name(0) == "workflow");
            suggestions::find_near_match(key, known)
        }
    };
    if closed {
        let help = near_help(near);
        let message = format!("neither the context, the input nor a state defines `{key}`");
        return Some(asked.segment_warning("unresolved-name", &message, &help, at, near));
    }
    // The start input may contain it, unless it is certainly a misspelling.
    let near = near?;
    if !near.sure && abbreviated.is_none() {
        return None;
    }
    let help = format!("did you mean `{}`? if the start input has `{key}`, declare it in `input_schema`", near.name);
    let message = format!("nothing in this manifest defines `{key}`");
    Some(asked.segment_warning("unresolved-name", &message, &help, at, Some(NearMatch { sure: false, ..near })))
}

/// The names of which a key can be a misspelling. States and names of the format are not part of the context.
fn known_names(names: &WorkflowNames, of_context: bool) -> Vec<&str> {
    let mut known: Vec<&str> = Vec::new();
    known.extend(names.keys.keys().map(|key| &**key));
    known.extend(names.input.field_names().map(|field| &**field));
    if !of_context {
        known.extend(names.state_names());
        known.extend(RESERVED);
    }
    known
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
    let (mut parts, mut wholes) = (word.split('_'), name.split('_'));
    loop {
        match (parts.next(), wholes.next()) {
            (None, None) => return true,
            (Some(part), Some(whole)) if part.len() > 1 && is_cut_from(part, whole) => {}
            _ => return false,
        }
    }
}

/// Whether a part has the first letter of a word, and others of it in their order.
fn is_cut_from(part: &str, whole: &str) -> bool {
    let mut left = whole.chars();
    part.chars().next() == whole.chars().next() && part.chars().all(|letter| left.any(|c| c == letter))
}
