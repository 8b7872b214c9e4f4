//! The local host of a run: performs what its coordinator wants, stores entries, and waits. It decides nothing.
//!
//! It is async but spawns nothing: all activities of a run are part of the one future that [`LocalHost::drive_run`] returns, so dropping
//! it stops them all.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use trefoil_coordinator::{
    CoordinatorState, EndedWork, HostAction, HostFacts, JournalAppend, RunCoordinator, RunEndReport, RunInput,
    StartWork, StopRequest, UnexpectedInput, WorkId, WorkOutcome,
};
use trefoil_machine::MachineEvent;
use trefoil_machine::clock::{RunMs, WorkMs};
use trefoil_machine::error::RunError;
use trefoil_machine::event::{AwaitedActivity, EventKind};
use trefoil_machine::journal::ActivityMetadata;
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::{Activity, ToolRequest};
use trefoil_template::Value;

use super::activity::{self, PerformedActivity};
use super::activity_events::warning_events;
use super::cancel_switch::CancelSwitch;
use super::memo::look_up;
use super::queue::ModelCallQueue;
use super::replay_events::report_past;
use super::run_context::RunContext;
use super::{RunOutcome, journal_error, model, reopening};
use crate::limits::CallPermit;
use crate::ports::{Draft, Meter};

/// Maximum number of results that are reported together.
const BATCH: usize = 256;
/// After how many turns other tasks may run.
const TURNS: u32 = 64;
/// How long stopped calls may take to end, in milliseconds.
const MOMENT_MS: u64 = 1_000;

/// The host of a run.
pub struct LocalHost {
    context: Arc<RunContext>,
    run: RunCoordinator,
    cancel: CancelSwitch,
    /// What the coordinator knows of the switch.
    wanted: StopRequest,
    /// Whether the run is held and drained while it waits.
    waits: (bool, bool),
    queue: ModelCallQueue,
    work: FuturesUnordered<Abortable<BoxFuture<'static, PerformedActivity>>>,
    running: RunningWork,
    /// Permits of calls that have ended, held until the machine knows the results. Otherwise the next call in the queue could start,
    /// although the machine may no longer want it.
    permits: Vec<Arc<CallPermit>>,
    /// The events for the start of the run.
    began: Vec<MachineEvent>,
    turns: u32,
}

/// The work in progress.
pub type RunningWork = BTreeMap<WorkId, AbortableActivity>;

/// Work in progress.
pub struct AbortableActivity {
    handle: AbortHandle,
    /// Its usage so far.
    meter: Arc<Meter>,
}

impl LocalHost {
    /// The host of a run. `began`: the events for its start.
    pub fn new(
        context: Arc<RunContext>,
        run: RunCoordinator,
        cancel: CancelSwitch,
        queue: ModelCallQueue,
        began: Vec<MachineEvent>,
    ) -> Box<Self> {
        Box::new(Self {
            context,
            run,
            cancel,
            wanted: StopRequest::No,
            waits: (false, false),
            queue,
            work: FuturesUnordered::new(),
            running: BTreeMap::new(),
            permits: Vec::new(),
            began,
            turns: 0,
        })
    }

    /// Performs a run until it has ended or is suspended.
    pub async fn drive_run(mut self: Box<Self>) -> RunOutcome {
        loop {
            let performed = match self.next_action() {
                Ok(action) => self.perform(action).await,
                Err(unexpected) => Err(unexpected),
            };
            match performed {
                Ok(None) => {}
                // Boxed, because this future is needed only once, at the end: it would take memory while the run waits.
                Ok(Some(end)) => return Box::pin(self.end(*end)).await,
                Err(unexpected) => {
                    let error = RunError::new("LIMIT_EXCEEDED", format!("internal error: {unexpected}"));
                    return RunOutcome::from_failure(&self.context.watch.run, error);
                }
            }
            // Lets other tasks run, even if all answers arrive at once.
            if self.turns >= TURNS {
                self.turns = 0;
                tokio::task::yield_now().await;
            }
        }
    }

    /// What the run does if nothing of its work takes time. `None`: something does.
    pub fn predict_outcome(mut self: Box<Self>) -> Option<RunOutcome> {
        loop {
            let performed = match self.next_action().ok()? {
                HostAction::Yield => self.send_input(RunInput::MayProceed).map(|()| None),
                action => tokio::task::unconstrained(self.perform(action)).now_or_never()?,
            };
            if let Some(end) = performed.ok()? {
                return Some(end.outcome);
            }
        }
    }

    fn next_action(&mut self) -> Result<HostAction, UnexpectedInput> {
        let wanted = self.cancel.requested_stop();
        if wanted != self.wanted {
            self.wanted = wanted;
            self.send_input(RunInput::StopWanted(wanted))?;
        }
        let facts = LocalHostFacts { context: &self.context, running: &self.running };
        let (is_held, drains) = self.waits;
        Ok(self.run.next_action(&facts).unwrap_or(HostAction::Wait { is_held, drains }))
    }

    async fn perform(&mut self, action: HostAction) -> Result<Option<Box<RunEndReport>>, UnexpectedInput> {
        match action {
            HostAction::LookUp(asked) => {
                let found = Box::pin(look_up(&self.context, &asked)).await;
                self.send_input(RunInput::Found(found))?;
            }
            HostAction::ReadDecision(activity) => {
                let decided = self.context.find_decision(&activity).await;
                let decided = decided.map(|decided| self.context.masking.mask_decision(Some(&activity), decided));
                self.send_input(RunInput::DecisionRead(decided))?;
            }
            HostAction::ReadInbox => {
                let received = self.context.ports.humans.waiting_message(&self.context.watch.run).await;
                let received = received.map(|received| self.context.masking.mask_message(received, &self.run));
                self.send_input(RunInput::InboxRead(received))?;
            }
            HostAction::Append(append) => self.append(*append).await?,
            HostAction::Admit(calls) => {
                let admitted = self.queue.admit_calls(calls);
                self.send_input(RunInput::Admitted(admitted))?;
            }
            HostAction::LeaveQueue(keys) => self.queue.remove_calls(&keys),
            HostAction::FreePermits => self.permits.clear(),
            HostAction::Start(all) => all.into_iter().for_each(|work| self.start(work)),
            HostAction::Stop { work, winds_down } => self.stop(work, winds_down),
            HostAction::Yield => {
                tokio::task::yield_now().await;
                self.send_input(RunInput::MayProceed)?;
            }
            HostAction::Wait { is_held, drains } => {
                self.waits = (is_held, drains);
                self.queue.tell_delays();
                self.wait().await?;
            }
            HostAction::WindDown => self.wind_down().await?,
            HostAction::DropWork => self.work.clear(),
            HostAction::KeepDrafts => self.keep_drafts().await,
            HostAction::End(end) => return Ok(Some(end)),
        }
        Ok(None)
    }

    fn send_input(&mut self, input: RunInput) -> Result<(), UnexpectedInput> {
        self.run.handle_input(input, &LocalHostFacts { context: &self.context, running: &self.running })
    }

    /// Stores entries, then sends their events.
    async fn append(&mut self, append: JournalAppend) -> Result<(), UnexpectedInput> {
        let JournalAppend { entries, message_ids, mut notices } = append;
        let began = std::mem::take(&mut self.began).into_iter().map(|one| (RunMs(0), one));
        let mut untold: Vec<(RunMs, MachineEvent)> = began.collect();
        for (at, notice) in &mut notices {
            report_past(&self.context, WorkMs(0), notice.as_replay_notice(), &mut |one| untold.push((*at, one)));
        }
        let stored = match entries.is_empty() {
            true => Ok(()),
            false => {
                self.context
                    .ports
                    .journal
                    .append_entries(&self.context.watch.run, &entries, message_ids.as_slice())
                    .await
            }
        };
        // If the entries are not stored, their events are not sent.
        if stored.is_ok() {
            for (at, MachineEvent { key, location, kind }) in untold {
                self.context.watch.note_stored(at, key, location, kind);
            }
            self.queue.tell_delays();
        }
        self.send_input(RunInput::Appended(stored.map_err(journal_error)))
    }

    fn start(&mut self, work: StartWork) {
        let StartWork { work, activity, share, is_call_off } = work;
        let meter = Arc::new(Meter::for_call(share.map(|share| *share), self.context.tool_digests.clone()));
        if is_call_off {
            meter.stop_switch().cancel_runs();
        }
        let permit = self.queue.take_permit(&activity.key);
        let (handle, registration) = AbortHandle::new_pair();
        let future = activity::perform_activity(self.context.clone(), (work, activity), meter.clone(), permit).boxed();
        self.work.push(Abortable::new(future, registration));
        self.running.insert(work, AbortableActivity { handle, meter });
    }

    fn stop(&mut self, work: WorkId, winds_down: bool) {
        let Some(AbortableActivity { handle, meter }) = self.running.remove(&work) else { return };
        if winds_down {
            meter.stop_switch().cancel_runs();
        } else {
            handle.abort();
        }
    }

    /// Waits until the run can continue.
    async fn wait(&mut self) -> Result<(), UnexpectedInput> {
        let (is_held, drains) = self.waits;
        if drains {
            // The runs that calls have started end their work in progress, too.
            self.running.values().filter_map(|one| one.meter.winds_down()).for_each(CancelSwitch::drain_runs);
        }
        let input = loop {
            let performed = tokio::select! {
                biased;
                () = self.cancel.wait_cancelled() => return Ok(()),
                received = self.context.ports.humans.next_message(&self.context.watch.run) => {
                    break RunInput::Arrived(self.context.masking.mask_message(received, &self.run));
                }
                performed = self.work.next(), if !self.work.is_empty() => performed,
                () = self.queue.wait_turn(), if !is_held && !self.queue.is_empty() => break RunInput::TurnCame,
                () = self.cancel.wait_released(), if is_held => return Ok(()),
                () = self.cancel.wait_drained(), if !drains => return Ok(()),
                () = self.context.drafts_due() => {
                    self.keep_drafts().await;
                    continue;
                }
            };
            // The future of work that was stopped ends with an error.
            if let Some(Ok(first)) = performed {
                break self.ended(first);
            }
        };
        self.turns += 1;
        self.send_input(input)
    }

    /// Work has ended. A result is reported together with all others that have come by now.
    fn ended(&mut self, first: PerformedActivity) -> RunInput {
        let is_result = matches!(first.ended.how, WorkOutcome::Done(_));
        let mut batch = vec![self.finish_work(first)];
        while is_result
            && batch.len() < BATCH
            && let Some(Some(performed)) = self.work.next().now_or_never()
        {
            batch.extend(performed.ok().map(|performed| self.finish_work(performed)));
        }
        RunInput::WorkEnded(batch)
    }

    fn finish_work(&mut self, performed: PerformedActivity) -> EndedWork {
        let PerformedActivity { ended, permit } = performed;
        self.running.remove(&ended.work);
        self.permits.extend(permit);
        ended
    }

    /// Gives stopped calls a moment to end.
    async fn wind_down(&mut self) -> Result<(), UnexpectedInput> {
        let context = self.context.clone();
        let mut moment = std::pin::pin!(context.ports.clock.sleep_ms(MOMENT_MS));
        while self.run.current_state() == CoordinatorState::WindingDown {
            let input = tokio::select! {
                performed = self.work.next() => match performed {
                    Some(Ok(PerformedActivity { ended, .. })) => RunInput::WorkEnded(vec![ended]),
                    Some(Err(_)) => continue,
                    None => RunInput::MomentOver,
                },
                () = &mut moment => RunInput::MomentOver,
            };
            self.send_input(input)?;
        }
        Ok(())
    }

    /// Stores what has been received of the answers of model calls, if there is more since the last time.
    async fn keep_drafts(&mut self) {
        let Some(drafts) = &self.context.drafts else { return };
        if !drafts.is_due() {
            return;
        }
        let texts = self.run.running_work().filter_map(|(work, activity)| {
            let text = self.context.partial_text(activity, &self.running.get(&work)?.meter)?;
            Some(Draft { key: activity.key.clone(), text })
        });
        let texts: Vec<Draft> = texts.collect();
        if !texts.is_empty() {
            self.context.ports.journal.keep_drafts(&self.context.watch.run, &texts).await;
        }
        drafts.note_written(self.context.watch.now_ms());
    }

    async fn end(self: Box<Self>, end: RunEndReport) -> RunOutcome {
        let RunEndReport { mut outcome, is_open, failure } = end;
        if let Some(error) = failure {
            outcome.continues = reopening::is_possible(&self.context, &error, self.run.memo()).await;
        }
        if outcome.suspended {
            return outcome;
        }
        let (output, error) = match &outcome.result {
            Ok(value) => (Some(PrivateValue::new(value.clone(), outcome.hidden.clone())), None),
            Err(error) => (None, Some(error.clone())),
        };
        let RunOutcome { items, usage, calls, duration_ms, .. } = outcome;
        let watch = &self.context.watch;
        for MachineEvent { key, location, kind } in warning_events(&outcome.warnings) {
            watch.send_event(key, location, kind);
        }
        let finished = EventKind::RunFinished { output, error, items, usage, calls, duration_ms };
        match is_open {
            true => watch.send_delta(None, None, finished),
            false => watch.send_event(None, None, finished),
        }
        outcome
    }
}

/// What this host knows.
pub struct LocalHostFacts<'h> {
    pub context: &'h RunContext,
    pub running: &'h RunningWork,
}

impl HostFacts for LocalHostFacts<'_> {
    fn now_ms(&self) -> u64 {
        self.context.watch.now_ms()
    }

    fn wall_ms(&self) -> u64 {
        self.context.ports.clock.wall_ms()
    }

    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        self.context.ports.tools.is_idempotent(request)
    }

    fn permission_refusal(&self, activity: &Activity) -> Option<RunError> {
        let refusal = self.context.permission_error(activity)?;
        Some(self.context.masking.mask_error(refusal))
    }

    fn is_watched(&self) -> bool {
        self.context.watch.wants_events()
    }

    fn metadata_so_far(&self, work: WorkId, activity: &Activity) -> ActivityMetadata {
        let none = Meter::default();
        let meter = self.running.get(&work).map_or(&none, |one| &one.meter);
        let answer_metadata =
            meter.substitute_model().map(|instead| model::substitute_metadata(&instead)).unwrap_or_default();
        let model = answer_metadata.instead.clone().or_else(|| self.context.model_label(activity));
        let partial = self.context.partial_text(activity, meter);
        self.context.masking.mask_about(ActivityMetadata {
            model,
            partial,
            answer_metadata,
            ..ActivityMetadata::from_usage(Some(meter.usage_so_far()))
        })
    }

    fn winds_down(&self, work: WorkId) -> bool {
        self.running.get(&work).is_some_and(|one| one.meter.winds_down().is_some())
    }

    fn awaited_activity(&self, activity: &Activity) -> AwaitedActivity {
        self.context.masking.mask_waiting(self.context.describe_waiting(activity))
    }

    fn check_result(
        &self,
        activity: &Activity,
        value: PrivateValue,
        about: ActivityMetadata,
    ) -> (Result<PrivateValue, RunError>, ActivityMetadata) {
        model::recheck_answer(self.context, activity, value, about)
    }

    fn fill_result(&self, value: &Value) -> Result<PrivateValue, RunError> {
        self.context.masking.fill_result(value)
    }

    fn hide_error(&self, error: RunError) -> RunError {
        self.context.masking.mask_error(error)
    }
}
