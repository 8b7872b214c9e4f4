//! Usage and its limits. Everything is derived from completions, so a resumed run has the same state.

use trefoil_ir::{Budget, FlowDefinition, FlowId, OnExceeded, StepKind};
use trefoil_syntax::Location;
use trefoil_template::Value;

use super::activation::ActivationCall;
use super::ceiling::{HardLimit, limits_of};
use super::frame::{FrameId, FrameTarget};
use super::turn::{ActivityPurpose, MachineTurn, PendingActivity};
use super::{MachineCommand, MachineEvent, certain_calls, cost_limits, remaining_needs};
use crate::error::RunError;
use crate::event::EventKind;
use crate::key::Key;
use crate::request::{Activity, ModelRequest, Request, Usage};
use crate::run_limits::{LimitKind, RunLimits, UsedAmounts};

/// What else helps than a higher limit.
const ITEMS: &str = "a limit on iterations or items";
/// The bit of the time limit among the reported limits.
const TIME: u8 = 4;

impl MachineTurn<'_> {
    /// Adds the usage of a completed effect. `reused`: the usage of a reused result in the run that it is from; `reserved`: the
    /// effect's reservation; `begun`: whether it was started at all. False: a limit ended the run.
    pub fn spend_usage(
        &mut self,
        f: FrameId,
        (usage, reused): (Option<Usage>, Option<Usage>),
        (reserved, begun): (u64, bool),
    ) -> bool {
        let reused = if self.core.flags.reuses { reused } else { None };
        // Only models, and tools that call models, have usage.
        let uses = usage.is_some() || reused.is_some();
        let usage = usage.unwrap_or_default();
        self.core.usage.add_usage(usage);
        if let Some(frame) = self.core.frames.get_mut(f) {
            frame.usage.add_usage(usage);
            if let Some(reused) = reused {
                frame.kept_tokens = frame.kept_tokens.saturating_add(reused.total_tokens());
            }
        }
        let cost = self.counted_cost(usage, reserved);
        self.tell_cost(f, usage);
        let Some((_, step)) = self.step_of(f) else { return true };
        let is_model = matches!(step.kind, StepKind::Model(_));
        if !is_model && !uses {
            return true;
        }
        let now = self.core.clock.work_now();
        let counts = is_model && !self.is_same_call(f);
        let calls = |counts: bool| UsedAmounts { calls: u64::from(counts), ..UsedAmounts::default() };
        let own = UsedAmounts { cost_micro: cost, ..usage.used_amounts() }.sum_with(calls(counts && begun));
        let kept = match reused {
            Some(reused) => reused.used_amounts().sum_with(calls(counts)),
            None => UsedAmounts::default(),
        };
        let mut next = self.activation_of(f);
        while let Some(activation) = next
            && let Some(call) = self.core.activations.flow_call_mut(activation)
        {
            (call.used, call.kept) = (call.used.sum_with(own), call.kept.sum_with(kept));
            call.asked = call.asked.saturating_add(usage.calls_beneath);
            next = call.caller;
            let Some(budget) = &self.program.flows[call.flow].budget else { continue };
            // Whether nodes are skipped decides what the result is, which must be that of a run from scratch.
            let used = match budget.on_exceeded {
                OnExceeded::SkipRemaining => call.used.sum_with(call.kept),
                OnExceeded::Abort | OnExceeded::Warn => call.used,
            };
            let Some((bit, text)) = exceeded(budget, used, now.ms_since(call.began)) else {
                continue;
            };
            let said = call.warned & bit != 0;
            call.warned |= bit;
            call.skipping |= budget.on_exceeded == OnExceeded::SkipRemaining;
            if budget.on_exceeded == OnExceeded::Abort {
                let mut error = RunError::new("BUDGET_EXCEEDED", text);
                error.key = self.key_of(f);
                error.location = Some(step.origin);
                self.finish_run(Err(error));
                return false;
            }
            if !said && let Some(frame) = self.core.frames.get(f) {
                let key = frame.base.clone();
                self.emit_event(&key, step.origin, EventKind::Warning { message: text });
            }
        }
        true
    }

    /// Whether the current try belongs to a call that was already counted.
    pub fn is_same_call(&self, f: FrameId) -> bool {
        matches!(self.extras_of(f), Some(extras) if extras.same_call)
    }

    /// Counts a model call about to be made. False: it would exceed a limit that fails the run, so the run ended before the call.
    /// Limits that do not fail the run are checked after the call.
    pub fn may_ask(&mut self, f: FrameId, request: &Request) -> bool {
        // The coordinator first looks for a result of an earlier run.
        if self.core.flags.reuses {
            return true;
        }
        if let Some(error) = self.over_limits(f, request) {
            self.finish_run(Err(error));
            return false;
        }
        self.count_call(f);
        true
    }

    /// Starts a requested activity, now or according to the journal: from here on it counts. `checks`: whether a limit that fails
    /// the run is checked first.
    pub fn begin_asked(&mut self, activity: &Activity, checks: bool) {
        let Some(pending) = self.core.pending.get(&activity.key) else { return };
        if pending.begun {
            return;
        }
        let f = pending.frame;
        if matches!(activity.request, Request::Model(_)) {
            if checks && let Some(error) = self.over_limits(f, &activity.request) {
                return self.finish_run(Err(error));
            }
            self.count_call(f);
        }
        let reserved = self.reservation_for(&activity.request);
        if let Some(pending) = self.core.pending.get_mut(&activity.key) {
            (pending.begun, pending.reserved) = (true, reserved);
        }
    }

    /// The error if a model call would exceed a limit that fails the run.
    fn over_limits(&self, f: FrameId, request: &Request) -> Option<RunError> {
        let ceilings = self.ceilings(f);
        if let Some(error) = self.without_bound(f, &ceilings, request) {
            return Some(error);
        }
        let next = |kind| match kind {
            LimitKind::Calls => 1,
            LimitKind::Cost => self.reservation_for(request),
            // Nobody knows. Whoever exceeds such a limit ends the run, so this is one that was resumed.
            LimitKind::Tokens => 0,
        };
        let is_counted = self.is_same_call(f);
        let ceiling = ceilings.iter().find(|ceiling| {
            let counts = ceiling.kind != LimitKind::Calls || !is_counted;
            counts && ceiling.used.saturating_add(ceiling.reserved).saturating_add(next(ceiling.kind)) > ceiling.limit
        })?;
        Some(match ceiling.kind {
            LimitKind::Calls => {
                let what = match ceiling.limit {
                    0 => "no model calls are allowed".to_owned(),
                    1 => "1 of 1 model call used".to_owned(),
                    limit => format!("{limit} of {limit} model calls used"),
                };
                let said = format!("call limit reached: {what}{}", self.came_of_them());
                self.limit_error(f, ceiling, (1, None), said, ITEMS)
            }
            LimitKind::Cost => self.over_cost(f, ceiling, next(ceiling.kind), request),
            LimitKind::Tokens => {
                self.limit_error(f, ceiling, (0, None), too_many_tokens(ceiling.used, ceiling.limit), ITEMS)
            }
        })
    }

    /// The key of a frame.
    pub fn key_of(&self, f: FrameId) -> Option<Key> {
        Some(self.core.frames.get(f)?.key.clone())
    }

    /// The place of the step of a frame.
    pub fn origin_of(&self, f: FrameId) -> Option<Location> {
        let (_, step) = self.step_of(f)?;
        Some(step.origin)
    }

    /// The innermost call of a flow around a step.
    fn call_around(&self, f: FrameId) -> Option<&ActivationCall> {
        self.core.activations.flow_call(self.activation_of(f)?)
    }

    /// The calls of flows around a step, the innermost first.
    pub fn calls_around(&self, f: FrameId) -> impl Iterator<Item = &ActivationCall> {
        std::iter::successors(self.call_around(f), |call| self.core.activations.flow_call(call.caller?))
    }

    /// Those of them with a budget that fails the run.
    pub fn strict_budgets(&self, f: FrameId) -> impl Iterator<Item = (&ActivationCall, &Budget)> {
        self.calls_around(f).filter_map(|call| match &self.program.flows[call.flow].budget {
            Some(budget) if budget.on_exceeded == OnExceeded::Abort => Some((call, budget)),
            _ => None,
        })
    }

    fn count_call(&mut self, f: FrameId) {
        if self.is_same_call(f) {
            return;
        }
        let mut next = self.activation_of(f);
        while let Some(activation) = next
            && let Some(call) = self.core.activations.flow_call_mut(activation)
        {
            call.asked += 1;
            next = call.caller;
        }
    }

    /// Ends the run if a list of items needs more calls than are left, before any of them is made. An item that fails
    /// before its call would not need it, but the limit is reported anyway.
    pub fn may_call_for(&mut self, f: FrameId, items: u32, body: FlowId) -> bool {
        // It is not known yet which of them will be made.
        if self.core.flags.reuses {
            return true;
        }
        let is_short =
            |ceiling: &HardLimit| ceiling.kind == LimitKind::Calls && u64::from(items) > ceiling.amount_left();
        let Some(ceiling) = self.ceilings(f).into_iter().find(is_short) else { return true };
        if !certain_calls::always_calls_model(self.program, body) {
            return true;
        }
        let left = match (ceiling.used, ceiling.limit) {
            (0, limit) => format!("the limit is {limit}"),
            (_, limit) => format!("only {} of {limit} are left", ceiling.amount_left()),
        };
        let said = format!("call limit reached: {items} items need at least {items} model calls, but {left}");
        let needed = remaining_needs::calls_for(self.program, self.core, items, body).max(items.into());
        let error = self.limit_error(f, &ceiling, (needed, None), said, ITEMS);
        self.finish_run(Err(error));
        false
    }

    /// The limits that fail the run, for a step: the operator's, then those of the flows around it, the innermost first.
    fn ceilings(&self, f: FrameId) -> Vec<HardLimit> {
        let reserved = |kind, around: Option<&ActivationCall>| match (kind, around) {
            (LimitKind::Cost, Some(call)) => self.core.reserved_cost(|pending| self.is_inside(pending.frame, call)),
            (LimitKind::Cost, None) => self.core.reserved_cost(|_| true),
            (LimitKind::Calls | LimitKind::Tokens, _) => 0,
        };
        let mut ceilings = Vec::new();
        let used = self.core.used_amounts();
        for (kind, limit) in self.core.flags.spec.limits.limit_rows() {
            let (used, reserved) = (used.get(kind), reserved(kind, None));
            ceilings.push(HardLimit { kind, limit, used, reserved, of_flow: false, at: None });
        }
        for (call, budget) in self.strict_budgets(f) {
            let used = UsedAmounts { calls: call.asked, ..call.used };
            for (kind, limit) in limits_of(budget).limit_rows() {
                let at = if kind == LimitKind::Calls { budget.calls_at } else { None };
                let (used, reserved) = (used.get(kind), reserved(kind, Some(call)));
                ceilings.push(HardLimit { kind, limit, used, reserved, of_flow: true, at });
            }
        }
        ceilings
    }

    /// Whether a frame belongs to a flow call, or to one nested in it.
    fn is_inside(&self, f: FrameId, around: &ActivationCall) -> bool {
        self.calls_around(f).any(|call| std::ptr::eq(call, around))
    }

    /// What may still be used before a limit of an enclosing flow fails the run. Does not include the operator's
    /// limits, which apply to all runs of a tree together.
    pub fn remaining_limits(&self, f: FrameId) -> RunLimits {
        let ceilings = self.ceilings(f);
        let of_flows = |kind| ceilings.iter().filter(move |ceiling| ceiling.of_flow && ceiling.kind == kind);
        RunLimits::from_fn(|kind| of_flows(kind).map(HardLimit::amount_left).min())
    }

    /// The error of a run that a limit ends. `next`: how much is needed now, and the request that needs it. `lower`: what else helps.
    pub fn limit_error(
        &self,
        f: FrameId,
        ceiling: &HardLimit,
        (next, request): (u64, Option<&ModelRequest>),
        said: String,
        lower: &str,
    ) -> RunError {
        let HardLimit { kind, limit, used, reserved, .. } = *ceiling;
        let location = ceiling.at.or(self.origin_of(f));
        let error = RunError::new("BUDGET_EXCEEDED", said).at_step(self.key_of(f), location);
        if kind == LimitKind::Cost
            && !ceiling.of_flow
            && let Some(budget) = self.core.flags.spec.cost_budget
        {
            return budget.explain_limit(error);
        }
        match kind.option_name() {
            Some(option) if !ceiling.of_flow => {
                let later = remaining_needs::still_needed(self.program, self.core, Some(f), request).get(kind);
                let needed = used.saturating_add(reserved).saturating_add(next).saturating_add(later);
                error
                    .with_help(format!("allow more with `{option}`, or lower {lower}"))
                    .with_raise(RunLimits::with_raised_limit(kind, limit, needed))
            }
            _ => error.with_help(format!("raise the limit, or lower {lower}")),
        }
    }

    /// The outcomes of the calls that were started: `; 2 answered, 1 stopped on its way`.
    fn came_of_them(&self) -> String {
        let (mut open, mut not_begun) = (0, 0);
        for pending in self.core.pending.values() {
            if pending.purpose != ActivityPurpose::Effect || !self.is_model_call(pending.frame) {
                continue;
            }
            open += 1;
            not_begun += u64::from(!pending.begun);
        }
        let mut asked = 0;
        for command in &self.core.output.commands {
            if let MachineCommand::Start(activity) = command
                && matches!(activity.request, Request::Model(_))
            {
                asked += 1;
            }
        }
        // A call that is started and cancelled in the same turn is never sent.
        let unsent = not_begun.max(asked).min(open);
        let answered = self.core.answered;
        let failed = self.core.calls.saturating_sub(answered).saturating_sub(open);
        let parts = [
            (answered, "answered"),
            (failed, "failed"),
            (open - unsent, "stopped before it was answered"),
            (unsent, "not sent"),
        ];
        let mut told = Vec::new();
        for (count, what) in parts {
            if count > 0 {
                told.push(format!("{count} {what}"));
            }
        }
        if told.is_empty() { String::new() } else { format!("; {}", told.join(", ")) }
    }

    fn is_model_call(&self, f: FrameId) -> bool {
        matches!(self.step_of(f), Some((_, step)) if matches!(step.kind, StepKind::Model(_)))
    }

    /// Starts the timer of a flow call that has started, if its budget has a time limit, because a call in progress
    /// must not exceed it.
    pub fn watch_time(&mut self, f: FrameId, flow: &FlowDefinition) {
        let Some(budget) = &flow.budget else { return };
        let Some(limit) = budget.max_duration_ms else { return };
        // The limit is exceeded after it, not at it.
        let request = self.limit_timer(limit.saturating_add(1));
        let key = self.own_activity(f, ActivityPurpose::Budget, request, |path, above| {
            path.push_own_name("budget", above);
        });
        if let Some(frame) = self.core.frames.get_mut(f) {
            frame.extras.get_or_insert_default().budget = key;
        }
    }

    /// The time limit of a flow call's budget has passed.
    pub fn out_of_time(&mut self, f: FrameId) {
        let Some(frame) = self.core.frames.get_mut(f) else { return };
        if let Some(extras) = frame.extras.as_deref_mut() {
            extras.budget = None;
        }
        let (FrameTarget::Flow(id), activation) = (frame.what, frame.activation) else { return };
        let flow = &self.program.flows[id];
        let Some(budget) = &flow.budget else { return };
        let Some(limit) = budget.max_duration_ms else { return };
        let now = self.core.clock.work_now();
        let Some(call) = self.core.activations.flow_call_mut(activation) else { return };
        let text = too_long(now.ms_since(call.began), limit);
        let said = call.warned & TIME != 0;
        call.warned |= TIME;
        call.skipping |= budget.on_exceeded == OnExceeded::SkipRemaining;
        let (key, location) = self.at_work(f).unzip();
        let location = location.or(Some(flow.origin));
        if budget.on_exceeded == OnExceeded::Abort {
            return self.finish_run(Err(RunError::new("BUDGET_EXCEEDED", text).at_step(key, location)));
        }
        if !said {
            self.core.output.events.push(MachineEvent { key, location, kind: EventKind::Warning { message: text } });
        }
    }

    /// An effect in progress under a frame; the one with the first key, so that the result does not depend on timing.
    fn at_work(&self, f: FrameId) -> Option<(Key, Location)> {
        let is_wanted =
            |pending: &PendingActivity| pending.purpose == ActivityPurpose::Effect && self.is_beneath(pending.frame, f);
        let effects = self.core.pending.iter().filter(|(_, pending)| is_wanted(pending));
        let (key, pending) = effects.min_by_key(|(key, _)| *key)?;
        Some((key.clone(), self.origin_of(pending.frame)?))
    }

    /// Whether a frame is another one, or under it.
    fn is_beneath(&self, mut f: FrameId, top: FrameId) -> bool {
        while f != top {
            let Some(parent) = self.parent_of(f) else { return false };
            f = parent;
        }
        true
    }

    /// Whether graph nodes of a frame's flow are skipped from now on.
    pub fn skips_remaining(&self, f: FrameId) -> bool {
        matches!(self.call_around(f), Some(call) if call.skipping)
    }
}

/// The first exceeded limit: its bit, and the message.
fn exceeded(budget: &Budget, used: UsedAmounts, elapsed_ms: u64) -> Option<(u8, String)> {
    let UsedAmounts { tokens, calls, cost_micro: cost } = used;
    if let Some(limit) = budget.max_tokens
        && tokens > limit
    {
        return Some((1, too_many_tokens(tokens, limit)));
    }
    if let Some(limit) = budget.max_calls
        && calls > limit
    {
        return Some((2, format!("call limit exceeded: {calls} of {limit} model calls used")));
    }
    if let Some(limit) = budget.max_cost_micro
        && cost > limit
    {
        return Some((8, cost_limits::cost_exceeded_message(cost, limit)));
    }
    match budget.max_duration_ms {
        Some(limit) if elapsed_ms > limit => Some((TIME, too_long(elapsed_ms, limit))),
        _ => None,
    }
}

fn too_many_tokens(tokens: u64, limit: u64) -> String {
    format!("token ceiling exceeded: {tokens} tokens used, limit is {limit}")
}

fn too_long(elapsed_ms: u64, limit_ms: u64) -> String {
    let seconds = |ms: u64| Value::from(ms as f64 / 1000.0).to_text();
    format!("duration ceiling exceeded: {}s elapsed, limit is {}s", seconds(elapsed_ms), seconds(limit_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_ceiling_is_passed_only_beyond_it() {
        let budget = Budget {
            max_tokens: Some(10),
            max_duration_ms: Some(50),
            max_calls: Some(2),
            calls_at: None,
            max_cost_micro: Some(1_500),
            on_exceeded: OnExceeded::Warn,
        };
        let passed =
            |tokens, calls, cost, elapsed| exceeded(&budget, UsedAmounts { tokens, calls, cost_micro: cost }, elapsed);
        assert_eq!(passed(10, 2, 1_500, 50), None);
        assert_eq!(passed(11, 3, 1_501, 51).map(|e| e.0), Some(1));
        assert_eq!(passed(0, 3, 1_501, 51).map(|e| e.0), Some(2));
        let (_, text) = passed(0, 0, 1_501, 51).unwrap();
        expect!["cost limit exceeded: $0.00151 spent, limit is $0.0015"].assert_eq(&text);
        let (_, text) = passed(0, 0, 0, 80).unwrap();
        expect!["duration ceiling exceeded: 0.08s elapsed, limit is 0.05s"].assert_eq(&text);
    }
}
