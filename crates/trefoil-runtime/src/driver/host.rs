//! The local host of a run: performs what its coordinator wants, stores entries, and waits. It decides nothing.
//!
//! It is async but spawns nothing: all activities of a run are part of the one future that [`LocalHost::drive`] returns, so dropping
//! it stops them all.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{AbortHandle, Abortable, BoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use trefoil_coordinator::{
    Append, CoordinatorState, EndedWork, HostAction, HostFacts, RunCoordinator, RunEnd, RunInput, StartWork,
    StopWanted, UnexpectedInput, WorkEnd, WorkId,
};
use trefoil_machine::clock::{RunMs, WorkMs};
use trefoil_machine::error::RunError;
use trefoil_machine::event::{EventKind, Waiting};
use trefoil_machine::journal::About;
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::{Activity, ToolRequest};
use trefoil_template::Value;

use super::activity::{self, Performed};
use super::cancel::Cancel;
use super::memo::look_up;
use super::past::told;
use super::queue::Queue;
use super::told::{Untold, warned};
use super::world::World;
use super::{RunOutcome, journal_error, model, reopen};
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
    world: Arc<World>,
    run: RunCoordinator,
    cancel: Cancel,
    /// What the coordinator knows of the switch.
    wanted: StopWanted,
    /// Whether the run is held and drained while it waits.
    waits: (bool, bool),
    queue: Queue,
    work: FuturesUnordered<Abortable<BoxFuture<'static, Performed>>>,
    running: RunningWork,
    /// Permits of calls that have ended, held until the machine knows the results. Otherwise the next call in the queue could start,
    /// although the machine may no longer want it.
    places: Vec<Arc<CallPermit>>,
    /// The events for the start of the run.
    began: Vec<Untold>,
    turns: u32,
}

/// The work in progress.
pub type RunningWork = BTreeMap<WorkId, Running>;

/// Work in progress.
pub struct Running {
    handle: AbortHandle,
    /// Its usage so far.
    meter: Arc<Meter>,
}

impl LocalHost {
    /// The host of a run. `began`: the events for its start.
    pub fn new(world: Arc<World>, run: RunCoordinator, cancel: Cancel, queue: Queue, began: Vec<Untold>) -> Box<Self> {
        Box::new(Self {
            world,
            run,
            cancel,
            wanted: StopWanted::No,
            waits: (false, false),
            queue,
            work: FuturesUnordered::new(),
            running: BTreeMap::new(),
            places: Vec::new(),
            began,
            turns: 0,
        })
    }

    /// Performs a run until it has ended or is suspended.
    pub async fn drive(mut self: Box<Self>) -> RunOutcome {
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
                    return RunOutcome::failed(&self.world.watch.run, error);
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
    pub fn predict(mut self: Box<Self>) -> Option<RunOutcome> {
        loop {
            let performed = match self.next_action().ok()? {
                HostAction::Yield => self.input(RunInput::MayProceed).map(|()| None),
                action => tokio::task::unconstrained(self.perform(action)).now_or_never()?,
            };
            if let Some(end) = performed.ok()? {
                return Some(end.outcome);
            }
        }
    }

    fn next_action(&mut self) -> Result<HostAction, UnexpectedInput> {
        let wanted = self.cancel.wanted();
        if wanted != self.wanted {
            self.wanted = wanted;
            self.input(RunInput::StopWanted(wanted))?;
        }
        let facts = Facts { world: &self.world, running: &self.running };
        let (is_held, drains) = self.waits;
        Ok(self.run.next_action(&facts).unwrap_or(HostAction::Wait { is_held, drains }))
    }

    async fn perform(&mut self, action: HostAction) -> Result<Option<Box<RunEnd>>, UnexpectedInput> {
        match action {
            HostAction::LookUp(asked) => {
                let found = Box::pin(look_up(&self.world, &asked)).await;
                self.input(RunInput::Found(found))?;
            }
            HostAction::ReadDecision(activity) => {
                let decided = self.world.decided(&activity).await;
                let decided = decided.map(|decided| self.world.masking.decision(Some(&activity), decided));
                self.input(RunInput::DecisionRead(decided))?;
            }
            HostAction::ReadInbox => {
                let received = self.world.ports.humans.waiting(&self.world.watch.run).await;
                let received = received.map(|received| self.world.masking.message(received, &self.run));
                self.input(RunInput::InboxRead(received))?;
            }
            HostAction::Append(append) => self.append(*append).await?,
            HostAction::Admit(calls) => {
                let admitted = self.queue.admit(calls);
                self.input(RunInput::Admitted(admitted))?;
            }
            HostAction::LeaveQueue(keys) => self.queue.leave(&keys),
            HostAction::FreePlaces => self.places.clear(),
            HostAction::Start(all) => all.into_iter().for_each(|work| self.start(work)),
            HostAction::Stop { work, winds_down } => self.stop(work, winds_down),
            HostAction::Yield => {
                tokio::task::yield_now().await;
                self.input(RunInput::MayProceed)?;
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

    fn input(&mut self, input: RunInput) -> Result<(), UnexpectedInput> {
        self.run.handle_input(input, &Facts { world: &self.world, running: &self.running })
    }

    /// Stores entries, then sends their events.
    async fn append(&mut self, append: Append) -> Result<(), UnexpectedInput> {
        let Append { entries, letters, mut notices } = append;
        let began = std::mem::take(&mut self.began).into_iter().map(|one| (RunMs(0), one));
        let mut untold: Vec<(RunMs, Untold)> = began.collect();
        for (at, notice) in &mut notices {
            told(&self.world, WorkMs(0), notice.past(), &mut |one| untold.push((*at, one)));
        }
        let stored = match entries.is_empty() {
            true => Ok(()),
            false => self.world.ports.journal.append(&self.world.watch.run, &entries, letters.ids()).await,
        };
        // If the entries are not stored, their events are not sent.
        if stored.is_ok() {
            for (at, (key, location, kind)) in untold {
                self.world.watch.note_stored(at, key, location, kind);
            }
            self.queue.tell_delays();
        }
        self.input(RunInput::Appended(stored.map_err(journal_error)))
    }

    fn start(&mut self, work: StartWork) {
        let StartWork { work, activity, share, is_call_off } = work;
        let meter = Arc::new(Meter::of(share.map(|share| *share), self.world.seen.clone()));
        if is_call_off {
            meter.stop().cancel();
        }
        let place = self.queue.take_place(&activity.key);
        let (handle, registration) = AbortHandle::new_pair();
        let future = activity::perform(self.world.clone(), (work, activity), meter.clone(), place).boxed();
        self.work.push(Abortable::new(future, registration));
        self.running.insert(work, Running { handle, meter });
    }

    fn stop(&mut self, work: WorkId, winds_down: bool) {
        let Some(Running { handle, meter }) = self.running.remove(&work) else { return };
        if winds_down {
            meter.stop().cancel();
        } else {
            handle.abort();
        }
    }

    /// Waits until the run can continue.
    async fn wait(&mut self) -> Result<(), UnexpectedInput> {
        let (is_held, drains) = self.waits;
        if drains {
            // The runs that calls have started end their work in progress, too.
            self.running.values().filter_map(|one| one.meter.winds_down()).for_each(Cancel::drain);
        }
        let input = loop {
            let performed = tokio::select! {
                biased;
                () = self.cancel.cancelled() => return Ok(()),
                received = self.world.ports.humans.arrived(&self.world.watch.run) => {
                    break RunInput::Arrived(self.world.masking.message(received, &self.run));
                }
                performed = self.work.next(), if !self.work.is_empty() => performed,
                () = self.queue.turn(), if !is_held && !self.queue.is_empty() => break RunInput::TurnCame,
                () = self.cancel.released(), if is_held => return Ok(()),
                () = self.cancel.drained(), if !drains => return Ok(()),
                () = self.world.drafts_due() => {
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
        self.input(input)
    }

    /// Work has ended. A result is reported together with all others that have come by now.
    fn ended(&mut self, first: Performed) -> RunInput {
        let is_result = matches!(first.ended.how, WorkEnd::Done(_));
        let mut batch = vec![self.took(first)];
        while is_result
            && batch.len() < BATCH
            && let Some(Some(performed)) = self.work.next().now_or_never()
        {
            batch.extend(performed.ok().map(|performed| self.took(performed)));
        }
        RunInput::WorkEnded(batch)
    }

    fn took(&mut self, performed: Performed) -> EndedWork {
        let Performed { ended, place } = performed;
        self.running.remove(&ended.work);
        self.places.extend(place);
        ended
    }

    /// Gives stopped calls a moment to end.
    async fn wind_down(&mut self) -> Result<(), UnexpectedInput> {
        let world = self.world.clone();
        let mut moment = std::pin::pin!(world.ports.clock.sleep(MOMENT_MS));
        while self.run.state() == CoordinatorState::WindingDown {
            let input = tokio::select! {
                performed = self.work.next() => match performed {
                    Some(Ok(Performed { ended, .. })) => RunInput::WorkEnded(vec![ended]),
                    Some(Err(_)) => continue,
                    None => RunInput::MomentOver,
                },
                () = &mut moment => RunInput::MomentOver,
            };
            self.input(input)?;
        }
        Ok(())
    }

    /// Stores what has been received of the answers of model calls, if there is more since the last time.
    async fn keep_drafts(&mut self) {
        let Some(drafts) = &self.world.drafts else { return };
        if !drafts.is_due() {
            return;
        }
        let texts = self.run.work().filter_map(|(work, activity)| {
            let text = self.world.partial(activity, &self.running.get(&work)?.meter)?;
            Some(Draft { key: activity.key.clone(), text })
        });
        let texts: Vec<Draft> = texts.collect();
        if !texts.is_empty() {
            self.world.ports.journal.keep_drafts(&self.world.watch.run, &texts).await;
        }
        drafts.kept(self.world.watch.now_ms());
    }

    async fn end(self: Box<Self>, end: RunEnd) -> RunOutcome {
        let RunEnd { mut outcome, is_open, failure } = end;
        if let Some(error) = failure {
            outcome.continues = reopen::is_possible(&self.world, &error, self.run.memo()).await;
        }
        if outcome.suspended {
            return outcome;
        }
        let (output, error) = match &outcome.result {
            Ok(value) => (Some(PrivateValue::new(value.clone(), outcome.hidden.clone())), None),
            Err(error) => (None, Some(error.clone())),
        };
        let RunOutcome { items, usage, calls, duration_ms, .. } = outcome;
        let watch = &self.world.watch;
        for (key, location, kind) in warned(&outcome.warnings) {
            watch.note(key, location, kind);
        }
        let finished = EventKind::RunFinished { output, error, items, usage, calls, duration_ms };
        match is_open {
            true => watch.delta(None, None, finished),
            false => watch.note(None, None, finished),
        }
        outcome
    }
}

/// What this host knows.
pub struct Facts<'h> {
    pub world: &'h World,
    pub running: &'h RunningWork,
}

impl HostFacts for Facts<'_> {
    fn now_ms(&self) -> u64 {
        self.world.watch.now_ms()
    }

    fn wall_ms(&self) -> u64 {
        self.world.ports.clock.wall_ms()
    }

    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        self.world.ports.tools.is_idempotent(request)
    }

    fn refusal(&self, activity: &Activity) -> Option<RunError> {
        let refusal = self.world.not_allowed(activity)?;
        Some(self.world.masking.error(refusal))
    }

    fn is_watched(&self) -> bool {
        self.world.watch.wanted()
    }

    fn so_far(&self, work: WorkId, activity: &Activity) -> About {
        let none = Meter::default();
        let meter = self.running.get(&work).map_or(&none, |one| &one.meter);
        let told = meter.instead().map(|instead| model::called(&instead)).unwrap_or_default();
        let model = told.instead.clone().or_else(|| self.world.model(activity));
        let partial = self.world.partial(activity, meter);
        self.world.masking.about(About { model, partial, told, ..About::usage(Some(meter.read())) })
    }

    fn winds_down(&self, work: WorkId) -> bool {
        self.running.get(&work).is_some_and(|one| one.meter.winds_down().is_some())
    }

    fn waiting(&self, activity: &Activity) -> Waiting {
        self.world.masking.waiting(self.world.waiting(activity))
    }

    fn checked(
        &self,
        activity: &Activity,
        value: PrivateValue,
        about: About,
    ) -> (Result<PrivateValue, RunError>, About) {
        model::again(self.world, activity, value, about)
    }

    fn filled(&self, value: &Value) -> Result<PrivateValue, RunError> {
        self.world.masking.result(value)
    }

    fn hide_error(&self, error: RunError) -> RunError {
        self.world.masking.error(error)
    }
}
