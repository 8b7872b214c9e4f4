//! Which conditions can hold for the result of a state.

use super::known::{Outcome, StateNames};
use crate::aegis::manifest::transition::Condition;

impl StateNames {
    /// Why a condition never holds here, whatever the state's result is.
    pub fn never_holds(&self, condition: &Condition) -> Option<&'static str> {
        use Condition as C;
        match (condition, &self.outcome) {
            (C::OnFailure, Outcome::Human) if self.always_answers => {
                Some("if nobody answers in time, the response is the `default_response`")
            }
            (C::OnFailure, Outcome::Update) => Some("an update of the Blackboard cannot fail"),
            (C::ExitCodeNonZero, Outcome::Agent) => {
                Some("the exit code of an agent that answers is 0; write `on_failure` for one that fails")
            }
            (C::ExitCode(code), Outcome::Agent) if *code != 0 => Some("the exit code of an agent that answers is 0"),
            (C::ExitCodeZero | C::ExitCodeNonZero | C::ExitCode(_), outcome) => match outcome {
                Outcome::Human | Outcome::Parallel { .. } => Some("only System states have an exit code"),
                Outcome::Containers(_) => {
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
                Outcome::Agent | Outcome::Parallel { .. } | Outcome::Open => None,
                _ => Some("only agents that answer with a verdict have a score"),
            },
            (C::AllApproved(_) | C::AnyRejected(_), Outcome::Parallel { .. }) => None,
            (C::AllApproved(_) | C::AnyRejected(_), _) => Some("only a ParallelAgents state has several scores"),
            (C::InputEquals(_) | C::InputEqualsYes | C::InputEqualsNo, Outcome::Human | Outcome::Open) => None,
            (C::InputEquals(_) | C::InputEqualsYes | C::InputEqualsNo, _) => Some("only a Human state has a response"),
            (C::Always | C::OnSuccess | C::OnFailure | C::Custom(_), _) => None,
        }
    }
}
