//! How far a streamed answer is: one state machine for all protocols.
//!
//! It does no IO and knows no time. The reader of a protocol says what an event brought ([`EventContribution`]); the reader of
//! the connection says that the body ended, broke, or fell silent. Only the table in [`after`] decides what makes an
//! answer complete. Whatever it does not call complete is a failed call.

use super::super::finish::FinishWord;
use super::table::DoneMark;

/// What one event brought.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct EventContribution {
    /// Text, or a part of a tool call.
    pub content: bool,
    /// A part of the turn that is not shown, such as a thought.
    pub thought: bool,
    /// The usage of the answer.
    pub usage: bool,
    /// Why the answer is over.
    pub word: Option<FinishWord>,
    /// It has the form of this protocol's events.
    pub known: bool,
    /// It is the first event of its protocol.
    pub first: bool,
    /// It is the last event of its protocol.
    pub last: bool,
}

impl EventContribution {
    /// Whether it continues the answer.
    pub fn is_progress(&self) -> bool {
        self.content || self.thought
    }
}

/// What happens to a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamInput {
    /// An event.
    Event(EventContribution),
    /// `[DONE]`.
    Done(DoneMark),
    /// The body ended as the transfer promised.
    BodyEnd,
    /// The connection was closed, which is the only sign that a body without a length has ended. The same happens to a body
    /// that is cut off.
    Closed,
    /// Nothing more can be read: the connection broke or was silent for too long.
    Broken,
    /// Nothing more can be read, and an event has arrived only in part.
    Torn,
    /// Nothing of the answer came for some time. Ends only an answer that is complete without its last event.
    Waited,
}

/// Why an answer is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamFault {
    /// Nothing of the expected protocol has arrived.
    Foreign,
    /// The server said that the answer is over, and had sent nothing of it.
    Hollow,
    /// More of the answer arrived after its last event.
    Late,
    /// A second answer began within it.
    Doubled,
    /// The stream ended before the answer did.
    Cut,
}

/// What is known about the end of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamPhase {
    /// No finish reason has arrived. `content`: a part of the answer has.
    Open { content: bool },
    /// A known finish reason arrived in an event without content, after content. The answer is complete unless more of
    /// it arrives.
    Finished,
    /// The first known finish reason arrived with content, after content without one. The same at the end of the stream;
    /// what ends may still be cut.
    Marked,
    /// A finish reason that some servers send too early: with the first content or before it, unknown, or after one that
    /// was taken back. It counts only together with an end of the stream that is no cut.
    Doubtful,
    /// More of the answer arrived after a finish reason, which is thereby taken back.
    Reopened,
    /// The answer is complete.
    Complete,
    /// The stream is over, and the answer is not complete.
    Incomplete(StreamFault),
}

/// The next phase. This is the table of all ends.
fn after(phase: StreamPhase, input: &StreamInput) -> StreamPhase {
    use StreamFault::{Cut, Doubled, Hollow, Late};
    use StreamPhase::{Complete, Doubtful, Finished, Incomplete, Marked, Open, Reopened};
    match (phase, input) {
        (Complete, StreamInput::Event(news)) if news.is_progress() => Incomplete(Late),
        (Complete | Incomplete(_), _) => phase,
        (_, StreamInput::Torn) => Incomplete(Cut),
        (Finished | Marked | Doubtful | Reopened | Open { content: true }, StreamInput::Event(news)) if news.first => {
            Incomplete(Doubled)
        }
        // The end of an answer of which nothing has arrived, and not even why it is over.
        (Open { content: false }, StreamInput::Done(DoneMark::Last)) => Incomplete(Hollow),
        (Open { content: false }, StreamInput::Event(news)) if news.last && !news.content && news.word.is_none() => {
            Incomplete(Hollow)
        }
        (_, StreamInput::Event(news)) if news.last => Complete,
        (_, StreamInput::Done(DoneMark::Last)) => Complete,

        (Finished | Marked | Doubtful, StreamInput::BodyEnd | StreamInput::Done(DoneMark::BodyEnd)) => Complete,
        (Finished | Marked, StreamInput::Closed) => Complete,
        (_, StreamInput::BodyEnd | StreamInput::Closed | StreamInput::Done(DoneMark::BodyEnd)) => Incomplete(Cut),
        (Finished, StreamInput::Broken | StreamInput::Waited) => Complete,
        (_, StreamInput::Broken) => Incomplete(Cut),
        (_, StreamInput::Waited) => phase,

        (Open { content }, StreamInput::Event(news)) => match &news.word {
            None => Open { content: content || news.content },
            Some(word) if word.is_known() && content => {
                if news.is_progress() {
                    Marked
                } else {
                    Finished
                }
            }
            Some(_) => Doubtful,
        },
        (_, StreamInput::Event(news)) if news.is_progress() => match &news.word {
            None => Reopened,
            Some(_) => Doubtful,
        },
        (Reopened, StreamInput::Event(EventContribution { word: Some(_), .. })) => Doubtful,
        (_, StreamInput::Event(_)) => phase,
    }
}

/// The state of a streamed answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamState {
    phase: StreamPhase,
    /// Whether events have arrived, and whether one of them was of the expected protocol.
    recognized: Option<bool>,
    /// Usage has arrived with the finish reason or after it. Some servers report what was used so far with each piece.
    counted: bool,
    /// The answer is complete, but its stream did not end as it should.
    cut: bool,
    /// A part of the next event has arrived.
    within: bool,
}

impl Default for StreamState {
    fn default() -> Self {
        Self {
            phase: StreamPhase::Open { content: false },
            recognized: None,
            counted: false,
            cut: false,
            within: false,
        }
    }
}

impl StreamState {
    /// Takes in what happened.
    pub fn apply_input(&mut self, input: StreamInput) {
        let input = match input {
            StreamInput::BodyEnd | StreamInput::Closed | StreamInput::Broken | StreamInput::Waited if self.within => {
                StreamInput::Torn
            }
            input => input,
        };
        let was_complete = self.phase == StreamPhase::Complete;
        self.phase = after(self.phase, &input);
        match &input {
            StreamInput::Event(news) => {
                self.recognized = Some(self.recognized == Some(true) || news.known);
                let earlier = self.counted && !news.is_progress();
                self.counted = self.has_reason() && (news.usage || earlier);
            }
            StreamInput::Broken | StreamInput::Waited => {
                self.cut |= !was_complete && self.phase == StreamPhase::Complete;
            }
            StreamInput::Done(_) => self.recognized = self.recognized.or(Some(false)),
            StreamInput::BodyEnd | StreamInput::Closed | StreamInput::Torn => {}
        }
    }

    /// Notes whether a part of the next event has arrived.
    pub fn note_part(&mut self, within: bool) {
        self.within = within;
    }

    /// Whether a finish reason has arrived that was not taken back.
    pub fn has_reason(&self) -> bool {
        matches!(
            self.phase,
            StreamPhase::Finished | StreamPhase::Marked | StreamPhase::Doubtful | StreamPhase::Complete
        )
    }

    /// Whether the answer is complete, although its stream has not ended.
    pub fn is_finished(&self) -> bool {
        self.phase == StreamPhase::Finished && !self.within
    }

    /// Whether its last event, or what stands for it, has arrived.
    pub fn has_ended(&self) -> bool {
        self.phase == StreamPhase::Complete
    }

    /// Whether nothing that follows can make it complete.
    pub fn is_lost(&self) -> bool {
        matches!(self.phase, StreamPhase::Incomplete(_))
    }

    /// Whether the answer is complete, unless more of it follows.
    pub fn is_complete(&self) -> bool {
        self.phase == StreamPhase::Complete && self.recognized != Some(false)
    }

    /// Why the answer is not complete, when nothing more is to be read.
    pub fn find_fault(&self) -> Option<StreamFault> {
        match self.phase {
            _ if self.recognized == Some(false) => Some(StreamFault::Foreign),
            StreamPhase::Complete => None,
            StreamPhase::Incomplete(fault) => Some(fault),
            _ => Some(StreamFault::Cut),
        }
    }

    /// Whether an event of the expected protocol has arrived.
    pub fn is_recognized(&self) -> bool {
        self.recognized == Some(true)
    }

    /// Whether the usage that has arrived is only what was used up to some piece.
    pub fn is_usage_partial(&self) -> bool {
        self.cut && !self.counted
    }
}
