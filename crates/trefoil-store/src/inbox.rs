//! What other processes have for a run: answers of people, signals, requests to stop. Letters stay until entries of the run
//! have taken them in, in the transaction of those entries.

use trefoil_template::Value;

/// What a letter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetterKind {
    /// A person's answer.
    Answer,
    /// A signal. For an activity of which nobody knows whether it was done: `retry`, `fail`, or an object with its result as
    /// [`Letter::DONE`].
    Signal,
    /// Somebody wants the run to stop.
    Cancel,
}

impl LetterKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Answer, Self::Signal, Self::Cancel];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::Signal => "signal",
            Self::Cancel => "cancel",
        }
    }
}

/// Something for a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Letter {
    /// What it is.
    pub kind: LetterKind,
    /// Of an answer, or a signal for an activity: the activity's key. Otherwise empty.
    pub key: String,
    /// What it says.
    pub value: Value,
    /// When it was written: milliseconds since 1970-01-01 UTC.
    pub at: u64,
}

impl Letter {
    /// The member of a signal that has the result of an activity: it was done.
    pub const DONE: &str = "done";
}

/// A letter that nobody has taken in.
#[derive(Debug, Clone, PartialEq)]
pub struct Posted {
    /// Its number. Later letters have larger ones.
    pub id: u64,
    /// The run's id.
    pub run: String,
    /// The letter.
    pub letter: Letter,
}
