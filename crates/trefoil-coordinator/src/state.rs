//! The states of a run, which input each of them expects, and the order of a turn.

use crate::input::RunInput;

/// What a run waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CoordinatorState {
    /// For nothing: it has actions.
    Ready,
    /// For answers of earlier runs.
    LookingUp,
    /// For the decision about an activity whose outcome is unknown.
    Deciding,
    /// For a message that is in the inbox.
    ReadingInbox,
    /// For its entries to be stored.
    Appending,
    /// For calls to enter the queue.
    Admitting,
    /// For others to work: the machine has more pieces.
    Yielding,
    /// For work to end, or a message. `is_held`: something would start next, but must not.
    Working {
        /// Whether something would start next, but must not.
        is_held: bool,
    },
    /// For stopped calls to end.
    WindingDown,
    /// The run has ended here.
    Ended,
}

/// An input in a state that does not expect it. The run is unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the input `{input}` does not belong to the state {state:?}")]
pub struct UnexpectedInput {
    /// The state.
    pub state: CoordinatorState,
    /// The name of the input.
    pub input: &'static str,
}

impl CoordinatorState {
    /// Returns an error if the state does not expect an input.
    pub(crate) fn check_input(self, input: &RunInput) -> Result<(), UnexpectedInput> {
        let is_expected = match input {
            RunInput::Found(_) => self == Self::LookingUp,
            RunInput::DecisionRead(_) => self == Self::Deciding,
            RunInput::InboxRead(_) => self == Self::ReadingInbox,
            RunInput::Appended(_) => self == Self::Appending,
            RunInput::Admitted(_) => self == Self::Admitting,
            RunInput::MayProceed => self == Self::Yielding,
            RunInput::WorkEnded(_) => matches!(self, Self::Working { .. } | Self::WindingDown),
            RunInput::TurnCame | RunInput::Arrived(_) => matches!(self, Self::Working { .. }),
            RunInput::StopWanted(_) => self != Self::Ended,
            RunInput::MomentOver => self == Self::WindingDown,
        };
        if is_expected { Ok(()) } else { Err(UnexpectedInput { state: self, input: input.name() }) }
    }
}

/// The phases of a turn, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TurnPhase {
    /// The machine gets the results of activities that have ended without being started here.
    Results,
    /// If the machine has ended the run, the run ends.
    Finish,
    /// If this host may not perform what is next, the run stops and leaves it to others.
    Permission,
    /// Answers of earlier runs are looked up.
    LookUp,
    /// What has a result already ends with it. If the rest may not be performed unasked, the run stops.
    Reuse,
    /// If the rest would exceed a limit of the runs above and below this one, the run ends.
    Limits,
    /// What is requested gets its entry, or waits in the queue.
    Schedule,
    /// The entries are stored.
    Commit,
    /// What has an entry is started.
    Start,
    /// The run waits, is suspended, or stops.
    Wait,
}

impl TurnPhase {
    /// All of them, in their order.
    pub const ALL: [Self; 10] = [
        Self::Results,
        Self::Finish,
        Self::Permission,
        Self::LookUp,
        Self::Reuse,
        Self::Limits,
        Self::Schedule,
        Self::Commit,
        Self::Start,
        Self::Wait,
    ];

    /// The one after this one. The next turn begins after the last one.
    pub fn next_phase(self) -> Option<Self> {
        Self::ALL.into_iter().find(|phase| *phase > self)
    }
}
