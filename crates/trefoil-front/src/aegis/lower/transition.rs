//! Transitions: conditions by kind of state, feedback, targets.

use trefoil_ir::{Cond, Source, StateId, Takes, Transition};
use trefoil_syntax::Location;
use trefoil_template::{Broken, Comparison, Expression, Policy};

use super::condition::{Test, between, compare, never, one_of, share};
use super::scene::Scene;
use crate::aegis::manifest::transition::{self as written, Condition, NO, YES};
use crate::aegis::names::{Moment, Outcome, path};
use crate::bound::BoundText;

/// The transitions of a state.
pub fn lower(scene: &Scene<'_>, state: usize, transitions: &[written::Transition]) -> Vec<Transition> {
    transitions.iter().filter_map(|t| one(scene, state, t)).collect()
}

/// The only transition of a state in a pipeline: to the next state on success.
pub fn next(scene: &Scene<'_>, state: usize, target: usize) -> Transition {
    let origin = scene.state_at(state);
    let (takes, test) = Of::new(scene, state).on_success();
    let when = test.map(|(test, e)| test.finish(e, origin, "on_success".into()));
    let target_at = scene.state_at(target);
    Transition {
        takes,
        when,
        target: StateId(target as u32),
        target_at,
        feedback: None,
        origin,
        text: "on_success".into(),
    }
}

fn one(scene: &Scene<'_>, state: usize, transition: &written::Transition) -> Option<Transition> {
    let written = transition.target.as_ref()?;
    let target = scene.names.index(&written.value)?;
    let feedback = transition.feedback.as_ref().and_then(|text| scene.texts.text(Moment::Leaving(state), text));
    let (takes, when) = match &transition.condition {
        Some(condition) => lower_condition(scene, state, transition, condition),
        None => (Takes::Both, Some(unknown(scene.at(transition.at)))),
    };
    Some(Transition {
        takes,
        when,
        target: StateId(target as u32),
        target_at: scene.at(written.span),
        feedback,
        origin: scene.at(transition.span),
        text: transition.condition.as_ref().map(Condition::describe).unwrap_or_default().into(),
    })
}

/// A condition that is invalid (reported), so it is unknown when it holds.
fn unknown(origin: Location) -> Cond {
    let nothing = Broken { errors: Vec::new(), references: Vec::new() };
    let condition = trefoil_template::Condition::unknown(&nothing, &Policy::AEGIS);
    let sources = vec![Source::missing(0)];
    Cond { condition, sources, origin, text: Default::default(), spans: vec![origin.span], written: Vec::new() }
}

fn lower_condition(
    scene: &Scene<'_>,
    state: usize,
    transition: &written::Transition,
    condition: &Condition,
) -> (Takes, Option<Cond>) {
    if let Condition::Custom(text) = condition {
        return (Takes::Both, scene.texts.get(Moment::Deciding(state), text).and_then(BoundText::cond));
    }
    let impossible = scene.names.states.get(state).is_some_and(|s| s.never_holds(condition).is_some());
    let (takes, made) = match impossible {
        true => (Takes::Success, Some((Test::default(), never()))),
        false => Of::new(scene, state).condition(condition),
    };
    let finish = |(test, expression): (Test, Expression)| {
        test.finish(expression, scene.at(transition.at), condition.describe().into())
    };
    (takes, made.map(finish))
}

type MadeCondition = (Takes, Option<(Test, Expression)>);

/// A condition on the result of a state, under construction.
struct Of<'s, 'a> {
    scene: &'s Scene<'a>,
    state: usize,
    outcome: &'s Outcome,
    test: Test,
}

impl<'s, 'a> Of<'s, 'a> {
    fn new(scene: &'s Scene<'a>, state: usize) -> Self {
        Self { scene, state, outcome: scene.names.outcome(state), test: Test::default() }
    }

    fn when(self, expression: Expression) -> MadeCondition {
        (Takes::Success, Some((self.test, expression)))
    }

    /// A condition that can hold.
    fn condition(mut self, condition: &Condition) -> MadeCondition {
        match condition {
            // A failure matches only `on_failure` and `custom`. A command or container that could not run to its end
            // still has a result, which says that it failed.
            Condition::Always => {
                let container = matches!(self.outcome, Outcome::Container | Outcome::Containers(_));
                (if self.outcome.is_command() || container { Takes::Both } else { Takes::Success }, None)
            }
            Condition::OnSuccess => self.on_success(),
            Condition::OnFailure => self.on_failure(),
            Condition::ExitCodeZero => self.exit_code_is(0),
            Condition::ExitCode(expected) => self.exit_code_is(*expected),
            Condition::ExitCodeNonZero => {
                let code = self.exit_code();
                let negative = compare(code.clone(), Comparison::Less, 0i64);
                self.when(Expression::Or(vec![negative, compare(code, Comparison::Greater, 0i64)]))
            }
            Condition::ScoreAbove(t) => {
                let score = self.measure("score");
                self.when(compare(score, Comparison::Greater, *t))
            }
            Condition::ScoreBelow(t) => {
                let score = self.measure("score");
                self.when(compare(score, Comparison::Less, *t))
            }
            Condition::ScoreBetween(min, max) => {
                let score = self.measure("score");
                self.when(between(*min, score, *max))
            }
            Condition::ConfidenceAbove(t) => {
                let confidence = self.measure("confidence");
                self.when(compare(confidence, Comparison::Greater, *t))
            }
            Condition::ScoreAndConfidenceAbove(score, confidence) => {
                self.verdict(Comparison::Greater, *score, *confidence)
            }
            Condition::Consensus { threshold, agreement } => {
                let declared = self.scene.names.states.get(self.state).map_or((None, None), |s| s.consensus);
                let threshold = threshold.or(declared.0).unwrap_or(0.7);
                self.verdict(Comparison::GreaterEqual, threshold, agreement.or(declared.1).unwrap_or(0.0))
            }
            Condition::AllApproved(t) => {
                let all = self.each_score().into_iter().map(|s| compare(s, Comparison::GreaterEqual, *t)).collect();
                self.when(Expression::And(all))
            }
            Condition::AnyRejected(t) => {
                let any = self.each_score().into_iter().map(|s| compare(s, Comparison::Less, *t)).collect();
                self.when(Expression::Or(any))
            }
            Condition::InputEquals(text) => {
                let response = self.response();
                self.when(compare(response, Comparison::Equal, &*text.value))
            }
            Condition::InputEqualsYes => {
                let response = self.response();
                self.when(one_of(response, YES))
            }
            Condition::InputEqualsNo => {
                let response = self.response();
                self.when(one_of(response, NO))
            }
            Condition::Custom(_) => (Takes::Both, None),
        }
    }

    fn on_success(mut self) -> MadeCondition {
        match self.outcome {
            Outcome::Command => {
                let code = self.exit_code();
                self.when(compare(code, Comparison::Equal, 0i64))
            }
            _ => (Takes::Success, None),
        }
    }

    fn on_failure(mut self) -> MadeCondition {
        match self.outcome {
            Outcome::Command => {
                let code = self.exit_code();
                (Takes::Both, Some((self.test, compare(code, Comparison::NotEqual, 0i64))))
            }
            _ => (Takes::Failure, None),
        }
    }

    /// The exit code of an agent that answered is 0.
    fn exit_code_is(mut self, expected: i64) -> MadeCondition {
        match self.outcome {
            Outcome::Agent => (Takes::Success, None),
            _ => {
                let code = self.exit_code();
                self.when(compare(code, Comparison::Equal, expected))
            }
        }
    }

    /// A comparison of both score and confidence.
    fn verdict(mut self, how: Comparison, score: f64, confidence: f64) -> MadeCondition {
        let (of_score, of_confidence) = (self.measure("score"), self.measure("confidence"));
        self.when(Expression::And(vec![compare(of_score, how, score), compare(of_confidence, how, confidence)]))
    }

    fn value(&mut self, shown: &[&str], at: &[&str]) -> Expression {
        let names = self.scene.names;
        let shown: Vec<&str> = std::iter::once(&**names.name(self.state)).chain(shown.iter().copied()).collect();
        self.test.value(&shown, Source::Member(names.slot(self.state), path(at)))
    }

    fn exit_code(&mut self) -> Expression {
        self.value(&["exit_code"], &["exit_code"])
    }

    /// The score or the confidence of the state's result.
    fn measure(&mut self, what: &str) -> Expression {
        share(match self.outcome {
            Outcome::Agent => self.value(&[what], &["output", what]),
            Outcome::Parallel { .. } => self.value(&[what], &["consensus", what]),
            _ => self.value(&[what], &[what]),
        })
    }

    /// The score of each agent.
    fn each_score(&mut self) -> Vec<Expression> {
        let Outcome::Parallel { agents } = self.outcome else { return Vec::new() };
        let score = |i: usize| {
            let i = i.to_string();
            share(self.value(&["agents", &i, "score"], &["agents", &i, "score"]))
        };
        (0..*agents).map(score).collect()
    }

    fn response(&mut self) -> Expression {
        let names = self.scene.names;
        self.test.value(&[names.name(self.state), "response"], names.response(self.state))
    }
}
