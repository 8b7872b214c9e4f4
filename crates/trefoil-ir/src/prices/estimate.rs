//! Estimates of tokens before a call. They are not exact, because that would need the vocabulary of every model.

/// Assumed number of tokens of an answer, unless its limit is lower.
pub const ANSWER: u64 = 1_000;
/// Tokens of a message in addition to its text.
pub const MESSAGE: u64 = 8;
/// Maximum number of tokens of the text around a schema, if a provider gets the schema in a message.
pub const SCHEMA: u64 = 256;

/// Estimated tokens of a text: one for 3.6 bytes, as in English.
pub const fn text_tokens(bytes: u64) -> u64 {
    bytes.saturating_mul(10).div_ceil(36)
}

/// Estimated tokens plus nearly a third, for the cost that is reserved before a call.
pub const fn cautious_tokens(bytes: u64) -> u64 {
    bytes.saturating_mul(13) / 36
}

/// Estimated tokens of an answer with this limit.
pub fn answer_tokens(max_tokens: Option<u32>) -> u64 {
    max_tokens.map_or(ANSWER, |limit| ANSWER.min(u64::from(limit)))
}
