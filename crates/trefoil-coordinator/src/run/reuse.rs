//! Reuses results: those of the run itself from before it was reopened, and those of earlier runs.

use std::sync::Arc;

use trefoil_ir::prices::DollarAmount;
use trefoil_machine::error::RunError;
use trefoil_machine::journal::ActivityMetadata;
use trefoil_machine::machine::KeptResult;
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::{Activity, Request};
use trefoil_machine::{LimitKind, MachineOutput, PreparedProgram, RunLimits, UsedAmounts};

use super::RunCoordinator;
use crate::facts::HostFacts;
use crate::inbox_messages::InboxMessageIds;
use crate::input::EndedActivity;
use crate::memo::{ClaimPlace, Memo, PossibleExecution};
use crate::recovery::may_repeat;

impl RunCoordinator {
    /// Returns an error if performing these activities would exceed a limit.
    fn over_limit(&self, next: &[&Arc<Activity>]) -> Option<RunError> {
        let is_call = |a: &Activity| matches!(a.request, Request::Model(_));
        // The limits of a called run are compared at the top, with what all runs have used.
        let first = next.iter().find(|a| is_call(a) && !self.allowance.is_of_call())?;
        let count = |a: &&Arc<Activity>| is_call(a) && !a.again;
        let asked = self.asked.iter().chain(&self.omitted).filter(count).count() as u64;
        let calls = self.machine.call_count().saturating_sub(asked);
        let made = UsedAmounts { calls, ..self.machine.usage().used_amounts() };
        let more = UsedAmounts {
            calls: next.iter().copied().filter(count).count() as u64,
            tokens: 0,
            cost_micro: match self.settings.limits.cost_micro {
                Some(_) => self.may_cost(next.iter().copied()),
                None => 0,
            },
        };
        let (kind, limit) = self.settings.limits.first_exceeded(made.sum_with(more))?;
        let later = self.machine.still_needed(Some(first)).get(kind);
        let (made, more) = (made.get(kind), more.get(kind));
        let message = match kind {
            LimitKind::Calls => {
                let needed = if more == 1 { "1 more is needed".to_owned() } else { format!("{more} more are needed") };
                format!("call limit reached: {made} of {limit} calls made, and {needed}")
            }
            LimitKind::Tokens => format!("token limit reached: {made} of {limit} tokens used"),
            LimitKind::Cost => {
                let (spent, limit, next) = (DollarAmount(made), DollarAmount(limit), DollarAmount(more));
                format!("cost limit reached: {spent} of {limit} spent, and what is next may cost {next}")
            }
        };
        let location = Some(self.machine.prepared_program().program.steps[first.step].origin);
        let error = RunError::new("BUDGET_EXCEEDED", message).at_step(Some(first.key.clone()), location);
        if kind == LimitKind::Cost
            && let Some(budget) = self.machine.flags().spec.cost_budget
        {
            return Some(budget.explain_limit(error));
        }
        let error = error.with_raise(RunLimits::with_raised_limit(
            kind,
            limit,
            made.saturating_add(more).saturating_add(later),
        ));
        Some(match kind.option_name() {
            Some(option) => error.with_help(format!("allow more with `{option}`")),
            None => error,
        })
    }

    /// Stops the run before the requested activities, until somebody allows them.
    pub(super) fn stop_before_asked(&mut self, why: &RunError, facts: &dyn HostFacts) {
        if let Some(memo) = &self.memo {
            memo.record_stop(self.asked.iter());
        }
        self.wait_for_permission(why, facts);
    }

    /// Completes the requested activities that already have a result. Returns an error if the rest would exceed a limit, or
    /// contains an activity that an earlier run performed and that may not be safe to repeat.
    pub(super) fn reuse_results(&mut self, facts: &dyn HostFacts) -> Result<(), RunError> {
        let mut found = Vec::new();
        let reuses = self.machine.flags().reuses;
        if self.memo.is_some() || reuses {
            let mut open: Vec<Arc<Activity>> = Vec::new();
            for activity in &self.asked {
                let kept = self.kept.get(&activity.key);
                if !matches!(kept, Some(kept) if kept.content == activity.content) {
                    open.push(activity.clone());
                }
            }
            found = match &mut self.memo {
                Some(memo) => memo.find_results(&open),
                None => vec![None; open.len()],
            };
            let lacking = match &self.memo {
                Some(memo) => memo.find_lacking(&open, &found),
                None => open.iter().collect(),
            };
            if let Some(error) = self.stop_error(&lacking, &found, facts) {
                self.record_stop(&lacking);
                self.wait_for_permission(&error, facts);
                return Err(error);
            }
            // A limit of the manifest ends the run before any of these activities starts.
            let output = if reuses {
                self.machine.begin_activities(lacking.iter().map(|a| &***a))
            } else {
                MachineOutput::default()
            };
            if !output.commands.is_empty() {
                self.record_stop(&lacking);
                self.take_piece(output, facts);
                self.book_stopped(facts);
                return Ok(());
            }
        }
        self.take_results(found, facts);
        Ok(())
    }

    /// The error of activities without an earlier result before which the run has to stop.
    fn stop_error(
        &self,
        lacking: &[&Arc<Activity>],
        found: &[Option<ClaimPlace>],
        facts: &dyn HostFacts,
    ) -> Option<RunError> {
        let repeats = match &self.memo {
            Some(memo) => would_repeat((facts, self.machine.prepared_program()), memo, lacking, found),
            None => None,
        };
        let limit = self.over_limit(lacking);
        match (repeats, limit) {
            // One command allows both.
            (Some(error), Some(limit)) => Some(error.with_raise(limit.raise)),
            (Some(error), None) => Some(error.with_raise(None)),
            (None, limit) => limit,
        }
    }

    fn record_stop(&self, lacking: &[&Arc<Activity>]) {
        if let Some(memo) = &self.memo {
            memo.record_stop(lacking.iter().copied());
        }
    }

    fn take_results(&mut self, found: Vec<Option<ClaimPlace>>, facts: &dyn HostFacts) {
        let mut found = found.into_iter();
        for activity in std::mem::take(&mut self.asked) {
            if let Some(KeptResult { seq, content, value, about }) = self.kept.remove(&activity.key)
                && content == activity.content
            {
                let about = ActivityMetadata { usage: None, kept: Some(seq), ..about };
                self.is_over(activity, Ok(value), about);
                continue;
            }
            let taken = match &mut self.memo {
                Some(memo) => memo.take_result(&activity, found.next().flatten()),
                None => None,
            };
            match taken {
                Some((earlier, cited)) => {
                    // What its tools said of themselves then does not bind this run.
                    let (from, tools) = (Some(Box::new(cited)), Vec::new());
                    let about = ActivityMetadata { usage: None, kept: None, from, tools, ..earlier.about };
                    let (result, about) = facts.check_result(&activity, earlier.value, about);
                    self.is_over(activity, result, about);
                }
                None if self.is_performed(&activity) => self.asked.push(activity),
                None => self.omitted.push(activity),
            }
        }
    }

    fn is_performed(&self, activity: &Activity) -> bool {
        match &self.memo {
            Some(memo) => memo.may_perform(activity),
            None => true,
        }
    }

    fn is_over(&mut self, activity: Arc<Activity>, result: Result<PrivateValue, RunError>, about: ActivityMetadata) {
        self.done.push(EndedActivity {
            about,
            ..EndedActivity::without_metadata(activity, result, InboxMessageIds::default())
        });
    }
}

/// Returns an error if activities may have been performed by an earlier run and may not be safe to repeat.
fn would_repeat(
    (facts, prepared): (&dyn HostFacts, &PreparedProgram),
    memo: &Memo,
    lacking: &[&Arc<Activity>],
    found: &[Option<ClaimPlace>],
) -> Option<RunError> {
    let unsafe_to = |request: &Request| !may_repeat(request, facts);
    let mut stopping: Vec<(&Arc<Activity>, PossibleExecution)> = Vec::new();
    for (asked, execution) in lacking.iter().copied().zip(memo.possible_executions(lacking, found)) {
        let Some(execution) = execution else { continue };
        let may_be_unsafe = match &execution {
            PossibleExecution::Gone(before) => unsafe_to(&before.request),
            PossibleExecution::Here | PossibleExecution::Open(_) | PossibleExecution::Unread => true,
        };
        if may_be_unsafe && unsafe_to(&asked.request) && !memo.may_rerun(asked) {
            stopping.push((asked, execution));
        }
    }
    let ((asked, execution), others) = stopping.split_first()?;
    let mut message = repeat_message(asked, execution, memo);
    let mut names = vec![step_name(asked)];
    for (asked, _) in others {
        let name = step_name(asked);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if let Some((_, more @ [_, ..])) = names.split_first() {
        message.push_str(&format!("; the same applies to `{}`", more.join("`, `")));
    }
    let location = Some(prepared.program.steps[asked.step].origin);
    // A name may begin like an option.
    let option = |name: &String| format!("--rerun{}{name}", if name.starts_with('-') { "=" } else { " " });
    let options = names.iter().map(option).collect::<Vec<_>>().join(" ");
    let help = format!("to allow it, pass `{options}`");
    let mut error = RunError::new("WOULD_REPEAT", message).with_help(help).at_step(Some(asked.key.clone()), location);
    error.others = others.iter().map(|(asked, _)| asked.key.clone()).collect();
    Some(error)
}

fn step_name(activity: &Activity) -> String {
    match activity.labels.last() {
        Some(label) => label.to_string(),
        None => activity.key.to_string(),
    }
}

fn repeat_message(asked: &Activity, execution: &PossibleExecution, memo: &Memo) -> String {
    let sort = asked.request.sort_name();
    let again = "may not be safe to run again";
    match execution {
        PossibleExecution::Here if memo.has_not_ended(asked) => {
            format!(
                "this {sort} was started in the earlier run, which does not know whether it was done, and it {again}"
            )
        }
        PossibleExecution::Here => format!("this {sort} ran in the earlier run, and {again}"),
        PossibleExecution::Open(other) => {
            let other = other.without_try();
            format!("the same {sort} ran as `{other}` in the earlier run and did not complete, and {again}")
        }
        PossibleExecution::Gone(before) => {
            let before = before.key.without_try();
            format!("`{before}` of the earlier run is gone, and this may be the same step, which {again}")
        }
        PossibleExecution::Unread => {
            format!("this {sort} may have run in an earlier run that cannot be read any more, and {again}")
        }
    }
}
