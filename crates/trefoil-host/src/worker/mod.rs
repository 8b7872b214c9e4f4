//! A process that works on the runs of a store, from any source: several at a time, on all hosts that share the store.
//!
//! Leases decide which process owns a run; this module decides when to request one. A worker claims waiting runs when
//! it has capacity, and resumes each like `trefoil resume`.

mod continuation;
mod events;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::durable::{StoredProject, StoredRun};
use crate::engine::Engine;
use crate::service::RunFeeds;
use tokio::task::JoinSet;
use trefoil_project::Error;
use trefoil_runtime::CancelSwitch;
use trefoil_store::{ClaimShare, LeasedRun, Owner, Store, StoreError};

use continuation::{ContinuationEnd, continue_run};

pub use events::{StopRequests, WorkerEvent, WorkerWatch};

/// Time between queries for runs, if there are no notifications.
const PAUSE: Duration = Duration::from_secs(1);
/// How often runs of ended processes are released.
const RECLAIM: Duration = Duration::from_secs(1);
/// Time until a run that cannot continue here is tried again; it doubles each time.
const AGAIN: Duration = Duration::from_secs(30);
/// The maximum of that time.
const LATEST: Duration = Duration::from_secs(3_600);
/// How long runs may take to stop normally after they were interrupted.
const GRACE: Duration = Duration::from_secs(10);

/// More than the depth of calls of flows.
const MOST_CALLERS: usize = 100;

/// Requests that come within this time are one.
const ONE_REQUEST: Duration = Duration::from_millis(500);

/// The limits of a worker.
#[derive(Debug, Clone, Copy)]
pub struct WorkerLimits {
    /// Maximum number of concurrent runs.
    pub concurrency: usize,
    /// Maximum number of concurrent runs of one flow.
    pub per_flow: Option<usize>,
    /// Whether to stop when no run waits.
    pub once: bool,
    /// Whether it goes on when the store is replaced or unusable, and waits for it to come back: it is part of a server.
    pub outlasts_store: bool,
    /// How long the work in progress may take to end when the worker is stopped.
    pub drain: Duration,
}

/// What runs may use.
#[derive(Clone)]
pub struct WorkerEngines {
    /// For runs whose files are those of the project of the folder.
    pub of_project: Engine,
    /// For all others: the settings of the user, and what the host allows.
    pub own: Engine,
    /// The folder in which the worker was started.
    pub folder: PathBuf,
}

impl WorkerEngines {
    /// The engine with which a stored run continues here: the settings of the project apply only to its own files.
    ///
    /// # Errors
    ///
    /// The run cannot be read.
    pub async fn for_stored_run(&self, run: &str) -> Result<(Engine, StoredRun), Error> {
        let store = self.of_project.kept_runs()?;
        let stored = StoredRun::read_run(&*store, run).await?;
        let project = StoredProject::of_worker(&*store, &stored, &self.folder).await?;
        Ok((self.for_project(&*store, &stored, &project).await?, stored))
    }

    /// The same of a run that was read. A run that was called may do what those may that have called it.
    async fn for_project(
        &self,
        store: &dyn Store,
        stored: &StoredRun,
        project: &StoredProject,
    ) -> Result<Engine, Error> {
        let mut engine = match project.is_around(&self.folder) {
            true => self.of_project.clone(),
            // Of the settings of another project, only what they forbid holds.
            false => self.own.clone().with_rules_around(project.settings(false).settings.flow_rules),
        };
        if !engine.has_flow_rules() {
            return Ok(engine);
        }
        let mut callers = Vec::new();
        let mut above = store.record(&stored.started.run).await?.parent;
        while let Some(caller) = above.take() {
            // A caller that was deleted says nothing.
            let Ok(record) = store.record(&caller).await else { break };
            callers.push(record.flow);
            above = if callers.len() < MOST_CALLERS { record.parent } else { None };
        }
        for flow in callers.iter().rev() {
            engine = engine.for_flow(flow);
        }
        Ok(engine)
    }
}

/// A process that works on the runs of a store.
pub struct RunWorker {
    store: Arc<dyn Store>,
    engines: WorkerEngines,
    limits: WorkerLimits,
    watch: Arc<dyn WorkerWatch>,
    /// Gets the events of its runs for whoever watches them.
    feeds: Option<RunFeeds>,
    owner: Arc<Owner>,
    /// The runs in progress, with their handles for stopping.
    under_way: BTreeMap<String, CancelSwitch>,
    work: JoinSet<(String, ContinuationEnd)>,
    /// The runs that could not continue here, until when they are left to other workers, and the length of that pause.
    elsewhere: BTreeMap<String, (Instant, Duration)>,
    reclaimed: Option<Instant>,
    /// Why the store could not be used at the last attempt.
    unavailable: Option<String>,
}

/// How a worker ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerEnd {
    /// It was stopped.
    Stopped,
    /// No run waits for it.
    Idle {
        /// The number of runs that could not continue here.
        left: usize,
    },
}

/// Why a worker stops.
enum WorkerStop {
    /// No run waits.
    Idle,
    /// A request.
    Asked,
    /// The store cannot be used, and waiting does not help.
    Unusable(StoreError),
}

impl RunWorker {
    /// Creates a worker whose engine uses the same owner.
    pub fn new(owner: Arc<Owner>, engines: WorkerEngines, limits: WorkerLimits, watch: Arc<dyn WorkerWatch>) -> Self {
        Self {
            store: owner.store().clone(),
            engines,
            limits,
            watch,
            feeds: None,
            owner,
            under_way: BTreeMap::new(),
            work: JoinSet::new(),
            elsewhere: BTreeMap::new(),
            reclaimed: None,
            unavailable: None,
        }
    }

    /// Gives the events of its runs to these feeds.
    #[must_use]
    pub fn with_feeds(self, feeds: RunFeeds) -> Self {
        Self { feeds: Some(feeds), ..self }
    }

    /// Works until it is stopped, or until no run waits, and gives its runs back. Others in this process may go on with theirs: what
    /// concerns the whole process is done by [`Engine::end_process`].
    ///
    /// # Errors
    ///
    /// The store cannot be used.
    pub async fn run_until_stopped(mut self, mut requests: impl StopRequests) -> Result<WorkerEnd, StoreError> {
        let (place, concurrency) = (self.store.display_location(), self.limits.concurrency);
        self.watch.take_event(WorkerEvent::Working { place, concurrency });
        let why = self.until_stopped(&mut requests).await;
        if !matches!(why, WorkerStop::Idle) {
            self.stop(requests, matches!(why, WorkerStop::Asked)).await;
        }
        match why {
            WorkerStop::Unusable(error) => Err(error),
            WorkerStop::Asked => Ok(WorkerEnd::Stopped),
            WorkerStop::Idle => Ok(WorkerEnd::Idle { left: self.elsewhere.len() }),
        }
    }

    async fn until_stopped(&mut self, requests: &mut impl StopRequests) -> WorkerStop {
        let mut asked = pin!(requests.next_request());
        loop {
            let idle = match self.claim_runs().await {
                Ok(idle) => {
                    self.unavailable = None;
                    idle
                }
                Err(error) if error.is_temporary() || self.limits.outlasts_store => {
                    // It is said once, not at every attempt.
                    let why = error.to_string();
                    if self.unavailable.replace(why.clone()) != Some(why) {
                        self.watch.take_event(WorkerEvent::StoreUnavailable(&error));
                    }
                    false
                }
                Err(error) => return WorkerStop::Unusable(error),
            };
            if idle && self.limits.once {
                return WorkerStop::Idle;
            }
            tokio::select! {
                () = &mut asked => return WorkerStop::Asked,
                Some(ended) = self.work.join_next() => self.finish_run(ended),
                () = self.store.wait_for_work(PAUSE), if self.has_room() => {}
            }
        }
    }

    fn has_room(&self) -> bool {
        self.under_way.len() < self.limits.concurrency
    }

    /// Claims as many runs as there is capacity for. Returns whether no run waits or is in progress.
    async fn claim_runs(&mut self) -> Result<bool, StoreError> {
        let is_due = match self.reclaimed {
            Some(at) => at.elapsed() >= RECLAIM,
            None => true,
        };
        if is_due {
            self.reclaimed = Some(Instant::now());
            self.store.reclaim_runs(self.store.clock().wall_ms()).await?;
        }
        let room = self.limits.concurrency.saturating_sub(self.under_way.len());
        if room > 0 {
            let time = Instant::now();
            // A run that has just been suspended can be claimed before its end here is known.
            let mut except: Vec<String> = self.under_way.keys().cloned().collect();
            for (run, (until, _)) in &self.elsewhere {
                if *until > time {
                    except.push(run.clone());
                }
            }
            let share = ClaimShare { except, most: room, per_flow: self.limits.per_flow };
            for hold in self.owner.take_runs(share).await? {
                self.begin(hold);
            }
        }
        Ok(self.under_way.is_empty())
    }

    fn begin(&mut self, hold: LeasedRun) {
        let (run, cancel) = (hold.run_id().to_owned(), CancelSwitch::new());
        self.under_way.insert(run.clone(), cancel.clone());
        let (owner, engines, watch) = (self.owner.clone(), self.engines.clone(), self.watch.clone());
        let feeds = self.feeds.clone();
        self.work.spawn(async move {
            let ended = continue_run(&owner, &engines, hold, &cancel, (&*watch, feeds.as_ref())).await;
            (run, ended)
        });
    }

    fn finish_run(&mut self, ended: Result<(String, ContinuationEnd), tokio::task::JoinError>) {
        let (run, ended) = match ended {
            Ok(ended) => ended,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => return,
            },
        };
        let interrupted = matches!(self.under_way.remove(&run), Some(cancel) if cancel.is_stopping());
        match ended {
            ContinuationEnd::Taken => {}
            ContinuationEnd::Refused(why) => {
                if !self.elsewhere.contains_key(&run) {
                    self.watch.take_event(WorkerEvent::RunRefused { run: &run, why: &why });
                }
                self.leave(run);
            }
            ContinuationEnd::TakenOver(outcome) => {
                self.watch.take_event(WorkerEvent::RunTaken(&outcome));
                self.elsewhere.remove(&run);
            }
            ContinuationEnd::Outcome { outcome, open, kept } => {
                self.watch.take_event(WorkerEvent::RunEnded { outcome: &outcome, open, kept });
                match open && !interrupted {
                    true => self.leave(run),
                    false => drop(self.elsewhere.remove(&run)),
                }
            }
        }
    }

    /// Leaves a run to other workers for a while.
    fn leave(&mut self, run: String) {
        let pause = match self.elsewhere.get(&run) {
            Some((_, pause)) => (*pause * 2).min(LATEST),
            None => AGAIN,
        };
        self.elsewhere.insert(run, (Instant::now() + pause, pause));
    }

    /// Stops all runs and releases them: first those whose work in progress has ended, then the others. A second request, or a store
    /// that cannot be used, ends the wait for that work; another one ends everything.
    async fn stop(&mut self, mut requests: impl StopRequests, drains: bool) {
        let runs = self.under_way.len();
        let may_drain = drains && runs > 0 && !self.limits.drain.is_zero();
        let drain = if may_drain { Some(self.limits.drain) } else { None };
        self.watch.take_event(WorkerEvent::Stopping { runs, drain });
        if let Some(drain) = drain {
            self.under_way.values().for_each(CancelSwitch::drain_runs);
            self.until_ended(&mut requests, drain).await;
            if !self.under_way.is_empty() {
                self.watch.take_event(WorkerEvent::CallsCut { runs: self.under_way.len() });
            }
        }
        self.under_way.values().for_each(CancelSwitch::interrupt_runs);
        self.until_ended(&mut requests, GRACE).await;
    }

    /// Waits until all runs have ended here, but not longer than this, and not after another request.
    async fn until_ended(&mut self, requests: &mut impl StopRequests, limit: Duration) {
        let all = async {
            while let Some(ended) = self.work.join_next().await {
                self.finish_run(ended);
            }
        };
        let other = async {
            // Terminals and programs such as `timeout` signal a process and its group.
            let _ = tokio::time::timeout(ONE_REQUEST, async {
                loop {
                    requests.next_request().await
                }
            })
            .await;
            requests.next_request().await;
        };
        tokio::select! {
            () = all => {}
            () = tokio::time::sleep(limit) => {}
            () = other => {}
        }
    }
}
