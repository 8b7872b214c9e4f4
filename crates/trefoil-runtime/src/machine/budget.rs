//! Spending, and the ceilings on it. Everything is derived from completions, so a resumed run has forgotten nothing.

use trefoil_ir::{Budget, OnExceeded, StepKind};
use trefoil_template::Value;

use super::frame::FrameId;
use super::turn::Turn;
use crate::error::RunError;
use crate::event::EventKind;
use crate::request::Usage;

impl Turn<'_> {
    /// Books what a completed effect spent. False: a ceiling ended the run.
    pub fn spend(&mut self, f: FrameId, usage: Option<Usage>) -> bool {
        let usage = usage.unwrap_or_default();
        self.core.usage.add(usage);
        if let Some(frame) = self.core.frames.get_mut(f) {
            frame.usage.add(usage);
        }
        let Some((_, step)) = self.step_of(f) else { return true };
        if !matches!(step.kind, StepKind::Model(_)) {
            return true;
        }
        let now = self.core.now_ms;
        let mut at = self.core.frames.get(f).map(|f| f.activation);
        while let Some(call) = at.and_then(|a| self.core.activations.call_mut(a)) {
            call.tokens = call.tokens.saturating_add(usage.total());
            call.calls += 1;
            at = call.caller;
            let Some(budget) = self.program.flow(call.flow).and_then(|f| f.budget.as_ref()) else { continue };
            let Some((bit, text)) = exceeded(budget, call.tokens, call.calls, now.saturating_sub(call.began_ms)) else {
                continue;
            };
            let said = call.warned & bit != 0;
            call.warned |= bit;
            call.skipping |= budget.on_exceeded == OnExceeded::SkipRemaining;
            if budget.on_exceeded == OnExceeded::Abort {
                let mut error = RunError::new("BUDGET_EXCEEDED", text);
                error.key = self.core.frames.get(f).map(|f| f.key.clone());
                error.location = Some(step.origin);
                self.finish(Err(error));
                return false;
            }
            if !said && let Some(key) = self.core.frames.get(f).map(|f| f.base.clone()) {
                self.note(&key, step.origin, EventKind::Warning { message: text });
            }
        }
        true
    }

    /// Whether graph nodes of a frame's flow are skipped from now on.
    pub fn skips_remaining(&self, f: FrameId) -> bool {
        let frame = self.core.frames.get(f);
        frame.and_then(|f| self.core.activations.call(f.activation)).is_some_and(|c| c.skipping)
    }
}

/// The first ceiling that is passed: its bit, and what to say.
fn exceeded(budget: &Budget, tokens: u64, calls: u64, elapsed_ms: u64) -> Option<(u8, String)> {
    if let Some(limit) = budget.max_tokens.filter(|limit| tokens > *limit) {
        return Some((1, format!("token ceiling exceeded: {tokens} tokens used, limit is {limit}")));
    }
    if let Some(limit) = budget.max_calls.filter(|limit| calls > *limit) {
        return Some((2, format!("call ceiling exceeded: {calls} model calls made, limit is {limit}")));
    }
    let limit = budget.max_duration_ms.filter(|limit| elapsed_ms > *limit)?;
    let seconds = |ms: u64| Value::from(ms as f64 / 1000.0).to_text();
    let text = format!("duration ceiling exceeded: {}s elapsed, limit is {}s", seconds(elapsed_ms), seconds(limit));
    Some((4, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ceiling_is_passed_only_beyond_it() {
        let budget = Budget {
            max_tokens: Some(10),
            max_duration_ms: Some(50),
            max_calls: Some(2),
            on_exceeded: OnExceeded::Warn,
        };
        assert_eq!(exceeded(&budget, 10, 2, 50), None);
        assert_eq!(exceeded(&budget, 11, 3, 51).map(|e| e.0), Some(1));
        assert_eq!(exceeded(&budget, 0, 3, 51).map(|e| e.0), Some(2));
        let (_, text) = exceeded(&budget, 0, 0, 80).unwrap();
        assert_eq!(text, "duration ceiling exceeded: 0.08s elapsed, limit is 0.05s");
    }
}
