//! Transitions: conditions by kind of state (decisions E8, E9), feedback, targets.

use std::sync::Arc;

use trefoil_ir::{Cond, Position, Source, StateId, Takes, Transition};
use trefoil_syntax::{Diagnostic, suggest};
use trefoil_template::{Comparison, Expression, Policy, Value};

use super::condition::{Test, between, compare, never, one_of};
use super::names::{Answer, Place, Scene, Shape};
use crate::aegis::manifest::transition::{self as written, Condition};
use crate::build;
use crate::learn::{self, member_type};
use crate::read::respelt;

const YES: &[&str] = &["yes", "y", "1", "approve", "approved", "true"];
const NO: &[&str] = &["no", "n", "0", "reject", "rejected", "false"];

/// Whether a condition can hold for what a person answered.
pub(super) fn answers(condition: &Condition, answer: &str) -> bool {
    let word = answer.trim().to_lowercase();
    match condition {
        Condition::InputEquals(text) => *text.value == *answer,
        Condition::InputEqualsYes => YES.contains(&&*word),
        Condition::InputEqualsNo => NO.contains(&&*word),
        Condition::Always | Condition::OnSuccess | Condition::Custom(_) => true,
        _ => false,
    }
}

/// Whether none of a state's transitions can match its success (decision E8). A condition that cannot hold for this kind
/// of state counts by what it is meant for.
pub(super) fn leave_success_open(transitions: &[written::Transition]) -> bool {
    let for_failure = |t: &written::Transition| match &t.condition {
        Some(Condition::OnFailure | Condition::ExitCodeNonZero) => true,
        Some(Condition::ExitCode(code)) => *code != 0,
        _ => false,
    };
    !transitions.is_empty() && transitions.iter().all(for_failure)
}

/// The transitions of a state.
pub(super) fn lower(scene: &Scene<'_, '_>, state: usize, transitions: &[written::Transition]) -> Vec<Transition> {
    transitions.iter().filter_map(|t| one(scene, state, t)).collect()
}

/// The first condition on a score.
pub(super) fn scored(transitions: &[written::Transition]) -> Option<&written::Transition> {
    use Condition::{ScoreAbove, ScoreAndConfidenceAbove, ScoreBelow, ScoreBetween};
    transitions.iter().find(|t| {
        matches!(t.condition, Some(ScoreAbove(_) | ScoreBelow(_) | ScoreBetween(..) | ScoreAndConfidenceAbove(..)))
    })
}

/// Scores go from 0 to 1; an agent that declares others does not answer what its conditions ask for.
pub(super) fn check_scale(scene: &Scene<'_, '_>, state: usize, first: &written::Transition, answer: &Answer) {
    let score = member_type(&answer.schema, "score");
    let bound = |key: &str| score.get(key).and_then(Value::as_f64);
    let (least, most) = (bound("minimum"), bound("maximum"));
    if least.is_none_or(|n| n >= 0.0) && most.is_none_or(|n| n <= 1.0) {
        return;
    }
    let range = match (least, most) {
        (Some(least), Some(most)) => format!("from {least} to {most}"),
        (Some(least), None) => format!("from {least} on"),
        (None, most) => format!("up to {}", most.unwrap_or_default()),
    };
    let name = scene.names.name(state);
    let message = format!("`{name}` answers with a score {range}, and this compares with 0 to 1");
    let d = Diagnostic::warning("out-of-range", scene.reader.at(first.at), message)
        .help("have the agent answer with a score from 0 to 1");
    scene.reader.report(match answer.members.place("score") {
        Some(at) => d.label(at, "declared here"),
        None => d,
    });
}

/// Scores and confidences go from 0 to 1, or as far as the agent declares: a threshold at an end of that lets nothing pass.
pub(super) fn check_thresholds(scene: &Scene<'_, '_>, all: &[written::Transition], answer: &Answer) {
    let most = |what: &str| {
        let of = member_type(&answer.schema, what);
        of.get("maximum").and_then(Value::as_f64).unwrap_or(1.0)
    };
    let least = member_type(&answer.schema, "score").get("minimum").and_then(Value::as_f64).unwrap_or(0.0);
    for transition in all {
        let Some(condition) = &transition.condition else { continue };
        if let Some((what, lack)) = lacks(condition, answer) {
            report_lack(scene, transition, answer, what, lack);
            continue;
        }
        let (score, confidence) = (most("score"), most("confidence"));
        let why = match condition {
            Condition::ScoreAbove(t) if *t >= score => format!("no score is above {t}: {score} is the highest"),
            Condition::ScoreBelow(t) if *t <= least => format!("no score is below {t}: {least} is the lowest"),
            Condition::ScoreBetween(min, _) if *min > score => format!("{score} is the highest score"),
            Condition::ScoreBetween(_, max) if *max < least => format!("{least} is the lowest score"),
            Condition::ConfidenceAbove(t) if *t >= confidence => {
                format!("no confidence is above {t}: {confidence} is the highest")
            }
            Condition::ScoreAndConfidenceAbove(t, _) if *t >= score => {
                format!("no score is above {t}: {score} is the highest")
            }
            Condition::ScoreAndConfidenceAbove(_, t) if *t >= confidence => {
                format!("no confidence is above {t}: {confidence} is the highest")
            }
            _ => continue,
        };
        let word = describe(condition);
        let message = format!("`{word}` can never hold here");
        let d = Diagnostic::warning("impossible-transition", scene.reader.at(transition.at), message).help(why);
        scene.reader.report(match answer.members.place("score") {
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
        None if learn::is_closed(&answer.schema, what) => Some(Lack::Closed),
        None => lists_all(&answer.schema).then_some(Lack::Undeclared),
    };
    looked_at.iter().find_map(|what| Some((*what, lack(what)?)))
}

/// Whether a schema of objects says with its `properties` alone what there is.
fn lists_all(schema: &Value) -> bool {
    let known = ["type", "properties", "required", "title", "description", "$schema", "$id"];
    schema.as_object().is_some_and(|all| all.keys().all(|key| known.contains(&&**key)))
        && schema.get("properties").and_then(Value::as_object).is_some_and(|p| !p.is_empty())
}

fn report_lack(scene: &Scene<'_, '_>, transition: &written::Transition, answer: &Answer, what: &str, lack: Lack) {
    let at = scene.reader.at(transition.at);
    let word = transition.condition.as_ref().map(describe).unwrap_or_default();
    let never = || Diagnostic::warning("impossible-transition", at, format!("`{word}` can never hold here"));
    let d = match lack {
        Lack::Closed => never().help(format!("the agent's answer has no `{what}`: its schema allows none")),
        Lack::Kind => never().help(format!("the `{what}` of the agent's answer is declared, and is no number")),
        Lack::Undeclared => {
            let message = format!("the agent's answer declares no `{what}`, and `{word}` looks at it");
            let help =
                format!("declare a `{what}` from 0 to 1 in the agent's schema, or ask for a field that is there");
            Diagnostic::warning("unknown-property", at, message).help(help)
        }
    };
    scene.reader.report(match answer.members.place(what) {
        Some(at) => d.label(at, "declared here"),
        None => d,
    });
}

/// The transition of a straight pipeline: on success, and there is no other.
pub(super) fn next(scene: &Scene<'_, '_>, state: usize, target: usize) -> Transition {
    let origin = scene.state_at(state);
    let (takes, test) = on_success(scene, state);
    let when = test.map(|(test, e)| test.finish(e, origin, "on_success".into()));
    Transition { takes, when, target: StateId(target as u32), feedback: None, origin, text: "on_success".into() }
}

fn one(scene: &Scene<'_, '_>, state: usize, transition: &written::Transition) -> Option<Transition> {
    let reader = scene.reader;
    let target = find_target(scene, transition);
    let place = Place::Leaving(state);
    let feedback = transition.feedback.as_ref().and_then(|text| {
        let resolve = &mut scene.here(place, Position::Data);
        crate::lookalike::whole(reader, text, resolve);
        build::text(reader, text, &Policy::AEGIS, resolve)
    });
    let condition = transition.condition.as_ref();
    let (takes, when) = condition.map(|c| lower_condition(scene, state, transition, c))?;
    let text = condition.map(describe).unwrap_or_default();
    Some(Transition {
        takes,
        when,
        target: StateId(target? as u32),
        feedback,
        origin: reader.at(transition.span),
        text: text.into(),
    })
}

fn find_target(scene: &Scene<'_, '_>, transition: &written::Transition) -> Option<usize> {
    let text = transition.target.as_ref()?;
    let found = scene.names.index(&text.value);
    learn::names(scene.reader, text, found.and_then(|at| scene.known.states.get(at)).map(|s| s.at));
    if found.is_none() {
        let at = scene.reader.at(text.span);
        let d = Diagnostic::error("unknown-reference", at, format!("no state is called `{}`", text.value));
        let near = suggest::near(&text.value, scene.names.state_names());
        scene.reader.report(match near.filter(|near| near.distance == 0 || !means_the_end(&text.value)) {
            None if means_the_end(&text.value) => {
                d.help("there is no built-in end state; point to a state with `transitions: []`")
            }
            Some(near) => respelt(d.help(format!("did you mean `{}`?", near.name)), at, text, near),
            None => d,
        });
    }
    found
}

/// Whether a target is what other systems call the end of a run: no slip of a state's name, however near it comes to one.
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

/// The condition as a person reads it.
fn describe(condition: &Condition) -> String {
    match condition {
        Condition::Always => "always".into(),
        Condition::OnSuccess => "on_success".into(),
        Condition::OnFailure => "on_failure".into(),
        Condition::ExitCodeZero => "exit_code_zero".into(),
        Condition::ExitCodeNonZero => "exit_code_non_zero".into(),
        Condition::ExitCode(code) => format!("exit_code {code}"),
        Condition::ScoreAbove(t) => format!("score_above {t}"),
        Condition::ScoreBelow(t) => format!("score_below {t}"),
        Condition::ScoreBetween(min, max) => format!("score_between {min} {max}"),
        Condition::ConfidenceAbove(t) => format!("confidence_above {t}"),
        Condition::ScoreAndConfidenceAbove(s, c) => format!("score_and_confidence_above {s} {c}"),
        Condition::Consensus { .. } => "consensus".into(),
        Condition::AllApproved(t) => format!("all_approved {t}"),
        Condition::AnyRejected(t) => format!("any_rejected {t}"),
        Condition::InputEquals(text) => format!("input_equals {}", text.value),
        Condition::InputEqualsYes => "input_equals_yes".into(),
        Condition::InputEqualsNo => "input_equals_no".into(),
        Condition::Custom(text) => text.value.trim().to_owned(),
    }
}

type Made = (Takes, Option<(Test, Expression)>);

fn lower_condition(
    scene: &Scene<'_, '_>,
    state: usize,
    transition: &written::Transition,
    condition: &Condition,
) -> (Takes, Option<Cond>) {
    let origin = scene.reader.at(transition.at);
    if matches!(scene.names.shape(state), Shape::Agent)
        && matches!(condition, Condition::ExitCodeZero | Condition::ExitCode(0))
    {
        let word = describe(condition);
        let message = format!("for an agent, `{word}` is the same as `on_success`");
        scene.reader.report(Diagnostic::warning("no-effect", origin, message).help("write `condition: on_success`"));
    }
    if let Condition::Custom(text) = condition {
        let place = Place::Deciding(state);
        let resolve = &mut scene.here(place, Position::Condition);
        return (Takes::Both, build::condition(scene.reader, text, &Policy::AEGIS, resolve));
    }
    let (takes, made) = made(scene, state, condition).unwrap_or_else(|why| {
        let word = describe(condition);
        let word = word.split(' ').next().unwrap_or_default().to_owned();
        let d = Diagnostic::warning("impossible-transition", origin, format!("`{word}` can never hold here"));
        scene.reader.report(d.help(why));
        (Takes::Success, Some((Test::default(), never())))
    });
    (takes, made.map(|(test, expression)| test.finish(expression, origin, describe(condition).into())))
}

fn made(scene: &Scene<'_, '_>, state: usize, condition: &Condition) -> Result<Made, &'static str> {
    let name = scene.names.name(state).clone();
    let shape = scene.names.shape(state);
    let mut test = Test::default();
    let score = |test: &mut Test| measure(scene, state, test, &name, "score");
    let confidence = |test: &mut Test| measure(scene, state, test, &name, "confidence");
    let when = |test: Test, e: Expression| Ok((Takes::Success, Some((test, e))));
    match condition {
        // Decision E9: what failed matches nothing but `on_failure` and `custom`; a command that could not be run to its
        // end still has a result, that of having failed; a container too.
        Condition::Always => {
            let ends = shape.is_command() || matches!(shape, Shape::Container | Shape::Containers(_));
            Ok((if ends { Takes::Both } else { Takes::Success }, None))
        }
        Condition::OnSuccess => Ok(on_success(scene, state)),
        Condition::OnFailure => match shape {
            Shape::Command => {
                let code = exit_code(scene, state, &mut test, &name);
                Ok((Takes::Both, Some((test, compare(code, Comparison::NotEqual, 0i64)))))
            }
            Shape::Human if scene.names.states.get(state).is_some_and(|s| s.answers) => {
                Err("a person who does not answer in time gives the `default_response`")
            }
            Shape::Update => Err("an update of the Blackboard does not fail"),
            _ => Ok((Takes::Failure, None)),
        },
        Condition::ExitCodeZero => match shape {
            Shape::Agent => Ok((Takes::Success, None)),
            _ => {
                let code = require_code(scene, state, &mut test, &name)?;
                when(test, compare(code, Comparison::Equal, 0i64))
            }
        },
        Condition::ExitCodeNonZero => {
            if matches!(shape, Shape::Agent) {
                return Err("the exit code of an agent that answered is 0; write `on_failure` for one that did not");
            }
            let code = require_code(scene, state, &mut test, &name)?;
            let number = Expression::Or(vec![
                compare(code.clone(), Comparison::Less, 0i64),
                compare(code, Comparison::Greater, 0i64),
            ]);
            when(test, number)
        }
        Condition::ExitCode(expected) => match shape {
            Shape::Agent if *expected == 0 => Ok((Takes::Success, None)),
            Shape::Agent => Err("the exit code of an agent that answered is 0"),
            _ => {
                let code = require_code(scene, state, &mut test, &name)?;
                when(test, compare(code, Comparison::Equal, *expected))
            }
        },
        Condition::ScoreAbove(t) => {
            let score = score(&mut test)?;
            when(test, compare(score, Comparison::Greater, *t))
        }
        Condition::ScoreBelow(t) => {
            let score = score(&mut test)?;
            when(test, compare(score, Comparison::Less, *t))
        }
        Condition::ScoreBetween(min, max) => {
            let score = score(&mut test)?;
            when(test, between(*min, score, *max))
        }
        Condition::ConfidenceAbove(t) => {
            let confidence = confidence(&mut test)?;
            when(test, compare(confidence, Comparison::Greater, *t))
        }
        Condition::ScoreAndConfidenceAbove(s, c) => {
            let (score, confidence) = (score(&mut test)?, confidence(&mut test)?);
            let both = vec![compare(score, Comparison::Greater, *s), compare(confidence, Comparison::Greater, *c)];
            when(test, Expression::And(both))
        }
        Condition::Consensus { threshold, agreement } => {
            let (declared_threshold, declared_agreement) = scene.names.consensus(state);
            let threshold = threshold.or(declared_threshold).unwrap_or(0.7);
            let agreement = agreement.or(declared_agreement).unwrap_or(0.0);
            let (score, confidence) = (score(&mut test)?, confidence(&mut test)?);
            let both = vec![
                compare(score, Comparison::GreaterEqual, threshold),
                compare(confidence, Comparison::GreaterEqual, agreement),
            ];
            when(test, Expression::And(both))
        }
        Condition::AllApproved(t) => {
            let scores = each_score(scene, state, &mut test, &name)?;
            let all = scores.into_iter().map(|s| compare(s, Comparison::GreaterEqual, *t)).collect();
            when(test, Expression::And(all))
        }
        Condition::AnyRejected(t) => {
            let scores = each_score(scene, state, &mut test, &name)?;
            let any = scores.into_iter().map(|s| compare(s, Comparison::Less, *t)).collect();
            when(test, Expression::Or(any))
        }
        Condition::InputEquals(text) => {
            let response = response(scene, state, &mut test, &name)?;
            when(test, compare(response, Comparison::Equal, &*text.value))
        }
        Condition::InputEqualsYes => {
            let response = response(scene, state, &mut test, &name)?;
            when(test, one_of(response, YES))
        }
        Condition::InputEqualsNo => {
            let response = response(scene, state, &mut test, &name)?;
            when(test, one_of(response, NO))
        }
        Condition::Custom(_) => Ok((Takes::Both, None)),
    }
}

fn on_success(scene: &Scene<'_, '_>, state: usize) -> Made {
    match scene.names.shape(state) {
        Shape::Command => {
            let mut test = Test::default();
            let code = exit_code(scene, state, &mut test, scene.names.name(state));
            (Takes::Success, Some((test, compare(code, Comparison::Equal, 0i64))))
        }
        _ => (Takes::Success, None),
    }
}

fn member(scene: &Scene<'_, '_>, state: usize, path: &[&str]) -> Source {
    Source::Member(scene.names.slot(state), path.iter().map(|p| Arc::from(*p)).collect())
}

fn exit_code(scene: &Scene<'_, '_>, state: usize, test: &mut Test, name: &str) -> Expression {
    test.value(&[name, "exit_code"], member(scene, state, &["exit_code"]))
}

fn require_code(scene: &Scene<'_, '_>, state: usize, test: &mut Test, name: &str) -> Result<Expression, &'static str> {
    match scene.names.shape(state) {
        Shape::Human | Shape::Parallel { .. } => Err("only System states have an exit code"),
        Shape::Containers(_) => {
            Err("several containers have no exit code in common; write `on_success` or `on_failure`")
        }
        _ => Ok(exit_code(scene, state, test, name)),
    }
}

/// The score, or the confidence, of what the state answered.
fn measure(
    scene: &Scene<'_, '_>,
    state: usize,
    test: &mut Test,
    name: &str,
    what: &str,
) -> Result<Expression, &'static str> {
    let path: &[&str] = match scene.names.shape(state) {
        Shape::Agent => &["output", what],
        Shape::Parallel { .. } => &["consensus", what],
        Shape::Open => &[what],
        Shape::Command | Shape::Echo | Shape::Update | Shape::Human | Shape::Container | Shape::Containers(_) => {
            return Err("only agents that answer with a verdict have a score");
        }
    };
    Ok(test.value(&[name, what], member(scene, state, path)))
}

fn each_score(
    scene: &Scene<'_, '_>,
    state: usize,
    test: &mut Test,
    name: &str,
) -> Result<Vec<Expression>, &'static str> {
    let Shape::Parallel { agents } = scene.names.shape(state) else {
        return Err("only a ParallelAgents state has several scores");
    };
    Ok((0..*agents)
        .map(|i| {
            let i = i.to_string();
            test.value(&[name, "agents", &i, "score"], member(scene, state, &["agents", &i, "score"]))
        })
        .collect())
}

fn response(scene: &Scene<'_, '_>, state: usize, test: &mut Test, name: &str) -> Result<Expression, &'static str> {
    match scene.names.shape(state) {
        Shape::Human | Shape::Open => Ok(test.value(&[name, "response"], scene.names.response(state))),
        _ => Err("only a Human state has a response"),
    }
}
