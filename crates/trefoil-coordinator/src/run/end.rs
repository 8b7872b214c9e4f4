//! How a run ends in this process.

use trefoil_machine::error::RunError;
use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::journal::EntryKind;
use trefoil_machine::private::{HIDDEN, PrivateValue};
use trefoil_machine::request::{Request, Usage};
use trefoil_template::Value;

use super::suspension::LocalSuspension;
use super::{AgendaTask, InProgressActivity, RunCoordinator};
use crate::action::{HostAction, RunEndReport};
use crate::facts::HostFacts;
use crate::outcome::{INTERRUPTED, RunOutcome, STOPPED, split_result};
use crate::state::CoordinatorState;

/// An end that is being stored.
#[derive(Debug)]
pub(super) struct PendingRunEnd {
    result: Result<PrivateValue, RunError>,
    warnings: Vec<String>,
    /// Whether the run has not ended, and can go on.
    is_open: bool,
}

impl PendingRunEnd {
    /// The end could not be stored. A run is reported as waiting only once that is stored.
    pub fn not_stored(&mut self, error: RunError, is_suspended: &mut bool) {
        if !self.is_open || std::mem::take(is_suspended) {
            (self.result, self.is_open) = (Err(error), true);
            self.warnings.clear();
        }
    }
}

impl RunCoordinator {
    pub(super) fn end_run(&mut self, result: Result<Value, RunError>, facts: &dyn HostFacts) {
        // The machine's own errors may quote results of models and tools.
        let result = result.map_err(|error| facts.hide_error(error));
        self.agenda.extend([AgendaTask::WindDown, AgendaTask::Store(result)]);
    }

    pub(super) fn store_end(&mut self, result: Result<Value, RunError>, facts: &dyn HostFacts) {
        self.actions.push_back(HostAction::DropWork);
        let result = result.and_then(|value| facts.fill_result(&value));
        let warnings = match &result {
            Ok(value) => self.changed(value.exact_value()),
            Err(_) => Vec::new(),
        };
        // A run has not ended if its journal cannot be written, or if it stops here to be resumed.
        let is_left = |error: &RunError| ["JOURNAL_ERROR", INTERRUPTED].contains(&error.code.as_str());
        let is_open = self.stays || result.as_ref().is_err_and(is_left);
        if is_open {
            self.actions.push_back(HostAction::KeepDrafts);
        } else {
            let (output, error) = match &result {
                Ok(value) => (Some(value.clone()), None),
                Err(error) => (None, Some(error.clone().without_location())),
            };
            let (items, warnings) = (self.machine.failed_items(), warnings.clone());
            self.record(EntryKind::Finished { output, error, items, warnings }, facts);
        }
        self.ending = Some(Box::new(PendingRunEnd { result, warnings, is_open }));
        self.agenda.push_back(AgendaTask::Close);
        self.commit();
    }

    pub(super) fn report_end(&mut self, facts: &dyn HostFacts) {
        let Some(ending) = self.ending.take() else { return };
        let PendingRunEnd { result, warnings, is_open } = *ending;
        let failure = match &result {
            Err(error) if self.outbox.is_journaled() && !is_open && error.code != STOPPED => Some(error.clone()),
            _ => None,
        };
        let continues = is_open && self.outbox.is_kept();
        let outcome = RunOutcome { continues, warnings, ..self.outcome(result, Vec::new(), facts) };
        let end = RunEndReport { outcome, is_open, failure };
        self.ask(HostAction::End(Box::new(end)), CoordinatorState::Ended);
    }

    /// Ends a run that is suspended.
    pub(super) fn end_suspended(&mut self, suspended: LocalSuspension, facts: &dyn HostFacts) {
        let LocalSuspension { waiting, .. } = suspended;
        let steps: Vec<String> = waiting.iter().map(|one| format!("`{}`", one.step)).collect();
        let error = RunError::new("SUSPENDED", format!("the run is waiting for {}", steps.join(", ")));
        let outcome = self.outcome(Err(error), waiting, facts);
        let end = RunEndReport { outcome, is_open: true, failure: None };
        self.ask(HostAction::End(Box::new(end)), CoordinatorState::Ended);
    }

    /// What to say about a result in which a secret was replaced on its way.
    fn changed(&self, result: &Value) -> Vec<String> {
        if self.replaced.is_empty() || !has_hidden(result) {
            return Vec::new();
        }
        let names = self.replaced.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        vec![format!("the result contains `***` where a model or a tool returned the value of {names}")]
    }

    /// The outcome so far, with what has been used.
    fn outcome(
        &self,
        result: Result<PrivateValue, RunError>,
        waiting: Vec<AwaitedActivity>,
        facts: &dyn HostFacts,
    ) -> RunOutcome {
        // Calls without a written entry and calls in the queue were not sent.
        let mut unsent = 0;
        let asked = self.asked.iter().chain(&self.omitted);
        for activity in asked.chain(&self.starting).chain(self.queue.waiting_calls()) {
            if matches!(activity.request, Request::Model(_)) && !activity.again {
                unsent += 1;
            }
        }
        let (mut usage, called) = (self.machine.usage(), self.used_by_waiting_calls());
        let calls = self.machine.call_count().saturating_sub(unsent).saturating_add(called.calls_beneath);
        usage.add_usage(called);
        // If the run has not ended, the usage of its open calls is unknown. A resume counts them as lost.
        for InProgressActivity { activity, .. } in self.under_way.values() {
            if matches!(activity.request, Request::Model(_)) {
                usage.add_usage(self.machine.price_usage(activity, Usage::for_unknown_call(), None));
            }
        }
        let duration_ms = self.worked_ms(facts);
        let continues = !waiting.is_empty();
        let suspended = continues || self.is_suspended;
        let (result, hidden) = split_result(result);
        RunOutcome {
            run: self.settings.run.clone(),
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
