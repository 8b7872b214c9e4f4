//! A process that works on the runs of a store, from any source: several at a time, on all hosts that share the store.
//!
//! Leases decide which process owns a run; this module decides when to request one. A worker claims waiting runs when
//! it has capacity, and resumes each like `trefoil resume`.

mod line;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use trefoil::Cancel;
use trefoil::internals::engine::Engine;
use trefoil::internals::{Hold, Owner, Stored, StoredProject};
use trefoil::store::{ClaimShare, Store, StoreError};
use trefoil_runtime::RunOutcome;

use crate::refusal::{cannot_start, refuse_store};
use crate::run::Signals;
use crate::runs::past::without_project;
use crate::words::count_of;
use crate::{exit, output};
use trefoil::internals::command::RunOptions;

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

/// Signals that come within this time are one.
const ONE_SIGNAL: Duration = Duration::from_millis(500);

/// The limits of a worker.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// Maximum number of concurrent runs.
    pub concurrency: usize,
    /// Maximum number of concurrent runs of one flow.
    pub per_flow: Option<usize>,
    /// Whether to stop when no run waits.
    pub once: bool,
    /// How long the work in progress may take to end when the worker is stopped.
    pub drain: Duration,
}

/// What runs may use.
#[derive(Clone)]
pub struct Engines {
    /// For runs whose files are those of the project of the folder.
    pub of_project: Engine,
    /// For all others: the settings of the user, and the options of the command line.
    pub own: Engine,
    /// The folder in which the worker was started.
    pub folder: PathBuf,
}

/// A process that works on the runs of a store.
pub struct Worker {
    store: Arc<dyn Store>,
    engines: Engines,
    workload: Workload,
    quiet: bool,
    /// The options of printed commands.
    options: RunOptions,
    owner: Arc<Owner>,
    /// The runs in progress, with their handles for stopping.
    under_way: BTreeMap<String, Cancel>,
    work: JoinSet<(String, WorkEnd)>,
    /// The runs that could not continue here, until when they are left to other workers, and the length of that pause.
    elsewhere: BTreeMap<String, (Instant, Duration)>,
    reclaimed: Option<Instant>,
}

/// Why a worker stops.
enum Stop {
    /// No run waits.
    Idle,
    /// A signal.
    Asked,
    /// The store cannot be used, and waiting does not help.
    Unusable(StoreError),
}

/// The result of working on a run.
enum WorkEnd {
    /// The run was driven to an outcome. `open`: it has not ended in the store. `kept`: the store keeps its content.
    Outcome { outcome: Box<RunOutcome>, open: bool, kept: bool },
    /// This process has lost the run to another one.
    TakenOver(Box<RunOutcome>),
    /// Another process owns it, or it has ended.
    Taken,
    /// It cannot be run here, and why.
    Refused(String),
}

impl Worker {
    /// Creates a worker whose engine uses the same owner.
    pub fn new(owner: Arc<Owner>, engines: Engines, workload: Workload, (quiet, options): (bool, RunOptions)) -> Self {
        Self {
            store: owner.store().clone(),
            engines,
            workload,
            quiet,
            options,
            owner,
            under_way: BTreeMap::new(),
            work: JoinSet::new(),
            elsewhere: BTreeMap::new(),
            reclaimed: None,
        }
    }

    /// Works until it is stopped, or until no run waits. Returns the exit code.
    pub fn work(mut self) -> Result<u8, u8> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| cannot_start(&error))?;
        let code = runtime.block_on(async {
            let mut signals = Signals::new().map_err(|error| cannot_start(&error))?;
            self.say(&format!(
                "working on the runs in {}, {} at a time",
                self.store.place(),
                self.workload.concurrency
            ));
            let why = self.until_stopped(&mut signals).await;
            if !matches!(why, Stop::Idle) {
                self.stop(signals, matches!(why, Stop::Asked)).await;
            }
            let released = self.engines.of_project.release().await;
            if let Stop::Unusable(error) = why {
                return Err(refuse_store(&error));
            }
            if let Err(error) = released {
                output::refuse(&format!("not all runs were given back: {error}"), None);
                return Err(exit::FAILED);
            }
            match self.elsewhere.len() {
                left if left > 0 && matches!(why, Stop::Idle) => {
                    output::note(format!("{} could not continue here", count_of(left as u64, "run")));
                    Ok(exit::FAILED)
                }
                _ => Ok(exit::OK),
            }
        });
        // Remaining tasks only wait for others, so nothing is lost.
        runtime.shutdown_timeout(Duration::from_millis(200));
        code
    }

    async fn until_stopped(&mut self, signals: &mut Signals) -> Stop {
        let mut asked = pin!(signals.next());
        loop {
            let idle = match self.take().await {
                Ok(idle) => idle,
                Err(error) if error.passes() => {
                    output::warning(format!("the store cannot be asked for runs: {error}"));
                    false
                }
                Err(error) => return Stop::Unusable(error),
            };
            if idle && self.workload.once {
                return Stop::Idle;
            }
            tokio::select! {
                () = &mut asked => return Stop::Asked,
                Some(ended) = self.work.join_next() => self.ended(ended),
                () = self.store.stirred(PAUSE), if self.has_room() => {}
            }
        }
    }

    fn has_room(&self) -> bool {
        self.under_way.len() < self.workload.concurrency
    }

    /// Claims as many runs as there is capacity for. Returns whether no run waits or is in progress.
    async fn take(&mut self) -> Result<bool, StoreError> {
        if self.reclaimed.is_none_or(|at| at.elapsed() >= RECLAIM) {
            self.reclaimed = Some(Instant::now());
            self.store.reclaim(self.store.clock().wall_ms()).await?;
        }
        let room = self.workload.concurrency.saturating_sub(self.under_way.len());
        if room > 0 {
            let time = Instant::now();
            let left = self.elsewhere.iter().filter(|(_, (until, _))| *until > time).map(|(run, _)| run.clone());
            let share = ClaimShare { except: left.collect(), most: room, per_flow: self.workload.per_flow };
            for hold in self.owner.take(share).await? {
                self.begin(hold);
            }
        }
        Ok(self.under_way.is_empty())
    }

    fn begin(&mut self, hold: Hold) {
        let (run, cancel) = (hold.run().to_owned(), Cancel::new());
        self.under_way.insert(run.clone(), cancel.clone());
        let (owner, engines, quiet) = (self.owner.clone(), self.engines.clone(), self.quiet);
        self.work.spawn(async move {
            let ended = go_on(&owner, &engines, hold, &cancel, quiet).await;
            (run, ended)
        });
    }

    fn ended(&mut self, ended: Result<(String, WorkEnd), tokio::task::JoinError>) {
        let (run, ended) = match ended {
            Ok(ended) => ended,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => return,
            },
        };
        let interrupted = self.under_way.remove(&run).is_some_and(|cancel| cancel.is_stopping());
        match ended {
            WorkEnd::Taken => {}
            WorkEnd::Refused(why) => {
                if !self.elsewhere.contains_key(&run) {
                    output::warning(format!("run {run} cannot continue here: {why}"));
                }
                self.leave(run);
            }
            WorkEnd::TakenOver(outcome) => {
                self.say(&line::taken_over(&outcome));
                self.elsewhere.remove(&run);
            }
            WorkEnd::Outcome { outcome, open, kept } => {
                self.say(&line::ended(&outcome, open, kept, &self.options));
                match open && !interrupted {
                    true => self.leave(run),
                    false => drop(self.elsewhere.remove(&run)),
                }
            }
        }
    }

    /// Leaves a run to other workers for a while.
    fn leave(&mut self, run: String) {
        let pause = self.elsewhere.get(&run).map_or(AGAIN, |(_, pause)| (*pause * 2).min(LATEST));
        self.elsewhere.insert(run, (Instant::now() + pause, pause));
    }

    /// Stops all runs and releases them: first those whose work in progress has ended, then the others. A second signal, or a store
    /// that cannot be used, ends the wait for that work; another signal ends everything.
    async fn stop(&mut self, mut signals: Signals, drains: bool) {
        let (runs, drain) = (self.under_way.len(), self.workload.drain);
        let drains = drains && runs > 0 && !drain.is_zero();
        let words = |runs: usize| match runs {
            1 => ("1 run is given back".to_owned(), "its"),
            n => (format!("{n} runs are given back"), "their"),
        };
        let (given, whose) = words(runs);
        self.say(&match runs {
            0 => "stopping".to_owned(),
            _ if drains => {
                let limit = drain.as_secs();
                format!("stopping; {given} when {whose} calls in progress have ended, or after {limit} s (at once with another signal)")
            }
            _ => format!("stopping; {given}"),
        });
        if drains {
            self.under_way.values().for_each(Cancel::drain);
            self.until_ended(&mut signals, drain).await;
            if !self.under_way.is_empty() {
                let (given, whose) = words(self.under_way.len());
                self.say(&format!("{given}, and {whose} calls in progress may be paid for again"));
            }
        }
        self.under_way.values().for_each(Cancel::interrupt);
        self.until_ended(&mut signals, GRACE).await;
        trefoil::internals::shell::end_all();
    }

    /// Waits until all runs have ended here, but not longer than this, and not after another signal.
    async fn until_ended(&mut self, signals: &mut Signals, limit: Duration) {
        let all = async {
            while let Some(ended) = self.work.join_next().await {
                self.ended(ended);
            }
        };
        let other = async {
            // Terminals and programs such as `timeout` signal a process and its group.
            let _ = tokio::time::timeout(ONE_SIGNAL, async {
                loop {
                    signals.next().await
                }
            })
            .await;
            signals.next().await;
        };
        tokio::select! {
            () = all => {}
            () = tokio::time::sleep(limit) => {}
            () = other => {}
        }
    }

    fn say(&self, line: &str) {
        if !self.quiet {
            output::say(line);
        }
    }
}

/// Resumes a run that this process owns. Dropping the future releases it.
async fn go_on(owner: &Owner, engines: &Engines, hold: Hold, cancel: &Cancel, quiet: bool) -> WorkEnd {
    use trefoil::Error;
    let refused = |error: Error| match error {
        Error::Store(
            StoreError::Held { .. } | StoreError::Ended { .. } | StoreError::NoRun { .. } | StoreError::NotHeld { .. },
        ) => WorkEnd::Taken,
        // It is tried again when the store responds.
        Error::Store(error) if error.is_of_the_store() => WorkEnd::Taken,
        error => WorkEnd::Refused(line::why(&error)),
    };
    let (run, store) = (hold.run().to_owned(), &**owner.store());
    let stored = match Stored::read(store, &run).await {
        Ok(stored) => stored,
        Err(error) => return refused(error),
    };
    let project = match StoredProject::of_worker(store, &stored, &engines.folder).await {
        Ok(project) => project,
        Err(error) => return refused(error),
    };
    if let Some(why) = project.why_not().filter(|_| !quiet) {
        output::note(format!("run {run}: {}", without_project(why)));
    }
    let engine = if project.is_around(&engines.folder) { &engines.of_project } else { &engines.own };
    let ready = match engine.as_begun(&stored).ready_again(&stored, &[]).await {
        Ok(ready) => ready,
        Err(error) => return refused(error),
    };
    let begun = match ready.resume_held(hold) {
        Ok(begun) => begun,
        Err(error) => return refused(error),
    };
    if !quiet {
        output::say(line::begun(&run, &stored));
    }
    let stop = begun.canceller();
    let mut outcome = pin!(begun.outcome());
    let outcome = tokio::select! {
        outcome = &mut outcome => outcome,
        () = cancel.passed_on(&stop) => outcome.await,
    };
    let outcome = Box::new(outcome);
    // This process lacks something that another worker may have: the store says who has the run, and whether it has ended.
    let waits = outcome.suspended && !outcome.is_refused();
    let stuck = outcome.continues && !waits && outcome.waiting.is_empty() && outcome.result.is_err();
    let kept = stored.is_kept();
    if !stuck {
        return WorkEnd::Outcome { outcome, open: false, kept };
    }
    let Ok(record) = store.record(&run).await else { return WorkEnd::Outcome { outcome, open: true, kept } };
    let lost = outcome.result.as_ref().is_err_and(|error| error.code == "JOURNAL_ERROR");
    let elsewhere = record.owner.is_some_and(|(name, _)| name != owner.name());
    match lost && (elsewhere || record.status.is_end()) {
        true => WorkEnd::TakenOver(outcome),
        false => WorkEnd::Outcome { outcome, open: !record.status.is_end(), kept },
    }
}
