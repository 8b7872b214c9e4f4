//! Transitions to states that do not exist.

use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Diagnostic, suggestions};

use super::unit::{FindingList, WorkflowUnit};
use trefoil_front::spelling_fixes::fix_spelling;

/// Targets that do not exist.
pub fn find_unknown_targets(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    for state in &unit.workflow.states {
        for transition in state.written_transitions() {
            if let Some(target) = &transition.target
                && unit.names.state_index(&target.value).is_none()
            {
                found.push(finding(unit, target));
            }
        }
    }
}

fn finding(unit: &WorkflowUnit<'_, '_>, text: &YamlText) -> Diagnostic {
    let at = unit.file.location_of(text.span);
    let d = Diagnostic::new_error("unknown-reference", at, format!("unknown state `{}`", text.value));
    let near = suggestions::find_near_match(&text.value, unit.names.state_names());
    match near {
        _ if means_the_end(&text.value) && !matches!(near, Some(near) if near.distance == 0) => {
            d.with_help("there is no built-in end state; point to a state with `transitions: []`")
        }
        Some(near) => fix_spelling(d.with_help(format!("did you mean `{}`?", near.name)), at, text, near),
        None => d,
    }
}

/// Whether a target is another system's name for the end of a run rather than a misspelt state, however similar it is
/// to one.
fn means_the_end(target: &str) -> bool {
    const WORDS: &[&str] = &[
        "end",
        "stop",
        "done",
        "finish",
        "finished",
        "complete",
        "completed",
        "exit",
        "terminate",
        "terminal",
        "none",
        "null",
    ];
    let word = target.trim().trim_matches(['_', '$', ':']).to_lowercase();
    WORDS.contains(&&*word)
}
