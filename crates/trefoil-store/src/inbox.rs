//! Messages from other processes to a run: answers of people, signals, stop requests. A letter is deleted in the
//! transaction that appends the entries that process it.

use trefoil_template::Value;

/// The kind of a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetterKind {
    /// A person's answer.
    Answer,
    /// A signal. For an activity with an unknown outcome: `retry`, `fail`, or an object with its result as [`Letter::DONE`]. For a
    /// run that a tool call started: [`Letter::CONTINUE`].
    Signal,
    /// A request to stop the run.
    Cancel,
}

impl LetterKind {
    /// All kinds.
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

/// A message to a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Letter {
    /// Its kind.
    pub kind: LetterKind,
    /// The activity's key, for an answer or a signal to an activity; the run's id, for a signal about a called run. Otherwise empty.
    pub key: String,
    /// Its content.
    pub value: Value,
    /// When it was written: milliseconds since 1970-01-01 UTC.
    pub at: u64,
}

impl Letter {
    /// The member of a signal that contains the result of an activity that was done.
    pub const DONE: &str = "done";
    /// The value of a signal whose key is the id of a run: that run, which a tool call of this one started, can continue.
    pub const CONTINUE: &str = "continue";
}

/// A letter in an inbox.
#[derive(Debug, Clone, PartialEq)]
pub struct Posted {
    /// Its number. Later letters have higher numbers.
    pub id: u64,
    /// The run's id.
    pub run: String,
    /// The letter.
    pub letter: Letter,
}
