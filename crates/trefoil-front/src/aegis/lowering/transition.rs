//! Transitions: conditions by kind of state, feedback, targets.

use trefoil_ir::{BoundCondition, MatchedOutcome, Source, StateId, StateTransition};
use trefoil_syntax::Location;
use trefoil_template::{BrokenText, ComparisonOperator, ConditionExpression, Policy};

use super::condition::{
    ConditionBuilder, between_expression, compare_expression, never_expression, one_of, share_expression,
};
use super::lowering_context::LoweringContext;
use crate::aegis::manifest::transition::{self as written, NO, TransitionCondition, YES};
use crate::aegis::names::{RenderMoment, StateResultForm, name_path};
use crate::bound_text::BoundText;

/// The transitions of a state.
pub fn lower_transitions(
    scene: &LoweringContext<'_>,
    state: usize,
    transitions: &[written::AegisTransition],
) -> Vec<StateTransition> {
    transitions.iter().filter_map(|transition| one(scene, state, transition)).collect()
}

/// The only transition of a state in a pipeline: to the next state on success.
pub fn success_transition(scene: &LoweringContext<'_>, state: usize, target: usize) -> StateTransition {
    let origin = scene.state_at(state);
    let (takes, test) = OutcomeCondition::new(scene, state).on_success();
    let when = test.map(|(test, expression)| test.into_condition(expression, origin, "on_success".into()));
    let target_at = scene.state_at(target);
    StateTransition {
        takes,
        when,
        target: StateId(target as u32),
        target_at,
        feedback: None,
        origin,
        text: "on_success".into(),
    }
}

fn one(scene: &LoweringContext<'_>, state: usize, transition: &written::AegisTransition) -> Option<StateTransition> {
    let written = transition.target.as_ref()?;
    let target = scene.names.state_index(&written.value)?;
    let moment = RenderMoment::Leaving(state);
    let feedback = transition.feedback.as_ref().and_then(|text| scene.texts.template_text(moment, text));
    let (takes, when, text) = match &transition.condition {
        Some(condition) => {
            let (takes, when) = lower_condition(scene, state, transition, condition);
            (takes, when, condition.display_text())
        }
        None => {
            let unknown = unknown_condition(scene.location_of(transition.at));
            (MatchedOutcome::Both, Some(unknown), String::new())
        }
    };
    Some(StateTransition {
        takes,
        when,
        target: StateId(target as u32),
        target_at: scene.location_of(written.span),
        feedback,
        origin: scene.location_of(transition.span),
        text: text.into(),
    })
}

/// A condition that is invalid (reported), so it is unknown when it holds.
fn unknown_condition(origin: Location) -> BoundCondition {
    let nothing = BrokenText { errors: Vec::new(), references: Vec::new() };
    let condition = trefoil_template::Condition::from_broken(&nothing, &Policy::AEGIS);
    let sources = vec![Source::missing_segment(0)];
    BoundCondition {
        condition,
        sources,
        origin,
        text: Default::default(),
        spans: vec![origin.span],
        written: Vec::new(),
    }
}

fn lower_condition(
    scene: &LoweringContext<'_>,
    state: usize,
    transition: &written::AegisTransition,
    condition: &TransitionCondition,
) -> (MatchedOutcome, Option<BoundCondition>) {
    if let TransitionCondition::Custom(text) = condition {
        let bound = scene.texts.get(RenderMoment::Deciding(state), text);
        return (MatchedOutcome::Both, bound.and_then(BoundText::to_condition));
    }
    let impossible = match scene.names.states.get(state) {
        Some(named) => named.never_holds(condition).is_some(),
        None => false,
    };
    let (takes, made) = match impossible {
        true => (MatchedOutcome::Success, Some((ConditionBuilder::default(), never_expression()))),
        false => OutcomeCondition::new(scene, state).condition(condition),
    };
    let finish = |(test, expression): (ConditionBuilder, ConditionExpression)| {
        test.into_condition(expression, scene.location_of(transition.at), condition.display_text().into())
    };
    (takes, made.map(finish))
}

type ConditionParts = (MatchedOutcome, Option<(ConditionBuilder, ConditionExpression)>);

/// A condition on the result of a state, under construction.
struct OutcomeCondition<'s, 'a> {
    scene: &'s LoweringContext<'a>,
    state: usize,
    outcome: &'s StateResultForm,
    test: ConditionBuilder,
}

impl<'s, 'a> OutcomeCondition<'s, 'a> {
    fn new(scene: &'s LoweringContext<'a>, state: usize) -> Self {
        Self { scene, state, outcome: scene.names.result_form(state), test: ConditionBuilder::default() }
    }

    fn when(self, expression: ConditionExpression) -> ConditionParts {
        (MatchedOutcome::Success, Some((self.test, expression)))
    }

    /// A condition that can hold.
    fn condition(mut self, condition: &TransitionCondition) -> ConditionParts {
        match condition {
            // A failure matches only `on_failure` and `custom`. A command or container that could not run to its end
            // still has a result, which says that it failed.
            TransitionCondition::Always => {
                let container = matches!(self.outcome, StateResultForm::Container | StateResultForm::Containers(_));
                (
                    if self.outcome.is_command() || container { MatchedOutcome::Both } else { MatchedOutcome::Success },
                    None,
                )
            }
            TransitionCondition::OnSuccess => self.on_success(),
            TransitionCondition::OnFailure => self.on_failure(),
            TransitionCondition::ExitCodeZero => self.exit_code_is(0),
            TransitionCondition::ExitCode(expected) => self.exit_code_is(*expected),
            TransitionCondition::ExitCodeNonZero => {
                let code = self.exit_code();
                let negative = compare_expression(code.clone(), ComparisonOperator::Less, 0i64);
                self.when(ConditionExpression::Or(vec![
                    negative,
                    compare_expression(code, ComparisonOperator::Greater, 0i64),
                ]))
            }
            TransitionCondition::ScoreAbove(t) => {
                let score = self.measure("score");
                self.when(compare_expression(score, ComparisonOperator::Greater, *t))
            }
            TransitionCondition::ScoreBelow(t) => {
                let score = self.measure("score");
                self.when(compare_expression(score, ComparisonOperator::Less, *t))
            }
            TransitionCondition::ScoreBetween(min, max) => {
                let score = self.measure("score");
                self.when(between_expression(*min, score, *max))
            }
            TransitionCondition::ConfidenceAbove(t) => {
                let confidence = self.measure("confidence");
                self.when(compare_expression(confidence, ComparisonOperator::Greater, *t))
            }
            TransitionCondition::ScoreAndConfidenceAbove(score, confidence) => {
                self.verdict(ComparisonOperator::Greater, *score, *confidence)
            }
            TransitionCondition::Consensus { threshold, agreement } => {
                let declared = match self.scene.names.states.get(self.state) {
                    Some(state) => state.consensus,
                    None => (None, None),
                };
                let threshold = threshold.or(declared.0).unwrap_or(0.7);
                self.verdict(ComparisonOperator::GreaterEqual, threshold, agreement.or(declared.1).unwrap_or(0.0))
            }
            TransitionCondition::AllApproved(t) => {
                let all = self.compare_scores(ComparisonOperator::GreaterEqual, *t);
                self.when(ConditionExpression::And(all))
            }
            TransitionCondition::AnyRejected(t) => {
                let any = self.compare_scores(ComparisonOperator::Less, *t);
                self.when(ConditionExpression::Or(any))
            }
            TransitionCondition::InputEquals(text) => {
                let response = self.response();
                self.when(compare_expression(response, ComparisonOperator::Equal, &*text.value))
            }
            TransitionCondition::InputEqualsYes => {
                let response = self.response();
                self.when(one_of(response, YES))
            }
            TransitionCondition::InputEqualsNo => {
                let response = self.response();
                self.when(one_of(response, NO))
            }
            TransitionCondition::Custom(_) => (MatchedOutcome::Both, None),
        }
    }

    fn on_success(mut self) -> ConditionParts {
        match self.outcome {
            StateResultForm::Command => {
                let code = self.exit_code();
                self.when(compare_expression(code, ComparisonOperator::Equal, 0i64))
            }
            _ => (MatchedOutcome::Success, None),
        }
    }

    fn on_failure(mut self) -> ConditionParts {
        match self.outcome {
            StateResultForm::Command => {
                let code = self.exit_code();
                (MatchedOutcome::Both, Some((self.test, compare_expression(code, ComparisonOperator::NotEqual, 0i64))))
            }
            _ => (MatchedOutcome::Failure, None),
        }
    }

    /// The exit code of an agent that answered is 0.
    fn exit_code_is(mut self, expected: i64) -> ConditionParts {
        match self.outcome {
            StateResultForm::Agent => (MatchedOutcome::Success, None),
            _ => {
                let code = self.exit_code();
                self.when(compare_expression(code, ComparisonOperator::Equal, expected))
            }
        }
    }

    /// A comparison of both score and confidence.
    fn verdict(mut self, how: ComparisonOperator, score: f64, confidence: f64) -> ConditionParts {
        let (of_score, of_confidence) = (self.measure("score"), self.measure("confidence"));
        self.when(ConditionExpression::And(vec![
            compare_expression(of_score, how, score),
            compare_expression(of_confidence, how, confidence),
        ]))
    }

    fn value(&mut self, shown: &[&str], at: &[&str]) -> ConditionExpression {
        let names = self.scene.names;
        let mut path: Vec<&str> = vec![names.state_name(self.state)];
        path.extend_from_slice(shown);
        self.test.add_reference(&path, Source::Member(names.state_slot(self.state), name_path(at)))
    }

    fn exit_code(&mut self) -> ConditionExpression {
        self.value(&["exit_code"], &["exit_code"])
    }

    /// The score or the confidence of the state's result.
    fn measure(&mut self, what: &str) -> ConditionExpression {
        share_expression(match self.outcome {
            StateResultForm::Agent => self.value(&[what], &["output", what]),
            StateResultForm::Parallel { .. } => self.value(&[what], &["consensus", what]),
            _ => self.value(&[what], &[what]),
        })
    }

    /// A comparison of the score of each agent.
    fn compare_scores(&mut self, how: ComparisonOperator, threshold: f64) -> Vec<ConditionExpression> {
        let mut comparisons = Vec::new();
        let StateResultForm::Parallel { agents } = self.outcome else { return comparisons };
        for index in 0..*agents {
            let path = ["agents", &index.to_string(), "score"];
            let score = share_expression(self.value(&path, &path));
            comparisons.push(compare_expression(score, how, threshold));
        }
        comparisons
    }

    fn response(&mut self) -> ConditionExpression {
        let names = self.scene.names;
        self.test.add_reference(&[names.state_name(self.state), "response"], names.response_source(self.state))
    }
}
