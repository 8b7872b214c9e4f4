//! Tokens before a call: what a text is taken to have, and what it has at most. Nobody counts exactly here: that takes a
//! vocabulary for every model.

/// Tokens that an answer is taken to have, unless its own limit is lower.
pub const ANSWER: u64 = 1_000;
/// Tokens that a message has beside its text.
pub const MESSAGE: u64 = 8;
/// Tokens that the words around a schema have at most, where a provider is told it in a message.
pub const SCHEMA: u64 = 256;

/// The tokens that a text of so many bytes is taken to have: one for 3.6 bytes, as English has.
pub const fn tokens(bytes: u64) -> u64 {
    bytes.saturating_mul(10).div_ceil(36)
}

/// The same with nearly a third more, for money that is reserved before a call.
pub const fn cautious_tokens(bytes: u64) -> u64 {
    bytes.saturating_mul(13) / 36
}

/// The tokens that an answer is taken to have under a limit of its own.
pub fn answer(max_tokens: Option<u32>) -> u64 {
    max_tokens.map_or(ANSWER, |limit| ANSWER.min(u64::from(limit)))
}
