//! What a run may use, together with the runs above and below it.

use std::sync::Arc;

use trefoil_machine::error::RunError;
use trefoil_machine::request::{Activity, Request};
use trefoil_machine::{LimitKind, UsedAmounts};

use super::RunCoordinator;
use crate::allowance::{LimitRefusal, Share};
use crate::facts::HostFacts;

impl RunCoordinator {
    /// Ends or stops the run if what it requests would exceed a limit.
    pub(super) fn compare_limits(&mut self, facts: &dyn HostFacts) -> Result<(), RunError> {
        let Some((error, waits)) = self.beyond_limits() else { return Ok(()) };
        if waits {
            self.stop_before_asked(&error, facts);
            return Err(error);
        }
        let output = self.machine.end_run(error);
        self.take_piece(output, facts);
        self.book_stopped(facts);
        self.begin_turn();
        Ok(())
    }

    /// Returns an error if the requested model calls and the usage of the runs above and below this one would together exceed a
    /// limit, and whether the run waits until that is raised.
    fn beyond_limits(&mut self) -> Option<(RunError, bool)> {
        if !self.has_parts && !self.allowance.is_of_call() {
            return None;
        }
        let now = self.settle();
        let Some(call) = self.asked.iter().find(|activity| matches!(activity.request, Request::Model(_))) else {
            self.allowance.report_total();
            return None;
        };
        let refusal = self.allowance.reserve_calls(now).err()?;
        // What this run needs after these calls. The runs above it say what they need themselves.
        let raise = refusal.raised_limits(self.machine.still_needed(Some(call)));
        let LimitRefusal { why, waits, kind, .. } = refusal;
        let location = Some(self.machine.prepared_program().program.steps[call.step].origin);
        let error = RunError::new("BUDGET_EXCEEDED", why).at_step(Some(call.key.clone()), location);
        if kind == LimitKind::Cost
            && let Some(budget) = self.machine.flags().spec.cost_budget
        {
            return Some((budget.explain_limit(error), false));
        }
        let help = match kind.option_name() {
            Some(option) if waits => format!("allow more with `{option}`"),
            _ => {
                let mut options = Vec::new();
                for kind in LimitKind::ALL {
                    if let Some(option) = kind.option_name() {
                        options.push(format!("`{option}`"));
                    }
                }
                format!(
                    "raise the limit of the run that was started: {}, or the one in its manifest",
                    options.join(", ")
                )
            }
        };
        Some((error.with_help(help).with_raise(raise), waits))
    }

    /// Updates the allowance with the run's current total and the open tool calls.
    fn settle(&mut self) -> UsedAmounts {
        let (limits, mut now) =
            (self.settings.limits.lower_limits(self.machine.flags().spec.limits), self.machine.used_amounts());
        // The machine of a run that reuses results does not know the limits, and reserves nothing.
        if limits.cost_micro.is_some() && !self.machine.reserves_cost() {
            now.cost_micro = now.cost_micro.saturating_add(self.may_cost(self.asked.iter()));
        }
        self.allowance.update_totals((limits, self.memo.is_some()), now, |key| {
            self.under_way.contains_key(key)
                || self.winding.iter().any(|(_, activity)| activity.key == *key)
                || self.starting.iter().any(|activity| activity.key == *key)
        });
        now
    }

    /// What these model calls and those in progress may cost.
    pub(super) fn may_cost<'a>(&'a self, next: impl Iterator<Item = &'a Arc<Activity>>) -> u64 {
        let under_way = self.under_way.values().map(|one| &one.activity);
        let mut cost: u64 = 0;
        for activity in self.starting.iter().chain(under_way).chain(self.queue.waiting_calls()).chain(next) {
            cost = cost.saturating_add(self.machine.may_cost(activity));
        }
        cost
    }

    /// The share of the allowance that a tool call gets.
    pub(super) fn create_share(&mut self, activity: &Arc<Activity>) -> Option<Box<Share>> {
        if !matches!(activity.request, Request::Tool(_)) {
            return None;
        }
        self.has_parts = true;
        let _ = self.settle();
        let counted = self.settings.counted.get(&activity.key).copied().unwrap_or_default();
        let room = self.machine.remaining_limits(&activity.key);
        Some(Box::new(self.allowance.create_share(&activity.key, room, counted)))
    }
}
