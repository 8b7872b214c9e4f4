//! Limits on money: the operator's, and those of flows. What a call may cost is reserved before it starts, so calls that are
//! in progress at the same time cannot all spend the same rest. All of it comes from the journal: prices from its first entry,
//! costs from completions.

use trefoil_ir::OnExceeded;
use trefoil_prices::{Dollars, Price, estimate};
use trefoil_template::Value;

use super::activation::ActivationId;
use super::frame::FrameId;
use super::turn::Turn;
use crate::blocks;
use crate::error::RunError;
use crate::event::EventKind;
use crate::journal::{Flags, Reserve};
use crate::request::{ModelRequest, Request, Usage};

/// A limit that fails the run, in micro-dollars.
struct Ceiling {
    limit: u64,
    /// What was spent, and what calls in progress may cost.
    spent: u64,
    under_way: u64,
    /// Whether it is a flow's; else it is the operator's.
    of_flow: bool,
}

/// What is set aside for a call under a limit on money, in micro-dollars.
pub fn may_cost(flags: &Flags, request: &ModelRequest) -> u64 {
    // Nobody knows yet which of them will answer.
    let costs = flags.candidates(request.provider.as_deref(), &request.model).filter_map(|(_, price, window)| {
        let price = price?;
        match flags.reserve {
            Reserve::Estimate => Some(expected(price, request)),
            Reserve::Bound => at_most(price, request, window),
        }
    });
    costs.max().unwrap_or(0)
}

impl Turn<'_> {
    /// What is reserved for a call, in micro-dollars. 0 where no limit makes it worth knowing.
    pub fn reserve(&self, request: &Request) -> u64 {
        let limited = self.core.flags.max_cost_micro.is_some() || self.prepared.limits_cost;
        let (Request::Model(request), true) = (request, limited) else { return 0 };
        may_cost(&self.core.flags, request)
    }

    /// Why no cost limit can hold for a call, and what to do about it.
    fn beyond_limits(&self, request: &ModelRequest) -> Option<(String, &'static str)> {
        let flags = &self.core.flags;
        let provider = request.provider.as_deref();
        let own = format!("{}{}", provider.map(|name| format!("{name}:")).unwrap_or_default(), request.model);
        flags.candidates(provider, &request.model).find_map(|(name, price, window)| {
            let name = if name.is_empty() { own.as_str() } else { name };
            let Some(price) = price else {
                let said = format!("a cost limit cannot be enforced: the price of `{name}` is unknown");
                return Some((said, "set its price in `config.toml`: `[prices]`"));
            };
            if flags.reserve == Reserve::Bound && at_most(price, request, window).is_none() {
                let said = format!(
                    "a strict cost limit cannot be enforced: the maximum cost of a call of `{name}` is unknown"
                );
                return Some((said, "set `max_tokens`, or use `--reserve estimate`"));
            }
            None
        })
    }

    /// Whether a call may start. False: it might pass a limit that fails the run, so the run ended before anything was paid
    /// for it. Gentler limits are looked at when the call has ended.
    pub fn may_pay(&mut self, f: FrameId, request: &Request) -> bool {
        let ceilings = self.cost_ceilings(f);
        if let (false, Request::Model(request)) = (ceilings.is_empty(), request)
            && let Some((said, help)) = self.beyond_limits(request)
        {
            // Whoever starts a run looks at its models before. This is for those that nobody could know then.
            let key = self.core.frames.get(f).map(|f| f.key.clone());
            let location = self.step_of(f).map(|(_, step)| step.origin);
            let error = RunError { key, location, ..RunError::new("BUDGET_EXCEEDED", said) };
            self.finish(Err(error.help(help)));
            return false;
        }
        let next = self.reserve(request);
        let passes = |c: &Ceiling| c.spent.saturating_add(c.under_way).saturating_add(next) > c.limit;
        let Some(ceiling) = ceilings.into_iter().find(passes) else { return true };
        let mut said = format!("cost limit reached: {} of {} spent", Dollars(ceiling.spent), Dollars(ceiling.limit));
        if ceiling.under_way > 0 {
            said.push_str(&format!(", calls in progress may cost {}", Dollars(ceiling.under_way)));
        }
        said.push_str(&format!(", and the next call may cost {}", Dollars(next)));
        let key = self.core.frames.get(f).map(|f| f.key.clone());
        let location = self.step_of(f).map(|(_, step)| step.origin);
        let error = RunError { key, location, ..RunError::new("BUDGET_EXCEEDED", said) };
        let help = match ceiling.of_flow {
            true => "raise the limit, or lower `max_tokens` or a limit on iterations or items",
            false => "allow more with `--max-cost`, or lower `max_tokens` or a limit on iterations or items",
        };
        self.finish(Err(error.help(help)));
        false
    }

    /// The operator's, then those of the flows around a step.
    fn cost_ceilings(&self, f: FrameId) -> Vec<Ceiling> {
        let reserved = || self.core.pending.values().filter(|p| p.reserved > 0);
        let mut all = Vec::new();
        if let Some(limit) = self.core.flags.max_cost_micro {
            let spent = self.core.usage.cost_micro.saturating_add(self.core.assumed);
            let under_way = reserved().map(|p| p.reserved).fold(0, u64::saturating_add);
            all.push(Ceiling { limit, spent, under_way, of_flow: false });
        }
        let mut at = self.core.frames.get(f).map(|f| f.activation).filter(|_| self.prepared.limits_cost);
        while let Some((around, call)) = at.and_then(|a| Some((a, self.core.activations.call(a)?))) {
            at = call.caller;
            let Some(flow) = self.program.flow(call.flow) else { continue };
            let budget = flow.budget.as_ref().filter(|b| b.on_exceeded == OnExceeded::Abort);
            let Some(limit) = budget.and_then(|b| b.max_cost_micro) else { continue };
            let inside = reserved().filter(|p| self.is_inside(p.frame, around));
            let under_way = inside.map(|p| p.reserved).fold(0, u64::saturating_add);
            all.push(Ceiling { limit, spent: call.cost, under_way, of_flow: true });
        }
        all
    }

    /// What the limits of the flows around a step leave, in micro-dollars.
    pub fn room_of_money(&self, f: FrameId) -> Option<u64> {
        let ceilings = self.cost_ceilings(f).into_iter().filter(|ceiling| ceiling.of_flow);
        ceilings.map(|c| c.limit.saturating_sub(c.spent.saturating_add(c.under_way))).min()
    }

    /// Whether a frame belongs to a flow call, or to one beneath it.
    fn is_inside(&self, f: FrameId, around: ActivationId) -> bool {
        let same = |a: ActivationId| match (self.core.activations.call(a), self.core.activations.call(around)) {
            (Some(one), Some(other)) => std::ptr::eq(one, other),
            _ => false,
        };
        let mut at = self.core.frames.get(f).map(|f| f.activation);
        while let Some(activation) = at {
            if same(activation) {
                return true;
            }
            at = self.core.activations.call(activation).and_then(|call| call.caller);
        }
        false
    }

    /// What a call counts as, for which so much was reserved: one whose cost is not known as what was expected.
    pub fn counted(&mut self, usage: Usage, reserved: u64) -> u64 {
        if usage.unpriced_calls == 0 {
            return usage.cost_micro;
        }
        self.core.assumed = self.core.assumed.saturating_add(reserved.saturating_sub(usage.cost_micro));
        usage.cost_micro.max(reserved)
    }

    /// Says once that the operator's limit was passed: calls that were in progress may have cost more than was expected.
    pub fn tell_cost(&mut self, f: FrameId, usage: Usage) {
        let Some(limit) = self.core.flags.max_cost_micro else { return };
        let now = self.core.usage.cost_micro;
        if now.saturating_sub(usage.cost_micro) <= limit
            && now > limit
            && let Some((_, step)) = self.step_of(f)
            && let Some(key) = self.core.frames.get(f).map(|f| f.base.clone())
        {
            self.note(&key, step.origin, EventKind::Warning { message: exceeded(now, limit) });
        }
    }
}

/// What to say of a limit that was passed.
pub fn exceeded(spent: u64, limit: u64) -> String {
    format!("cost limit exceeded: {} spent, limit is {}", Dollars(spent), Dollars(limit))
}

/// What a call is expected to cost: nearly a third is added to its prompt, because nobody counts exactly.
fn expected(price: &Price, request: &ModelRequest) -> u64 {
    let input = estimate::cautious_tokens(request.bytes()).saturating_add(beside(request));
    price.at_most(input, estimate::answer(request.parameters.max_tokens))
}

/// The most that a call can cost: a token is a byte at least, no answer is longer than `max_tokens`, and neither a prompt nor an
/// answer is longer than the model's context window. None: nobody knows.
fn at_most(price: &Price, request: &ModelRequest, window: Option<u64>) -> Option<u64> {
    if price.is_free() {
        return Some(0);
    }
    // What a provider is told in its own words may add to the prompt and lift the limit of the answer, what stands for a
    // secret may be as long as it likes, and each provider counts images its own way. Then only the window is left.
    let options = request.parameters.provider_options.is_some();
    let unknown = |content: &Value| content.is_masked() || blocks::of(content).is_some();
    let known = !options && !request.messages.iter().any(|m| unknown(&m.content));
    let words = if request.schema.is_some() { estimate::SCHEMA } else { 0 };
    let input = known.then(|| request.bytes().saturating_add(beside(request)).saturating_add(words));
    let output = request.parameters.max_tokens.filter(|_| !options).map(u64::from);
    let least = |known: Option<u64>| known.into_iter().chain(window).min();
    Some(price.at_most(least(input)?, least(output)?))
}

/// Tokens that messages have beside their texts.
fn beside(request: &ModelRequest) -> u64 {
    (request.messages.len() as u64).saturating_mul(estimate::MESSAGE)
}
