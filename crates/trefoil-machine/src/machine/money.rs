//! Cost limits: the operator's, and those of flows. The possible cost of a call is reserved before it starts, so that
//! concurrent calls cannot all spend the same remainder. Everything comes from the journal: prices from its first
//! entry, costs from completions.

use trefoil_ir::StepKind;
use trefoil_ir::prices::{Dollars, Price, estimate};
use trefoil_template::Value;

use super::activation::FlowCall;
use super::frame::{Doing, FrameId};
use super::turn::Turn;
use crate::blocks;
use crate::error::{Raise, RunError};
use crate::event::EventKind;
use crate::journal::{Flags, Reserve};
use crate::request::{ModelRequest, Request, Usage};

/// A limit that fails the run, in micro-dollars.
struct Ceiling {
    limit: u64,
    /// The amount spent, including the possible cost of calls in progress.
    spent: u64,
    under_way: u64,
    /// Whether it belongs to a flow; otherwise it is the operator's.
    of_flow: bool,
}

/// The reservation for a call under a cost limit, in micro-dollars.
pub fn may_cost(flags: &Flags, request: &ModelRequest) -> u64 {
    // It is not known yet which of the models will answer.
    let costs = flags.candidates(request.provider.as_deref(), &request.model).filter_map(|(_, price, window)| {
        let price = price?;
        match flags.spec.reserve() {
            Reserve::Estimate => Some(expected(price, request)),
            Reserve::Bound => at_most(price, request, window),
        }
    });
    costs.max().unwrap_or(0)
}

impl Turn<'_> {
    /// The reservation for a call, in micro-dollars. 0 if there is no cost limit.
    pub fn reserve(&self, request: &Request) -> u64 {
        let limited = self.core.flags.spec.max_cost_micro.is_some() || self.prepared.limits_cost;
        let (Request::Model(request), true) = (request, limited) else { return 0 };
        may_cost(&self.core.flags, request)
    }

    /// Why no cost limit can apply to a call, and what to do about it.
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
            if flags.spec.reserve() == Reserve::Bound && at_most(price, request, window).is_none() {
                let said = format!(
                    "a strict cost limit cannot be enforced: the maximum cost of a call of `{name}` is unknown"
                );
                return Some((said, "set `max_tokens`, or use `--reserve estimate`"));
            }
            None
        })
    }

    /// Why a call may not start, if it might pass a limit that fails the run. Gentler limits are looked at when the call has ended.
    pub fn over_money(&self, f: FrameId, request: &Request) -> Option<RunError> {
        let ceilings = self.cost_ceilings(f);
        if let (false, Request::Model(request)) = (ceilings.is_empty(), request)
            && let Some((said, help)) = self.beyond_limits(request)
        {
            // The models of a run are checked before its start. This handles those that were not known then.
            let key = self.core.frames.get(f).map(|f| f.key.clone());
            let location = self.step_of(f).map(|(_, step)| step.origin);
            let error = RunError::new("BUDGET_EXCEEDED", said).at_step(key, location);
            return Some(error.help(help));
        }
        let next = self.reserve(request);
        let passes = |c: &Ceiling| c.spent.saturating_add(c.under_way).saturating_add(next) > c.limit;
        let ceiling = ceilings.into_iter().find(passes)?;
        let mut said = format!("cost limit reached: {} of {} spent", Dollars(ceiling.spent), Dollars(ceiling.limit));
        if ceiling.under_way > 0 {
            said.push_str(&format!(", calls in progress may cost {}", Dollars(ceiling.under_way)));
        }
        said.push_str(&format!(", and the next call may cost {}", Dollars(next)));
        let key = self.core.frames.get(f).map(|f| f.key.clone());
        let location = self.step_of(f).map(|(_, step)| step.origin);
        let error = RunError::new("BUDGET_EXCEEDED", said).at_step(key, location);
        // Those beside it start in the same moment: with less, the run would stop again before any of them is made. They may cost more
        // than this one.
        let beside = match self.calls_at_once(f) {
            1 => next,
            calls => next.saturating_mul(calls).saturating_mul(3) / 2,
        };
        let needed = ceiling.spent.saturating_add(beside.max(ceiling.under_way.saturating_add(next)));
        Some(match ceiling.of_flow {
            true => error.help("raise the limit, or lower `max_tokens` or a limit on iterations or items"),
            false => error
                .help("allow more with `--max-cost`, or lower `max_tokens` or a limit on iterations or items")
                .raising(Raise::cost(ceiling.limit, needed)),
        })
    }

    /// The number of calls like one of this step that the fan-outs around it make at the same time.
    fn calls_at_once(&self, f: FrameId) -> u64 {
        let mut calls: u64 = 1;
        let mut at = Some(f);
        while let Some(id) = at {
            let Some(frame) = self.core.frames.get(id) else { break };
            if let (Doing::ForEach(items), Some((_, step))) = (&frame.doing, self.step_of(id))
                && let StepKind::ForEach(each) = &step.kind
            {
                calls = calls.saturating_mul(items.at_once(each).into());
            }
            at = frame.parent;
        }
        calls
    }

    /// The operator's limit, then those of the flows around a step.
    fn cost_ceilings(&self, f: FrameId) -> Vec<Ceiling> {
        let reserved = || self.core.pending.values().filter(|p| p.reserved > 0);
        let mut all = Vec::new();
        if let Some(limit) = self.core.flags.spec.max_cost_micro {
            let spent = self.core.usage.cost_micro.saturating_add(self.core.assumed);
            let under_way = reserved().map(|p| p.reserved).fold(0, u64::saturating_add);
            all.push(Ceiling { limit, spent, under_way, of_flow: false });
        }
        for (call, budget) in self.strict_budgets(f).filter(|_| self.prepared.limits_cost) {
            let Some(limit) = budget.max_cost_micro else { continue };
            let inside = reserved().filter(|p| self.is_inside(p.frame, call));
            let under_way = inside.map(|p| p.reserved).fold(0, u64::saturating_add);
            all.push(Ceiling { limit, spent: call.used.cost, under_way, of_flow: true });
        }
        all
    }

    /// The remainder under the limits of the flows around a step, in micro-dollars.
    pub fn room_of_money(&self, f: FrameId) -> Option<u64> {
        let ceilings = self.cost_ceilings(f).into_iter().filter(|ceiling| ceiling.of_flow);
        ceilings.map(|c| c.limit.saturating_sub(c.spent.saturating_add(c.under_way))).min()
    }

    /// Whether a frame belongs to a flow call, or to one nested in it.
    fn is_inside(&self, f: FrameId, around: &FlowCall) -> bool {
        self.calls_around(f).any(|call| std::ptr::eq(call, around))
    }

    /// The amount counted for a call with this reservation: its cost, or the expected cost if the cost is unknown.
    pub fn counted(&mut self, usage: Usage, reserved: u64) -> u64 {
        if usage.unpriced_calls == 0 {
            return usage.cost_micro;
        }
        self.core.assumed = self.core.assumed.saturating_add(reserved.saturating_sub(usage.cost_micro));
        usage.cost_micro.max(reserved)
    }

    /// Reports once that the operator's limit was exceeded, because calls in progress may cost more than expected.
    pub fn tell_cost(&mut self, f: FrameId, usage: Usage) {
        let Some(limit) = self.core.flags.spec.max_cost_micro else { return };
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

/// The message about an exceeded limit.
pub fn exceeded(spent: u64, limit: u64) -> String {
    format!("cost limit exceeded: {} spent, limit is {}", Dollars(spent), Dollars(limit))
}

/// The expected cost of a call. Nearly a third is added to its prompt, because token counts are estimates.
fn expected(price: &Price, request: &ModelRequest) -> u64 {
    let input = estimate::cautious_tokens(request.bytes()).saturating_add(beside(request));
    price.at_most(input, estimate::answer(request.parameters.max_tokens))
}

/// The maximum cost of a call: a token has at least one byte, no answer is longer than `max_tokens`, and neither prompt
/// nor answer is longer than the model's context window. `None`: unknown.
fn at_most(price: &Price, request: &ModelRequest, window: Option<u64>) -> Option<u64> {
    if price.is_free() {
        return Some(0);
    }
    // Provider options may add to the prompt and raise the limit of the answer, the value of a secret may have any
    // length, and each provider counts images differently. Then only the context window limits the cost.
    let options = request.parameters.provider_options.is_some();
    let unknown = |content: &Value| content.is_masked() || blocks::of(content).is_some();
    let known = !options && !request.messages.iter().any(|m| unknown(&m.content));
    let words = if request.schema.is_some() { estimate::SCHEMA } else { 0 };
    let input = known.then(|| request.bytes().saturating_add(beside(request)).saturating_add(words));
    let output = request.parameters.max_tokens.filter(|_| !options).map(u64::from);
    let least = |known: Option<u64>| known.into_iter().chain(window).min();
    Some(price.at_most(least(input)?, least(output)?))
}

/// The tokens of messages in addition to their texts.
fn beside(request: &ModelRequest) -> u64 {
    (request.messages.len() as u64).saturating_mul(estimate::MESSAGE)
}
