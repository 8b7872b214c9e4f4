//! The operator's limit on money. What a call may cost is reserved before it starts, so calls that are under way at the same
//! time cannot all spend the same rest. All of it comes from the journal: prices from its first entry, costs from completions.

use trefoil_prices::{Dollars, Price};

use super::frame::FrameId;
use super::turn::Turn;
use crate::error::RunError;
use crate::event::EventKind;
use crate::request::{ModelRequest, Request, Usage};

/// Tokens that an answer is expected to have, unless its own limit is lower.
const ANSWER: u64 = 1_000;
/// Tokens that a message has beside its text.
const MESSAGE: u64 = 8;

impl Turn<'_> {
    /// What a call is expected to cost, in micro-dollars. 0 where no limit makes it worth knowing.
    pub fn reserve(&self, request: &Request) -> u64 {
        let (Request::Model(request), Some(_)) = (request, self.core.flags.max_cost_micro) else { return 0 };
        let price = self.core.flags.price(request.provider.as_deref(), &request.model);
        price.map_or(0, |price| expected(price, request))
    }

    /// Whether a call may start. False: it might pass the limit, so the run ended before anything was paid for it.
    pub fn may_pay(&mut self, f: FrameId, request: &Request) -> bool {
        let Some(limit) = self.core.flags.max_cost_micro else { return true };
        let next = self.reserve(request);
        let under_way = self.core.pending.values().map(|p| p.reserved).fold(0, u64::saturating_add);
        let spent = self.core.usage.cost_micro.saturating_add(self.core.assumed);
        if spent.saturating_add(under_way).saturating_add(next) <= limit {
            return true;
        }
        let mut said = format!("cost limit reached: {} of {} spent", Dollars(spent), Dollars(limit));
        if under_way > 0 {
            said.push_str(&format!(", calls in progress may cost {}", Dollars(under_way)));
        }
        said.push_str(&format!(", and the next call may cost {}", Dollars(next)));
        let key = self.core.frames.get(f).map(|f| f.key.clone());
        let location = self.step_of(f).map(|(_, step)| step.origin);
        let error = RunError { key, location, ..RunError::new("BUDGET_EXCEEDED", said) };
        self.finish(Err(
            error.help("allow more with `--max-cost`, or lower `max_tokens` or a limit on iterations or items")
        ));
        false
    }

    /// Takes note of what a call cost for which so much was reserved. One whose cost is not known counts as what was expected.
    pub fn paid(&mut self, f: FrameId, usage: Usage, reserved: u64) {
        let Some(limit) = self.core.flags.max_cost_micro else { return };
        let before = self.core.usage.cost_micro.saturating_sub(usage.cost_micro);
        if usage.unpriced_calls > 0 {
            self.core.assumed = self.core.assumed.saturating_add(reserved.saturating_sub(usage.cost_micro));
        }
        // Calls that were under way together may have cost more than was expected: that is said once.
        if before <= limit
            && self.core.usage.cost_micro > limit
            && let Some((_, step)) = self.step_of(f)
            && let Some(key) = self.core.frames.get(f).map(|f| f.base.clone())
        {
            let spent = Dollars(self.core.usage.cost_micro);
            let message = format!("cost limit exceeded: {spent} spent, limit is {}", Dollars(limit));
            self.note(&key, step.origin, EventKind::Warning { message });
        }
    }
}

/// A token is taken to have 3.6 bytes, and nearly a third is added, because nobody counts exactly.
fn expected(price: &Price, request: &ModelRequest) -> u64 {
    let schema = request.schema.as_ref().map_or(0, |(_, schema)| schema.to_json().to_string().len());
    let texts: usize = request.messages.iter().map(|m| m.content.to_text().len()).sum();
    let bytes = (texts as u64).saturating_add(schema as u64);
    let messages = (request.messages.len() as u64).saturating_mul(MESSAGE);
    let answer = request.parameters.max_tokens.map_or(ANSWER, |limit| ANSWER.min(u64::from(limit)));
    price.at_most((bytes.saturating_mul(13) / 36).saturating_add(messages), answer)
}
