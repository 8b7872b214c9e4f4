//! A process that works on the runs of a store, from any source: several at a time, on all hosts that share the store.
//!
//! Leases decide which process owns a run; this module decides when to request one. A worker claims waiting runs when
//! it has capacity, and resumes each like `trefoil resume`.

mod line;

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use trefoil::Cancel;
use trefoil::internals::engine::Engine;
use trefoil::internals::{Hold, Owner, Stored};
use trefoil::store::{Store, StoreError};
use trefoil_runtime::RunOutcome;

use crate::run::Signals;
use crate::store::now;
use crate::{exit, output};

/// Time between queries for runs, if there are no notifications.
const PAUSE: Duration = Duration::from_secs(1);
/// How often runs of ended processes are released.
const RECLAIM: Duration = Duration::from_secs(1);
/// Time until a run that cannot continue here is tried again; it doubles each time.
const AGAIN: Duration = Duration::from_secs(30);
/// The maximum of that time.
const LATEST: Duration = Duration::from_secs(3_600);
/// How long runs may take to stop normally when the worker is stopped.
const GRACE: Duration = Duration::from_secs(10);

/// The limits of a worker.
#[derive(Debug, Clone, Copy)]
pub struct Workload {
    /// Maximum number of concurrent runs.
    pub concurrency: usize,
    /// Whether to stop when no run waits.
    pub once: bool,
}

/// A process that works on the runs of a store.
pub struct Worker {
    store: Arc<dyn Store>,
    engine: Engine,
    workload: Workload,
    quiet: bool,
    owner: Arc<Owner>,
    /// The runs in progress, with their handles for stopping.
    under_way: BTreeMap<String, Cancel>,
    work: JoinSet<(String, WorkEnd)>,
    /// The runs that could not continue here, until when they are left to other workers, and the length of that pause.
    elsewhere: BTreeMap<String, (Instant, Duration)>,
    reclaimed: Option<Instant>,
}

/// The result of working on a run.
enum WorkEnd {
    /// The run was driven to an outcome.
    Outcome(Box<RunOutcome>),
    /// Another process owns it, or it has ended.
    Taken,
    /// It cannot be run here, and why.
    Refused(String),
}

impl Worker {
    /// Creates a worker whose engine uses the same owner.
    pub fn new(owner: Arc<Owner>, engine: Engine, workload: Workload, quiet: bool) -> Self {
        Self {
            store: owner.store().clone(),
            engine,
            workload,
            quiet,
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
        let runtime = runtime.map_err(|error| crate::commands::run::cannot_start(&error))?;
        let code = runtime.block_on(async {
            let mut signals = Signals::new().map_err(|error| crate::commands::run::cannot_start(&error))?;
            self.say(&format!(
                "working on the runs in {}, {} at a time",
                self.store.place(),
                self.workload.concurrency
            ));
            let stopped = {
                let mut asked = pin!(signals.next());
                loop {
                    let idle = match self.take().await {
                        Ok(idle) => idle,
                        Err(error) => {
                            output::warning(&format!("the store cannot be asked for runs: {error}"));
                            false
                        }
                    };
                    if idle && self.workload.once {
                        break false;
                    }
                    tokio::select! {
                        () = &mut asked => break true,
                        Some(ended) = self.work.join_next() => self.ended(ended),
                        () = self.store.stirred(PAUSE), if self.has_room() => {}
                    }
                }
            };
            if stopped {
                self.stop(signals).await;
            }
            Ok(match self.engine.release().await {
                Ok(()) => exit::OK,
                Err(error) => {
                    output::refuse(&format!("not all runs were given back: {error}"), None);
                    exit::FAILED
                }
            })
        });
        // Remaining tasks only wait for others, so nothing is lost.
        runtime.shutdown_timeout(Duration::from_millis(200));
        code
    }

    fn has_room(&self) -> bool {
        self.under_way.len() < self.workload.concurrency
    }

    /// Claims as many runs as there is capacity for. Returns whether no run waits or is in progress.
    async fn take(&mut self) -> Result<bool, StoreError> {
        if self.reclaimed.is_none_or(|at| at.elapsed() >= RECLAIM) {
            self.reclaimed = Some(Instant::now());
            self.store.reclaim(now(&*self.store)).await?;
        }
        let room = self.workload.concurrency.saturating_sub(self.under_way.len());
        if room > 0 {
            let time = Instant::now();
            let left = self.elsewhere.iter().filter(|(_, (until, _))| *until > time).map(|(run, _)| run.clone());
            for hold in self.owner.take(&left.collect::<Vec<_>>(), room).await? {
                self.begin(hold);
            }
        }
        Ok(self.under_way.is_empty())
    }

    fn begin(&mut self, hold: Hold) {
        let (run, cancel) = (hold.run().to_owned(), Cancel::new());
        self.under_way.insert(run.clone(), cancel.clone());
        let (store, engine, quiet) = (self.store.clone(), self.engine.clone(), self.quiet);
        self.work.spawn(async move {
            let ended = go_on(&*store, &engine, hold, &cancel, quiet).await;
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
        let interrupted = self.under_way.remove(&run).is_some_and(|cancel| cancel.is_cancelled());
        match ended {
            WorkEnd::Taken => {}
            WorkEnd::Refused(why) => {
                if !self.elsewhere.contains_key(&run) {
                    output::warning(&format!("run {run} cannot continue here: {why}"));
                }
                self.leave(run);
            }
            WorkEnd::Outcome(outcome) => {
                self.say(&line::ended(&outcome));
                // This process lacks something that another worker may have.
                let stuck = outcome.continues && !outcome.suspended && outcome.result.is_err();
                match stuck && !interrupted {
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

    /// Stops all runs and releases them. A second signal ends the wait.
    async fn stop(&mut self, mut signals: Signals) {
        self.say(&match self.under_way.len() {
            0 => "stopping".to_owned(),
            1 => "stopping; 1 run is given back".to_owned(),
            n => format!("stopping; {n} runs are given back"),
        });
        self.under_way.values().for_each(Cancel::interrupt);
        let all = async {
            while let Some(ended) = self.work.join_next().await {
                self.ended(ended);
            }
        };
        tokio::select! {
            () = all => {}
            () = tokio::time::sleep(GRACE) => {}
            () = signals.next() => {}
        }
        trefoil::internals::shell::end_all();
    }

    fn say(&self, line: &str) {
        if !self.quiet {
            output::say(line);
        }
    }
}

/// Resumes a run that this process owns. Dropping the future releases it.
async fn go_on(store: &dyn Store, engine: &Engine, hold: Hold, cancel: &Cancel, quiet: bool) -> WorkEnd {
    use trefoil::Error;
    let refused = |error: Error| match error {
        Error::Store(
            StoreError::Held { .. } | StoreError::Ended { .. } | StoreError::NoRun { .. } | StoreError::NotHeld { .. },
        ) => WorkEnd::Taken,
        // It is tried again when the store responds.
        Error::Store(error) if error.is_of_the_store() => WorkEnd::Taken,
        error => WorkEnd::Refused(line::why(&error)),
    };
    let run = hold.run().to_owned();
    let stored = match Stored::read(store, &run).await {
        Ok(stored) => stored,
        Err(error) => return refused(error),
    };
    let ready = match engine.as_begun(&stored).ready_again(&stored, &[]).await {
        Ok(ready) => ready,
        Err(error) => return refused(error),
    };
    let begun = match ready.resume_held(hold) {
        Ok(begun) => begun,
        Err(error) => return refused(error),
    };
    if !quiet {
        output::say(&line::begun(&run, &stored));
    }
    let stop = begun.canceller();
    let mut outcome = pin!(begun.outcome());
    let outcome = tokio::select! {
        outcome = &mut outcome => outcome,
        () = cancel.cancelled() => {
            stop.interrupt();
            outcome.await
        }
    };
    WorkEnd::Outcome(Box::new(outcome))
}
