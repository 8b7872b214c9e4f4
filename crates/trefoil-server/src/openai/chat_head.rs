//! What all parts of an answer of chat completions have.

/// What all parts of an answer have.
pub struct ChatHead {
    /// The run.
    pub run: String,
    /// Seconds since 1970-01-01 UTC.
    pub created: u64,
    /// The flow.
    pub model: String,
    /// Whether a stream has the usage.
    pub include_usage: bool,
}

impl ChatHead {
    /// The id of the answer.
    pub fn answer_id(&self) -> String {
        format!("chatcmpl-{}", self.run)
    }
}
