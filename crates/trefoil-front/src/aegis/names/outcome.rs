//! Which conditions can hold for the result of a state.

use super::workflow_names::{AegisStateNames, StateResultForm};
use crate::aegis::manifest::transition::TransitionCondition;

impl AegisStateNames {
    /// Why a condition never holds here, whatever the state's result is.
    pub fn never_holds(&self, condition: &TransitionCondition) -> Option<&'static str> {
        use TransitionCondition as C;
        match (condition, &self.outcome) {
            (C::OnFailure, StateResultForm::Human) if self.always_answers => {
                Some("if nobody answers in time, the response is the `default_response`")
            }
            (C::OnFailure, StateResultForm::Update) => Some("an update of the Blackboard cannot fail"),
            (C::ExitCodeNonZero, StateResultForm::Agent) => {
                Some("the exit code of an agent that answers is 0; write `on_failure` for one that fails")
            }
            (C::ExitCode(code), StateResultForm::Agent) if *code != 0 => {
                Some("the exit code of an agent that answers is 0")
            }
            (C::ExitCodeZero | C::ExitCodeNonZero | C::ExitCode(_), outcome) => match outcome {
                StateResultForm::Human | StateResultForm::Parallel { .. } => {
                    Some("only System states have an exit code")
                }
                StateResultForm::Containers(_) => {
                    Some("several containers have no common exit code; write `on_success` or `on_failure`")
                }
                _ => None,
            },
            (
                C::ScoreAbove(_)
                | C::ScoreBelow(_)
                | C::ScoreBetween(..)
                | C::ConfidenceAbove(_)
                | C::ScoreAndConfidenceAbove(..)
                | C::Consensus { .. },
                outcome,
            ) => match outcome {
                StateResultForm::Agent | StateResultForm::Parallel { .. } | StateResultForm::Open => None,
                _ => Some("only agents that answer with a verdict have a score"),
            },
            (C::AllApproved(_) | C::AnyRejected(_), StateResultForm::Parallel { .. }) => None,
            (C::AllApproved(_) | C::AnyRejected(_), _) => Some("only a ParallelAgents state has several scores"),
            (
                C::InputEquals(_) | C::InputEqualsYes | C::InputEqualsNo,
                StateResultForm::Human | StateResultForm::Open,
            ) => None,
            (C::InputEquals(_) | C::InputEqualsYes | C::InputEqualsNo, _) => Some("only a Human state has a response"),
            (C::Always | C::OnSuccess | C::OnFailure | C::Custom(_), _) => None,
        }
    }
}
