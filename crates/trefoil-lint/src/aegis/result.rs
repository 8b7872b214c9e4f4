//! Members that the result of a state does not have (decisions E6, E7).

use std::sync::Arc;

use trefoil_ir::Defined;
use trefoil_syntax::{Diagnostic, suggest};
use trefoil_template::Value;

use super::asked::{Asked, slip};
use trefoil_front::aegis::names::Outcome;
use trefoil_front::names::{End, Inside};

/// What the result of any state has.
const OPEN: [&str; 6] = ["output", "status", "error", "stdout", "stderr", "exit_code"];

/// What an agent's answer is called elsewhere.
const WHOLE: &[&str] =
    &["text", "stdout", "result", "content", "response", "message", "answer", "reply", "completion", "value"];

/// Looks at what comes after the name of a state.
pub fn check(asked: &Asked<'_, '_, '_>, segment: usize, state: usize) -> Option<Diagnostic> {
    let bound = &asked.used.bound;
    let field = segment + 1;
    let never = |at: usize| bound.entries.get(at).is_some_and(|e| e.defined == Defined::Never);
    match &bound.end {
        End::Nothing(stop) if stop.segment == field => Some(no_field(asked, field, state, &stop.before.names)),
        End::Nothing(stop) => Some(no_member(asked, stop.segment, &stop.before.names)),
        End::Open(at) => unlikely(asked, segment, *at, state),
        End::There if never(field) && !never(segment) => no_figure(asked, field, state),
        End::There => None,
    }
}

/// A field of a result that certainly is not there.
fn no_field(asked: &Asked<'_, '_, '_>, at: usize, state: usize, fields: &[Arc<str>]) -> Diagnostic {
    let (name, field) = (asked.names.name(state), asked.name(at));
    let fields: Vec<&str> = fields.iter().map(|f| &**f).filter(|f| *f != "execution_id").collect();
    let near = suggest::near(field, fields.iter().copied());
    let help = match near {
        Some(near) => format!("did you mean `{name}.{}`?", near.name),
        None if *asked.names.outcome(state) == Outcome::Agent => match answers_with(asked, state, field) {
            true => format!("write `{name}.output.{field}` for a field of the answer"),
            false => format!("write `{name}.output` for the answer"),
        },
        None => format!("available: {}", listed(&fields)),
    };
    let message = format!("the result of `{name}` has no `{field}`, so it is always empty");
    asked.near("unknown-property", &message, &help, at, near)
}

/// A member of something in a result that certainly is not there.
fn no_member(asked: &Asked<'_, '_, '_>, at: usize, fields: &[Arc<str>]) -> Diagnostic {
    let field = asked.name(at);
    let fields: Vec<&str> = fields.iter().map(|f| &**f).collect();
    let near = suggest::near(field, fields.iter().copied());
    let help = match near {
        Some(near) => format!("did you mean `{}`?", near.name),
        None => format!("available: {}", listed(&fields)),
    };
    let before: Vec<&str> = (0..at).map(|i| asked.name(i)).collect();
    let message = format!("`{}` has no `{field}`, so it is always empty", before.join("."));
    asked.near("unknown-property", &message, &help, at, near)
}

fn listed(fields: &[&str]) -> String {
    fields.iter().map(|f| format!("`{f}`")).collect::<Vec<_>>().join(", ")
}

/// Whether an agent's answer may have a field: it declares it, or it is an open object.
fn answers_with(asked: &Asked<'_, '_, '_>, state: usize, field: &str) -> bool {
    let answer = asked.names.states.get(state).and_then(|s| s.answers.first());
    match answer.and_then(|answer| answer.schema.get("properties")) {
        Some(declared) => declared.get(field).is_some(),
        None => !WHOLE.contains(&field),
    }
}

/// A name that may exist but is surely a misspelling of one that does.
fn unlikely(asked: &Asked<'_, '_, '_>, segment: usize, at: usize, state: usize) -> Option<Diagnostic> {
    let (names, field) = (asked.names, asked.name(at));
    let name = names.name(state);
    let Inside::Names(inside) = &asked.used.bound.entries.get(at.checked_sub(1)?)?.inside else { return None };
    match (names.outcome(state), at - segment) {
        (Outcome::Open, 1) => {
            let near = slip(field, OPEN.into_iter())?;
            let message = format!("the result of `{name}` has no `{field}`");
            let help = format!("did you mean `{name}.{}`?", near.name);
            Some(asked.near("unknown-property", &message, &help, at, Some(near)))
        }
        (outcome, 2) if outcome.is_command() && asked.name(segment + 1) == "output" => {
            // JSON that a command printed may have any field, except a near miss of what every command has.
            let all = inside.all();
            let near = suggest::near(field, all.iter().map(|(n, _)| &**n)).filter(|near| near.sure)?;
            let message =
                format!("the result of `{name}` has no `{field}`, unless the command prints JSON with this field");
            let help = format!("did you mean `{name}.output.{}`?", near.name);
            let near = suggest::Near { sure: false, ..near };
            Some(asked.near("unknown-property", &message, &help, at, Some(near)))
        }
        (Outcome::Parallel { .. }, 3) if asked.name(segment + 1) == "consensus" => {
            let all = inside.all();
            let near = slip(field, all.iter().map(|(n, _)| &**n))?;
            let message = format!("a consensus has no `metadata.{field}`");
            let help = format!("did you mean `{}`?", near.name);
            Some(asked.near("unknown-property", &message, &help, at, Some(near)))
        }
        _ => None,
    }
}

/// A score that the agent's answer, by its schema, cannot have.
fn no_figure(asked: &Asked<'_, '_, '_>, at: usize, state: usize) -> Option<Diagnostic> {
    let (name, what) = (asked.names.name(state), asked.name(at));
    let answer = &asked.names.states.get(state)?.answers.first()?.schema;
    let path = asked.used.reference.dotted();
    let message = format!("`{path}` is always empty: the agent's answer has no `{what}`");
    let declared = answer.get("properties").and_then(Value::as_object).into_iter().flatten();
    let all: Vec<_> = declared.map(|(p, _)| format!("`{name}.output.{p}`")).take(8).collect();
    Some(asked.warning("unknown-property", &message, &format!("available: {}", all.join(", "))))
}
