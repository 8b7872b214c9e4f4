//! Reads usage. A number that no call can have used (`-1`, or beyond 2^53) is unknown: proxies send such numbers.

use serde_json::Value as Json;
use trefoil_runtime::Usage;

/// Reads the numbers of one usage.
pub(super) struct TokenReader<'j> {
    json: Option<&'j Json>,
    /// A number was not one of tokens.
    invalid: bool,
}

impl<'j> TokenReader<'j> {
    /// Reads from this object.
    pub fn new(json: Option<&'j Json>) -> Self {
        Self { json, invalid: false }
    }

    /// The number at this pointer; `None` if it is missing or unknown. Some servers write floats.
    pub fn read_number(&mut self, pointer: &str) -> Option<u64> {
        let json = self.json?.pointer(pointer)?;
        if json.is_null() {
            return None;
        }
        let number = match (json.as_u64(), json.as_f64()) {
            (Some(number), _) if number <= Usage::MOST => Some(number),
            (None, Some(number)) if number >= 0.0 && number <= Usage::MOST as f64 => Some(number as u64),
            _ => None,
        };
        self.invalid |= number.is_none();
        number
    }

    /// Whether a number was read that is not one of tokens.
    pub fn is_invalid(&self) -> bool {
        self.invalid
    }

    /// The usage of one call, with its input and output, of which `cached` was read from a cache and `written` to it.
    /// `None` if there is none. If a number of it is unknown, the others are only a lower bound.
    pub fn into_usage(self, tokens: [Option<u64>; 2], cached: Option<u64>, written: Option<u64>) -> Option<Usage> {
        let [input, output] = tokens;
        if input.is_none() && output.is_none() && !self.invalid {
            return None;
        }
        let usage = Usage {
            input_tokens: input.unwrap_or_default(),
            output_tokens: output.unwrap_or_default(),
            cached_tokens: cached.unwrap_or_default(),
            written_tokens: written.unwrap_or_default(),
            unknown_calls: u64::from(self.invalid || input.is_none() || output.is_none()),
            ..Usage::default()
        };
        Some(usage.without_impossible())
    }
}
