//! Conditions that are equivalent to another one, or that read properties that the answer does not declare.

use trefoil_syntax::Diagnostic;

use super::unit::{FindingList, WorkflowUnit};
use trefoil_front::aegis::manifest::state::StateKind;
use trefoil_front::aegis::manifest::transition::{AegisTransition, TransitionCondition};
use trefoil_front::aegis::names::{AegisStateNames, StateResultForm, UnitResult};

/// Each condition, with its state.
fn all<'u>(
    unit: &'u WorkflowUnit<'_, '_>,
) -> impl Iterator<Item = (&'u AegisStateNames, &'u AegisTransition, &'u TransitionCondition)> {
    let states = unit.workflow.states.iter().zip(&unit.names.states);
    let transitions = states.flat_map(|(state, named)| state.written_transitions().iter().map(move |t| (named, t)));
    transitions.filter_map(|(named, t)| Some((named, t, t.condition.as_ref()?)))
}

/// Exit codes of agents.
pub fn same_as_success(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    for (state, transition, condition) in all(unit) {
        if state.outcome == StateResultForm::Agent
            && matches!(condition, TransitionCondition::ExitCodeZero | TransitionCondition::ExitCode(0))
        {
            let message = format!("for an agent, `{}` is the same as `on_success`", condition.display_text());
            let d = Diagnostic::new_warning("redundant", unit.file.location_of(transition.at), message);
            found.push(d.with_help("write `condition: on_success`"));
        }
    }
}

/// Scores of an agent whose range is not 0 to 1.
pub fn check_score_scales(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    for (state, named) in unit.workflow.states.iter().zip(&unit.names.states) {
        if let (Some(StateKind::Agent(_)), Some(first), [answer, ..]) =
            (&state.kind, scored(state.written_transitions()), named.answers.as_slice())
        {
            check_scale(unit, named, first, answer, found);
        }
    }
}

/// Conditions on a number that the schema of the answer does not declare.
pub fn find_undeclared_scores(unit: &WorkflowUnit<'_, '_>, found: &mut FindingList) {
    for (state, named) in unit.workflow.states.iter().zip(&unit.names.states) {
        let (Some(StateKind::Agent(_)), Some(answer)) = (&state.kind, named.answers.first()) else { continue };
        for transition in state.written_transitions() {
            let Some(condition) = &transition.condition else { continue };
            if let Some(what) = undeclared(condition, answer) {
                let word = condition.display_text();
                let message = format!("the agent's answer declares no `{what}`, but `{word}` needs one");
                let d = Diagnostic::new_warning("missing-score", unit.file.location_of(transition.at), message);
                let help = format!("declare a `{what}` from 0 to 1 in the agent's schema, or use a field that exists");
                found.push(d.with_help(help));
            }
        }
    }
}

/// The first condition on a score.
fn scored(transitions: &[AegisTransition]) -> Option<&AegisTransition> {
    use TransitionCondition::{ScoreAbove, ScoreAndConfidenceAbove, ScoreBelow, ScoreBetween};
    transitions.iter().find(|t| {
        matches!(t.condition, Some(ScoreAbove(_) | ScoreBelow(_) | ScoreBetween(..) | ScoreAndConfidenceAbove(..)))
    })
}

/// Scores are from 0 to 1. An agent that declares another range does not match the conditions on its answer.
fn check_scale(
    unit: &WorkflowUnit<'_, '_>,
    state: &AegisStateNames,
    first: &AegisTransition,
    answer: &UnitResult,
    found: &mut FindingList,
) {
    let score = answer.schema.part_type("score");
    let (least, most) = (score.keyword_limit("minimum"), score.keyword_limit("maximum"));
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
    let d = Diagnostic::new_warning("missing-score", unit.file.location_of(first.at), message)
        .with_help("make the agent answer with a score from 0 to 1");
    found.push(match answer.members.declaration_of("score") {
        Some(at) => d.with_label(at, "declared here"),
        None => d,
    });
}

/// The first number that a condition reads and that the schema of an answer does not list, although an answer may have
/// other properties.
fn undeclared(condition: &TransitionCondition, answer: &UnitResult) -> Option<&'static str> {
    use TransitionCondition::{ConfidenceAbove, ScoreAbove, ScoreAndConfidenceAbove, ScoreBelow, ScoreBetween};
    let looked_at: &[&'static str] = match condition {
        ScoreAbove(_) | ScoreBelow(_) | ScoreBetween(..) => &["score"],
        ConfidenceAbove(_) => &["confidence"],
        ScoreAndConfidenceAbove(..) => &["score", "confidence"],
        _ => return None,
    };
    let of = &answer.schema;
    let declares = |what: &str| of.object_members().any(|(name, _)| **name == *what);
    let lists_all = of.only_lists() && of.object_members().next().is_some();
    looked_at.iter().copied().find(|what| lists_all && !declares(what) && !of.never_has(what))
}
