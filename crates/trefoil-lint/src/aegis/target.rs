//! Transitions to states that do not exist.

use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, suggest};

use super::unit::{Found, Workflow};
use trefoil_front::mend::respelt;

/// Targets that do not exist.
pub fn unknown(unit: &Workflow<'_, '_>, found: &mut Found) {
    let targets = unit.workflow.states.iter().flat_map(|s| s.written()).filter_map(|t| t.target.as_ref());
    for text in targets.filter(|text| unit.names.index(&text.value).is_none()) {
        found.push(finding(unit, text));
    }
}

fn finding(unit: &Workflow<'_, '_>, text: &Text) -> Diagnostic {
    let at = unit.file.at(text.span);
    let d = Diagnostic::error("unknown-reference", at, format!("unknown state `{}`", text.value));
    let near = suggest::near(&text.value, unit.names.state_names());
    match near.filter(|near| near.distance == 0 || !means_the_end(&text.value)) {
        None if means_the_end(&text.value) => {
            d.help("there is no built-in end state; point to a state with `transitions: []`")
        }
        Some(near) => respelt(d.help(format!("did you mean `{}`?", near.name)), at, text, near),
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
