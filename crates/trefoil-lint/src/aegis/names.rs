//! Names in the texts of workflows that are never defined, or only in some runs. Blackboard keys are in `key`; the
//! format's own names are here. Members of results that certainly do not exist are reported by the checker.

use trefoil_syntax::Diagnostic;

use super::checked_reference::CheckedReference;
use super::key;
use super::unit::{FindingList, WorkflowUnit};
use trefoil_front::names::{NameKind, PathResolution};

/// Names that do not exist.
pub fn find_unknown_names(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    for (moment, used) in unit.texts.bound_references() {
        judge(&CheckedReference { names: unit.names, moment, used }, found);
    }
}

fn judge(asked: &CheckedReference<'_>, found: &mut FindingList) {
    let sorts = || asked.used.bound.entries.iter().map(|entry| entry.sort).enumerate();
    let of_interest = sorts().find(|(_, sort)| *sort != NameKind::Other);
    match of_interest {
        Some((segment, NameKind::Step(_))) => {
            let before = segment.checked_sub(1).filter(|before| asked.segment_name(*before) == "state");
            found.extend(before.map(|before| asked.redundant_word_warning(before, &[asked.segment_name(segment)])));
        }
        Some((segment, NameKind::Key)) => found.extend(key::check_blackboard_key(asked, segment)),
        // The start input is declared by a schema, which the checker reads.
        Some((_, NameKind::Input)) => {}
        Some((_, NameKind::Other)) | None => found.extend(built_in(asked)),
    }
}

/// Names of the format itself.
fn built_in(asked: &CheckedReference<'_>) -> Option<Diagnostic> {
    let unknown = |message: &str, help: &str| {
        let d = asked.path_warning("unresolved-name", message, help);
        Some(d.of_property())
    };
    let last = asked.used.reference.path.len().checked_sub(1)?;
    let (at, name) = match &asked.used.bound.end {
        PathResolution::Nothing(stop) => (stop.segment, asked.segment_name(stop.segment)),
        _ if matches!(asked.segment_name(last), "human" | "execution") => (last + 1, ""),
        _ => return always_empty(asked),
    };
    match at.checked_sub(1).map(|before| asked.segment_name(before))? {
        "workflow" => {
            let context = format!(
                "write `input.{name}` for a field of the start input, `workflow.context.{name}` for one of the context"
            );
            unknown(&format!("`workflow` has no `{name}`"), &context)
        }
        "state" => unknown(&format!("`state` has no `{name}`"), "write `state.feedback`"),
        "human" => {
            let what = if name.is_empty() { "human".to_owned() } else { format!("human.{name}") };
            unknown(&format!("`{what}` is always empty"), "write `human.feedback`")
        }
        "execution" => unknown("only `execution.id` can be read from `execution`", "write `execution.id`"),
        _ => None,
    }
}

/// Feedback that no transition provides.
fn always_empty(asked: &CheckedReference<'_>) -> Option<Diagnostic> {
    use trefoil_ir::ValuePresence::Never;
    let entries = &asked.used.bound.entries;
    let feedback = (1..entries.len()).find(|i| asked.segment_name(*i) == "feedback")?;
    if entries.get(feedback)?.defined != Never {
        return None;
    }
    match (asked.segment_name(feedback - 1), asked.moment.state_index()) {
        ("human", _) => {
            let message = "`human.feedback` is always empty: no state asks a person";
            Some(asked.path_warning("unresolved-name", message, ""))
        }
        ("state", Some(state)) => {
            let name = asked.names.state_name(state);
            let message = format!("`state.feedback` is always empty: no transition into `{name}` has `feedback`");
            Some(asked.path_warning("unresolved-name", &message, ""))
        }
        _ => None,
    }
}
