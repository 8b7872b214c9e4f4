//! Conditions that can never hold, or that look at what the answer does not have.

use trefoil_syntax::Diagnostic;
use trefoil_template::Value;

use super::judge::lists_all;
use super::unit::{Found, Workflow};
use trefoil_front::aegis::manifest::state::StateKind;
use trefoil_front::aegis::manifest::transition::{Condition, Transition};
use trefoil_front::aegis::names::{Answer, Outcome, StateNames};
use trefoil_front::types::{is_closed, member_type};

/// Each condition, with its state.
fn all<'u>(unit: &'u Workflow<'_, '_>) -> impl Iterator<Item = (&'u StateNames, &'u Transition, &'u Condition)> {
    let states = unit.workflow.states.iter().zip(&unit.names.states);
    let transitions = states.flat_map(|(state, named)| state.written().iter().map(move |t| (named, t)));
    transitions.filter_map(|(named, t)| Some((named, t, t.condition.as_ref()?)))
}

/// Conditions that cannot hold for what this kind of state leaves.
pub fn impossible(unit: &Workflow<'_, '_>, found: &mut Found) {
    for (state, transition, condition) in all(unit) {
        if let Some(why) = state.never_holds(condition) {
            let word = condition.describe();
            let word = word.split(' ').next().unwrap_or_default();
            let at = unit.file.at(transition.at);
            let d = Diagnostic::warning("impossible-transition", at, format!("`{word}` is never true here"));
            found.push(d.help(why));
        }
    }
}

/// Exit codes of agents.
pub fn same_as_success(unit: &Workflow<'_, '_>, found: &mut Found) {
    for (state, transition, condition) in all(unit) {
        if state.outcome == Outcome::Agent && matches!(condition, Condition::ExitCodeZero | Condition::ExitCode(0)) {
            let message = format!("for an agent, `{}` is the same as `on_success`", condition.describe());
            let d = Diagnostic::warning("no-effect", unit.file.at(transition.at), message);
            found.push(d.help("write `condition: on_success`"));
        }
    }
}

/// Scores of an agent that go elsewhere than from 0 to 1.
pub fn scale(unit: &Workflow<'_, '_>, found: &mut Found) {
    for (state, named) in unit.workflow.states.iter().zip(&unit.names.states) {
        if let (Some(StateKind::Agent(_)), Some(first), [answer, ..]) =
            (&state.kind, scored(state.written()), named.answers.as_slice())
        {
            check_scale(unit, named, first, answer, found);
        }
    }
}

/// Thresholds that let nothing pass, or everything.
pub fn thresholds(unit: &Workflow<'_, '_>, found: &mut Found) {
    for (state, named) in unit.workflow.states.iter().zip(&unit.names.states) {
        match &state.kind {
            Some(StateKind::Agent(_)) => {
                let answer = named.answers.first().cloned().unwrap_or_default();
                check_thresholds(unit, state.written(), &answer, found);
            }
            // Several answers come to a verdict of their own.
            Some(StateKind::Parallel(_)) => check_thresholds(unit, state.written(), &Answer::default(), found),
            _ => {}
        }
    }
}

/// The first condition on a score.
fn scored(transitions: &[Transition]) -> Option<&Transition> {
    use Condition::{ScoreAbove, ScoreAndConfidenceAbove, ScoreBelow, ScoreBetween};
    transitions.iter().find(|t| {
        matches!(t.condition, Some(ScoreAbove(_) | ScoreBelow(_) | ScoreBetween(..) | ScoreAndConfidenceAbove(..)))
    })
}

/// Scores go from 0 to 1; an agent that declares others does not answer what its conditions ask for.
fn check_scale(unit: &Workflow<'_, '_>, state: &StateNames, first: &Transition, answer: &Answer, found: &mut Found) {
    let score = member_type(&answer.schema, "score");
    let bound = |key: &str| score.get(key).and_then(Value::as_f64);
    let (least, most) = (bound("minimum"), bound("maximum"));
    if least.is_none_or(|n| n >= 0.0) && most.is_none_or(|n| n <= 1.0) {
        return;
    }
    let range = match (least, most) {
        (Some(least), Some(most)) => format!("from {least} to {most}"),
        (Some(least), None) => format!("at least {least}"),
        (None, most) => format!("at most {}", most.unwrap_or_default()),
    };
    let name = &state.name;
    let message = format!("the score of `{name}` is {range}, but this compares with 0 to 1");
    let d = Diagnostic::warning("out-of-range", unit.file.at(first.at), message)
        .help("make the agent answer with a score from 0 to 1");
    found.push(match answer.members.place("score") {
        Some(at) => d.label(at, "declared here"),
        None => d,
    });
}

/// Scores and confidences go from 0 to 1, or as far as the agent declares: a threshold at an end of that lets nothing pass.
fn check_thresholds(unit: &Workflow<'_, '_>, all: &[Transition], answer: &Answer, found: &mut Found) {
    let most = |what: &str| {
        let of = member_type(&answer.schema, what);
        of.get("maximum").and_then(Value::as_f64).unwrap_or(1.0)
    };
    let least = member_type(&answer.schema, "score").get("minimum").and_then(Value::as_f64).unwrap_or(0.0);
    for transition in all {
        let Some(condition) = &transition.condition else { continue };
        if let Some((what, lack)) = lacks(condition, answer) {
            found.push(lacking(unit, transition, answer, what, lack));
            continue;
        }
        let (score, confidence) = (most("score"), most("confidence"));
        let why = match condition {
            Condition::ScoreAbove(t) if *t >= score => format!("no score is above {t}: the highest is {score}"),
            Condition::ScoreBelow(t) if *t <= least => format!("no score is below {t}: the lowest is {least}"),
            Condition::ScoreBetween(min, _) if *min > score => format!("{score} is the highest score"),
            Condition::ScoreBetween(_, max) if *max < least => format!("{least} is the lowest score"),
            Condition::ConfidenceAbove(t) if *t >= confidence => {
                format!("no confidence is above {t}: the highest is {confidence}")
            }
            Condition::ScoreAndConfidenceAbove(t, _) if *t >= score => {
                format!("no score is above {t}: the highest is {score}")
            }
            Condition::ScoreAndConfidenceAbove(_, t) if *t >= confidence => {
                format!("no confidence is above {t}: the highest is {confidence}")
            }
            _ => continue,
        };
        let word = condition.describe();
        let message = format!("`{word}` is never true here");
        let d = Diagnostic::warning("impossible-transition", unit.file.at(transition.at), message).help(why);
        found.push(match answer.members.place("score") {
            Some(at) => d.label(at, "the score is declared here"),
            None => d,
        });
    }
}

/// What keeps an answer from having a figure that a condition looks at.
enum Lack {
    /// Its schema is closed, and has none.
    Closed,
    /// It is declared as something that is no number.
    Kind,
    /// Its schema lists what it has, and this is not among it, though an answer may have more.
    Undeclared,
}

/// The first figure that a condition looks at, and that the answer does not have, or does not declare.
fn lacks(condition: &Condition, answer: &Answer) -> Option<(&'static str, Lack)> {
    use Condition::{ConfidenceAbove, ScoreAbove, ScoreAndConfidenceAbove, ScoreBelow, ScoreBetween};
    let looked_at: &[&'static str] = match condition {
        ScoreAbove(_) | ScoreBelow(_) | ScoreBetween(..) => &["score"],
        ConfidenceAbove(_) => &["confidence"],
        ScoreAndConfidenceAbove(..) => &["score", "confidence"],
        _ => return None,
    };
    let properties = answer.schema.get("properties").and_then(Value::as_object)?;
    let lack = |what: &str| match properties.get(what) {
        Some(declared) => {
            // A text may read as a number, unless it is one of some words.
            let number =
                |v: &Value| v.as_f64().is_some() || v.as_str().is_some_and(|t| t.trim().parse::<f64>().is_ok());
            let words = declared.get("enum").and_then(Value::as_list).is_some_and(|all| !all.iter().any(number));
            let kind = declared.get("type").and_then(Value::as_str);
            (words || matches!(kind, Some("boolean" | "object" | "array" | "null"))).then_some(Lack::Kind)
        }
        None if is_closed(&answer.schema, what) => Some(Lack::Closed),
        None => lists_all(&answer.schema).then_some(Lack::Undeclared),
    };
    looked_at.iter().find_map(|what| Some((*what, lack(what)?)))
}

fn lacking(unit: &Workflow<'_, '_>, transition: &Transition, answer: &Answer, what: &str, lack: Lack) -> Diagnostic {
    let at = unit.file.at(transition.at);
    let word = transition.condition.as_ref().map(Condition::describe).unwrap_or_default();
    let never = || Diagnostic::warning("impossible-transition", at, format!("`{word}` is never true here"));
    let d = match lack {
        Lack::Closed => never().help(format!("the agent's answer has no `{what}`: its schema does not allow one")),
        Lack::Kind => never().help(format!("the `{what}` of the agent's answer is not a number")),
        Lack::Undeclared => {
            let message = format!("the agent's answer declares no `{what}`, but `{word}` needs one");
            let help = format!("declare a `{what}` from 0 to 1 in the agent's schema, or use a field that exists");
            Diagnostic::warning("missing-score", at, message).help(help)
        }
    };
    match answer.members.place(what) {
        Some(at) => d.label(at, "declared here"),
        None => d,
    }
}
