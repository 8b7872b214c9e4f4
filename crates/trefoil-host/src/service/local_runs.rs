//! The runs that this process has started for others.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use serde_json::Value as Json;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use trefoil_machine::RunLimits;
use trefoil_machine::journal::RunSpec;
use trefoil_project::error::{Error, Result, RunFailure};
use trefoil_runtime::locks::lock;
use trefoil_runtime::{CancelSwitch, RunOutcome};

use super::blocking_work::{BlockingWork, is_large_value};
use super::feed::{LocalFeed, RunFeeds};
use super::run_ends::RunEndWatch;
use super::unnoted_ends::UnnotedEnds;
use crate::engine::{AcceptedInput, ReadyRun};
use crate::reuse::EditedRun;
use crate::run::Run;
use crate::worker::WorkerEngines;

/// How long runs may take to stop normally after they were interrupted.
const GRACE: Duration = Duration::from_secs(10);

/// What somebody allows a run that is continued.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResumePermission {
    /// The steps whose tools and commands may run again although that may not be safe; `*`: those of all steps.
    pub rerun: Vec<String>,
    /// Its limits from now on; what is not set stays as it is.
    pub limits: RunLimits,
}

/// The runs that this process has started, as far as they are in progress here.
pub struct LocalRuns {
    feeds: RunFeeds,
    permits: Arc<Semaphore>,
    held: Mutex<HeldRuns>,
    ended: Notify,
    work: BlockingWork,
    ends: OnceLock<Arc<dyn RunEndWatch>>,
}

#[derive(Default)]
struct HeldRuns {
    switches: HashMap<String, CancelSwitch>,
    stage: StopStage,
}

/// How far this process has come with stopping.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum StopStage {
    #[default]
    Serving,
    Draining,
    Interrupting,
}

/// A run that was started: it is in the store, and nothing of it can be lost any more.
pub struct StartedRun {
    /// Its id.
    pub run: String,
    /// What comes of it here: its end, or that it waits. `None`: a worker continues it when it can.
    pub outcome: Option<oneshot::Receiver<RunOutcome>>,
}

impl LocalRuns {
    /// `most`: how many runs are in progress here at a time. Further ones are left in the store for a worker.
    pub fn new(feeds: RunFeeds, most: usize) -> Arc<Self> {
        Arc::new(Self {
            feeds,
            permits: Arc::new(Semaphore::new(most)),
            held: Mutex::default(),
            ended: Notify::new(),
            work: BlockingWork::default(),
            ends: OnceLock::new(),
        })
    }

    /// The feeds of all runs.
    pub fn run_feeds(&self) -> &RunFeeds {
        &self.feeds
    }

    /// Tells somebody what becomes of the runs. Only the first one is told.
    pub fn watch_ends(&self, watch: Arc<dyn RunEndWatch>) {
        let _ = self.ends.set(watch);
    }

    /// Does what would keep requests waiting.
    pub fn blocking_work(&self) -> &BlockingWork {
        &self.work
    }

    /// The number of runs that are in progress here.
    pub fn count_held(&self) -> usize {
        lock(&self.held).switches.len()
    }

    /// Whether a run is in progress here.
    pub fn drives_run(&self, run: &str) -> bool {
        lock(&self.held).switches.contains_key(run)
    }

    /// Asks a run to end, if it is in progress here, and returns whether it is. It ends sooner than one that another process asks to.
    pub fn request_cancel(&self, run: &str) -> bool {
        let held = lock(&self.held);
        match held.switches.get(run) {
            Some(switch) => {
                switch.cancel_runs();
                true
            }
            None => false,
        }
    }

    /// Starts a run, and returns when it is in the store. If this process is busy, or stops, a worker continues it.
    ///
    /// # Errors
    ///
    /// [`Error::NotStarted`] if the flow does not accept the input; [`Error::Failed`] with `JOURNAL_ERROR` if it cannot be stored.
    pub async fn start_run(self: &Arc<Self>, ready: ReadyRun, input: Json) -> Result<StartedRun> {
        let (ready, input) = self.accept_input(ready, input).await?;
        let permit = match self.permits.clone().try_acquire_owned() {
            Ok(permit) if lock(&self.held).stage == StopStage::Serving => Some(permit),
            _ => {
                let run = ready.submit_accepted(input).await?;
                return Ok(StartedRun { run, outcome: None });
            }
        };
        self.adopt_run(ready.start_accepted(input)?, permit).await
    }

    /// Continues a run of the store here, without repeating what it has paid for, with what somebody allows it now. If this process is
    /// busy, or stops, a worker continues it.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] if it has ended or another process has it; [`Error::NotStarted`] with everything that is missing.
    pub async fn resume_run(
        self: &Arc<Self>,
        engines: &WorkerEngines,
        run: &str,
        permission: &ResumePermission,
    ) -> Result<StartedRun> {
        let permit = self.wait_permit().await;
        let (engine, stored) = engines.for_stored_run(run).await?;
        let engine = match permission.limits {
            RunLimits::NONE => engine,
            limits => engine.run_spec(RunSpec { limits, ..RunSpec::NONE }),
        };
        let ready = engine.as_begun(&stored).ready_again(&stored, &permission.rerun).await?;
        self.adopt_run(ready.resume_run(run).await?, permit).await
    }

    /// Starts a run that reuses the results of an earlier one.
    ///
    /// # Errors
    ///
    /// As [`Self::start_run`].
    pub async fn start_edited(self: &Arc<Self>, edited: EditedRun) -> Result<StartedRun> {
        let permit = self.wait_permit().await;
        let run = self.work.perform_work(move || edited.start_run()).await??;
        self.adopt_run(run, permit).await
    }

    /// Starts a run whose events the caller reads itself. It is stopped with the others. If this process is busy, waits.
    ///
    /// # Errors
    ///
    /// As [`Self::start_run`].
    pub async fn hold_run(self: &Arc<Self>, ready: ReadyRun, input: Json) -> Result<(Run, HeldRun)> {
        let (ready, input) = self.accept_input(ready, input).await?;
        let permit = self.wait_permit().await;
        let run = ready.start_accepted(input)?;
        self.register_run(&run);
        let held = HeldRun { runs: self.clone(), run: run.id().to_owned(), _permit: permit };
        Ok((run, held))
    }

    /// Checks the input of a run.
    async fn accept_input(&self, ready: ReadyRun, input: Json) -> Result<(ReadyRun, AcceptedInput)> {
        let is_large = is_large_value(&input);
        let check = move || {
            let accepted = ready.accept_input(input)?;
            Ok((ready, accepted))
        };
        if is_large { self.work.perform_work(check).await? } else { check() }
    }

    async fn wait_permit(&self) -> Option<OwnedSemaphorePermit> {
        self.permits.clone().acquire_owned().await.ok()
    }

    /// Takes over a run that was just started or resumed, and returns when its first entry is stored.
    async fn adopt_run(self: &Arc<Self>, run: Run, permit: Option<OwnedSemaphorePermit>) -> Result<StartedRun> {
        let id = run.id().to_owned();
        let (started, is_stored) = oneshot::channel();
        let (ended, outcome) = oneshot::channel();
        let feed = self.feeds.open_local(&id, run.flow().clone());
        self.register_run(&run);
        let files = run.flow().loaded_target().files.clone();
        tokio::spawn(self.clone().drive_run(run, feed, permit, started, ended));
        if is_stored.await.is_ok() {
            return Ok(StartedRun { run: id, outcome: Some(outcome) });
        }
        // Its first event comes when its first entry is stored. There was none.
        let outcome = outcome.await.map_err(|_| Error::NoRuntime)?;
        match outcome.result.clone() {
            Ok(_) => Ok(StartedRun { run: id, outcome: None }),
            Err(error) => Err(Error::Failed(Box::new(RunFailure::new(files, error, outcome)))),
        }
    }

    /// Passes the events of a run to its watchers, until it has ended here.
    async fn drive_run(
        self: Arc<Self>,
        mut run: Run,
        feed: LocalFeed,
        permit: Option<OwnedSemaphorePermit>,
        started: oneshot::Sender<()>,
        ended: oneshot::Sender<RunOutcome>,
    ) {
        let _registered = RegisteredLocalRun { runs: self.clone(), run: run.id().to_owned() };
        let flow = run.flow().name().to_owned();
        let mut started = Some(started);
        let mut ends = UnnotedEnds::default();
        while let Some(event) = run.next_event().await {
            if !ends.take_noted(&event) {
                continue;
            }
            feed.push_event(event);
            if let Some(started) = started.take() {
                let _ = started.send(());
            }
        }
        // If nothing was stored, nothing has started.
        drop(started);
        let outcome = run.wait_outcome().await;
        let is_left = ends.has_left();
        feed.end_feed(is_left || outcome.continues || outcome.suspended);
        if let Some(ends) = self.ends.get() {
            ends.take_outcome(&flow, &outcome, is_left);
        }
        drop(permit);
        let _ = ended.send(outcome);
    }

    fn register_run(&self, run: &Run) {
        let switch = run.cancel_switch();
        let mut held = lock(&self.held);
        match held.stage {
            StopStage::Serving => {}
            StopStage::Draining => switch.drain_runs(),
            StopStage::Interrupting => switch.interrupt_runs(),
        }
        held.switches.insert(run.id().to_owned(), switch);
    }

    /// Stops all runs here and gives them back: first those whose calls in progress end within this time, then the others.
    /// Returns how many calls may be paid for again.
    pub async fn stop_runs(&self, drain: Duration) -> usize {
        self.enter_stage(StopStage::Draining, CancelSwitch::drain_runs);
        let drained = tokio::time::timeout(drain, self.wait_empty()).await;
        if drained.is_ok() {
            return 0;
        }
        let cut = self.count_held();
        self.enter_stage(StopStage::Interrupting, CancelSwitch::interrupt_runs);
        let _ = tokio::time::timeout(GRACE, self.wait_empty()).await;
        cut
    }

    fn enter_stage(&self, stage: StopStage, stop: fn(&CancelSwitch)) {
        let mut held = lock(&self.held);
        held.stage = stage;
        held.switches.values().for_each(stop);
    }

    async fn wait_empty(&self) {
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
            ended.as_mut().enable();
            if self.count_held() == 0 {
                return;
            }
            ended.await;
        }
    }
}

/// A run that somebody else drives in this process, until this is dropped.
pub struct HeldRun {
    runs: Arc<LocalRuns>,
    run: String,
    _permit: Option<OwnedSemaphorePermit>,
}

impl Drop for HeldRun {
    fn drop(&mut self) {
        lock(&self.runs.held).switches.remove(&self.run);
        self.runs.ended.notify_waiters();
        if let Some(ends) = self.runs.ends.get() {
            ends.take_end(&self.run);
        }
    }
}

/// A run that is in progress here, until this is dropped.
struct RegisteredLocalRun {
    runs: Arc<LocalRuns>,
    run: String,
}

impl Drop for RegisteredLocalRun {
    fn drop(&mut self) {
        lock(&self.runs.held).switches.remove(&self.run);
        self.runs.ended.notify_waiters();
    }
}
