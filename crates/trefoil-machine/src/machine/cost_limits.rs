//! Cost limits: the operator's, and those of flows. The possible cost of a call is reserved before it starts, so that
//! concurrent calls cannot all spend the same remainder. Everything comes from the journal: prices from its first
//! entry, costs from completions.

use trefoil_ir::prices::{DollarAmount, ModelPrice, estimate};
use trefoil_template::Value;

use super::ceiling::HardLimit;
use super::frame::FrameId;
use super::prepared_program::PreparedProgram;
use super::turn::MachineTurn;
use crate::blocks;
use crate::error::RunError;
use crate::event::EventKind;
use crate::journal::{Flags, Reserve};
use crate::request::{ModelRequest, Request, Usage};
use crate::run_limits::{LimitKind, lower_limit};

/// The reservation for a call under a cost limit, in micro-dollars.
pub fn may_cost(flags: &Flags, request: &ModelRequest) -> u64 {
    // It is not known yet which of the models will answer.
    let mut highest = 0;
    for (_, price, window) in flags.candidate_models(request.provider.as_deref(), &request.model) {
        let Some(price) = price else { continue };
        let cost = match flags.spec.reserve() {
            Reserve::Estimate => Some(expected(price, request)),
            Reserve::Bound => at_most(price, request, window),
        };
        highest = highest.max(cost.unwrap_or(0));
    }
    highest
}

/// Whether the machine itself compares costs with a limit, so that it reserves them.
pub fn is_cost_limited(prepared: &PreparedProgram, flags: &Flags) -> bool {
    flags.spec.limits.cost_micro.is_some() || prepared.limits_cost
}

impl MachineTurn<'_> {
    /// The reservation for a call, in micro-dollars. 0 if there is no cost limit.
    pub fn reservation_for(&self, request: &Request) -> u64 {
        let is_limited = is_cost_limited(self.prepared, &self.core.flags);
        let (Request::Model(request), true) = (request, is_limited) else { return 0 };
        may_cost(&self.core.flags, request)
    }

    /// Why no cost limit can apply to a call, and what to do about it.
    fn beyond_limits(&self, request: &ModelRequest) -> Option<(String, &'static str)> {
        let flags = &self.core.flags;
        let provider = request.provider.as_deref();
        let own = match provider {
            Some(provider) => format!("{provider}:{}", request.model),
            None => request.model.to_string(),
        };
        for (name, price, window) in flags.candidate_models(provider, &request.model) {
            let name = if name.is_empty() { own.as_str() } else { name };
            let Some(price) = price else {
                let said = format!("a cost limit cannot be enforced: the price of `{name}` is unknown");
                return Some((said, "set its price in `config.toml`: `[prices]`"));
            };
            if flags.spec.reserve() == Reserve::Bound && at_most(price, request, window).is_none() {
                let said = format!(
                    "a strict cost limit cannot be enforced: the maximum cost of a call of `{name}` is unknown"
                );
                return Some((said, "set `max_tokens`, or use `--reserve estimate`"));
            }
        }
        None
    }

    /// The error of a model call to which no limit of cost can apply, if there is one. The models of a run are checked before its start; this
    /// handles those that were not known then.
    pub fn without_bound(&self, f: FrameId, ceilings: &[HardLimit], request: &Request) -> Option<RunError> {
        let Request::Model(request) = request else { return None };
        ceilings.iter().find(|ceiling| ceiling.kind == LimitKind::Cost)?;
        let (said, help) = self.beyond_limits(request)?;
        Some(RunError::new("BUDGET_EXCEEDED", said).at_step(self.key_of(f), self.origin_of(f)).with_help(help))
    }

    /// The error of a run that a limit of cost ends. `next`: what the next call may cost.
    pub fn over_cost(&self, f: FrameId, ceiling: &HardLimit, next: u64, request: &Request) -> RunError {
        let mut said =
            format!("cost limit reached: {} of {} spent", DollarAmount(ceiling.used), DollarAmount(ceiling.limit));
        if ceiling.reserved > 0 {
            said.push_str(&format!(", calls in progress may cost {}", DollarAmount(ceiling.reserved)));
        }
        said.push_str(&format!(", and the next call may cost {}", DollarAmount(next)));
        let request = if let Request::Model(request) = request { Some(&**request) } else { None };
        self.limit_error(f, ceiling, (next, request), said, "`max_tokens` or a limit on iterations or items")
    }

    /// The amount counted for a call with this reservation: its cost, or the expected cost if the cost is unknown.
    pub fn counted_cost(&mut self, usage: Usage, reserved: u64) -> u64 {
        if usage.unpriced_calls == 0 {
            return usage.cost_micro;
        }
        self.core.assumed = self.core.assumed.saturating_add(reserved.saturating_sub(usage.cost_micro));
        usage.cost_micro.max(reserved)
    }

    /// Reports once that the operator's limit was exceeded, because calls in progress may cost more than expected.
    pub fn tell_cost(&mut self, f: FrameId, usage: Usage) {
        let Some(limit) = self.core.flags.spec.limits.cost_micro else { return };
        let now = self.core.usage.cost_micro;
        if now.saturating_sub(usage.cost_micro) <= limit
            && now > limit
            && let Some((_, step)) = self.step_of(f)
            && let Some(frame) = self.core.frames.get(f)
        {
            let key = frame.base.clone();
            self.emit_event(&key, step.origin, EventKind::Warning { message: cost_exceeded_message(now, limit) });
        }
    }
}

/// The message about an exceeded limit.
pub fn cost_exceeded_message(spent: u64, limit: u64) -> String {
    format!("cost limit exceeded: {} spent, limit is {}", DollarAmount(spent), DollarAmount(limit))
}

/// The expected cost of a call. Nearly a third is added to its prompt, because token counts are estimates.
fn expected(price: &ModelPrice, request: &ModelRequest) -> u64 {
    let input = estimate::cautious_tokens(request.prompt_size()).saturating_add(beside(request));
    price.at_most(input, estimate::answer_tokens(request.parameters.max_tokens))
}

/// The maximum cost of a call: a token has at least one byte, no answer is longer than `max_tokens`, and neither prompt
/// nor answer is longer than the model's context window. `None`: unknown.
fn at_most(price: &ModelPrice, request: &ModelRequest, window: Option<u64>) -> Option<u64> {
    if price.is_free() {
        return Some(0);
    }
    // Provider options may add to the prompt and raise the limit of the answer, the value of a secret may have any
    // length, and each provider counts images differently. Then only the context window limits the cost.
    let options = request.parameters.provider_options.is_some();
    let unknown = |content: &Value| content.is_masked() || blocks::parse_blocks(content).is_some();
    let (mut input, mut output) = (None, None);
    if !options && !request.messages.iter().any(|m| unknown(&m.content)) {
        let words = if request.schema.is_some() { estimate::SCHEMA } else { 0 };
        input = Some(request.prompt_size().saturating_add(beside(request)).saturating_add(words));
    }
    if !options {
        output = request.parameters.max_tokens.map(u64::from);
    }
    Some(price.at_most(lower_limit(input, window)?, lower_limit(output, window)?))
}

/// The tokens of messages in addition to their texts.
fn beside(request: &ModelRequest) -> u64 {
    (request.messages.len() as u64).saturating_mul(estimate::MESSAGE)
}
