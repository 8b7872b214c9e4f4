//! The outcome of a run: its result as it is, what of it must not be shown, and what it has used.

use trefoil_template::Value;

use super::RunOutcome;
use super::turns::Driver;
use trefoil_machine::error::RunError;
use trefoil_machine::event::Waiting;
use trefoil_machine::private::{HIDDEN, HiddenParts, PrivateValue};
use trefoil_machine::request::{Request, Usage};

impl Driver {
    /// What to say about a result in which a secret was replaced on its way.
    pub(super) fn changed(&self, result: &Value) -> Vec<String> {
        if self.replaced.is_empty() || !has_hidden(result) {
            return Vec::new();
        }
        let names = self.replaced.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        vec![format!("the result contains `***` where a model or a tool returned the value of {names}")]
    }

    /// The outcome so far, with what has been used.
    pub(super) fn outcome(&self, result: Result<PrivateValue, RunError>, waiting: Vec<Waiting>) -> RunOutcome {
        // Calls without a written entry and calls in the queue were not sent.
        let starting = self.starting.iter().map(|(activity, _)| activity);
        let unsent = self.asked.iter().chain(starting).chain(self.queue.calls());
        let unsent = unsent.filter(|a| matches!(a.request, Request::Model(_)) && !a.again).count() as u64;
        let (mut usage, called) = (self.machine.usage(), self.used_by_waiting_calls());
        let calls = self.machine.calls().saturating_sub(unsent).saturating_add(called.calls_beneath);
        usage.add(called);
        // If the run has not ended, the usage of its open calls is unknown. A resume counts them as lost.
        let cut_off = self.under_way.values().map(|one| &one.activity);
        for activity in cut_off.filter(|activity| matches!(activity.request, Request::Model(_))) {
            usage.add(self.machine.priced(activity, Usage::unknown(), None));
        }
        let (run, duration_ms) = (self.world.watch.run.clone(), self.world.watch.worked_ms());
        let continues = !waiting.is_empty();
        let suspended = continues || self.is_suspended;
        let (result, hidden) = parts(result);
        RunOutcome {
            run,
            result,
            hidden,
            warnings: Vec::new(),
            waiting,
            suspended,
            continues,
            items: self.machine.failed_items(),
            usage,
            calls,
            duration_ms,
        }
    }
}

/// Whether `***` occurs in a value.
fn has_hidden(value: &Value) -> bool {
    match value {
        Value::Str(text) => text.contains(HIDDEN),
        Value::List(items) => items.iter().any(has_hidden),
        Value::Object(members) => members.iter().any(|(name, value)| name.contains(HIDDEN) || has_hidden(value)),
        _ => false,
    }
}

/// The result, and its parts that must not be shown.
pub(super) fn parts(result: Result<PrivateValue, RunError>) -> (Result<Value, RunError>, HiddenParts) {
    match result {
        Ok(value) => {
            let hidden = value.hidden().clone();
            (Ok(value.into_exact()), hidden)
        }
        Err(error) => (Err(error), HiddenParts::default()),
    }
}
