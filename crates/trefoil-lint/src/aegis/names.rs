//! Names in the texts of workflows that are never defined, or only in some runs. One file for each kind of name: states
//! (`result`), Blackboard keys (`key`); the format's own names are here.

use trefoil_syntax::Diagnostic;

use super::asked::Asked;
use super::unit::{Found, Workflow};
use super::{key, result};
use trefoil_front::names::{End, Sort};

/// Names that do not exist.
pub fn unknown(unit: &Workflow<'_, '_>, found: &mut Found) {
    for (moment, used) in unit.texts.uses() {
        judge(&Asked { unit, names: unit.names, moment, used }, found);
    }
}

fn judge(asked: &Asked<'_, '_, '_>, found: &mut Found) {
    let sorts = || asked.used.bound.entries.iter().map(|entry| entry.sort).enumerate();
    let of_interest = sorts().find(|(_, sort)| *sort != Sort::Other);
    match of_interest {
        Some((segment, Sort::Step(state))) => {
            found.extend(result::check(asked, segment, state));
            let before = segment.checked_sub(1).filter(|before| asked.name(*before) == "state");
            found.extend(before.map(|before| asked.without(before, &[asked.name(segment)])));
        }
        Some((segment, Sort::Key)) => found.extend(key::check(asked, segment)),
        // The start input is declared by a schema, which the checker reads.
        Some((_, Sort::Input)) => {}
        Some((_, Sort::Other)) | None => found.extend(built_in(asked)),
    }
}

/// Names of the format itself.
fn built_in(asked: &Asked<'_, '_, '_>) -> Option<Diagnostic> {
    let unknown = |message: &str, help: &str| {
        let d = asked.warning("unresolved-name", message, help);
        Some(d.of_property())
    };
    let last = asked.used.reference.path.len().checked_sub(1)?;
    let (at, name) = match &asked.used.bound.end {
        End::Nothing(stop) => (stop.segment, asked.name(stop.segment)),
        _ if matches!(asked.name(last), "human" | "execution") => (last + 1, ""),
        _ => return always_empty(asked),
    };
    match at.checked_sub(1).map(|before| asked.name(before))? {
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
fn always_empty(asked: &Asked<'_, '_, '_>) -> Option<Diagnostic> {
    use trefoil_ir::Defined::Never;
    let entries = &asked.used.bound.entries;
    let feedback = (1..entries.len()).find(|i| asked.name(*i) == "feedback")?;
    if entries.get(feedback)?.defined != Never {
        return None;
    }
    match (asked.name(feedback - 1), asked.moment.state()) {
        ("human", _) => {
            let message = "`human.feedback` is always empty: no state asks a person";
            Some(asked.warning("unresolved-name", message, ""))
        }
        ("state", Some(state)) => {
            let name = asked.names.name(state);
            let message = format!("`state.feedback` is always empty: no transition into `{name}` has `feedback`");
            Some(asked.warning("unresolved-name", &message, ""))
        }
        _ => None,
    }
}
