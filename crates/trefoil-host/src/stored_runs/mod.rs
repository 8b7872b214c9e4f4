//! The runs in a store, for any process: what they wait for, answers, cancellation, and following a run that another
//! process drives.

mod answer_posting;
mod cancellation;
mod deletion;
mod earlier_answers;
mod moment_parsing;
mod open_questions;
mod run_follower;
mod unreadable_run;
mod wait_cache;
mod waiting_steps;

use std::sync::Arc;

use trefoil_machine::AnswerSender;
use trefoil_machine::event::AwaitedActivity;
use trefoil_runtime::EventSink;
use trefoil_store::{Record, RunCursor, Store};

use crate::durable::{StoredRun, with_called_usage};
use trefoil_project::error::Result;

pub use answer_posting::{AnswerRefusal, post_answer};
pub use cancellation::{RunCancellation, cancel_run};
pub use deletion::{DeletionRefusal, RunDeletion, plan_deletion};
pub use earlier_answers::earlier_answer;
pub use moment_parsing::parse_moment;
pub use open_questions::{OpenQuestion, QuestionFilter, QuestionPage, open_questions};
pub use run_follower::RunFollower;
pub use unreadable_run::UnreadableRun;
pub use wait_cache::WaitCache;
pub use waiting_steps::{send_run_events, waiting_steps, waiting_steps_with_events};

/// The runs in a store. They may be driven by this process or by others.
///
/// [`Engine::submit_run`](crate::Engine::submit_run) puts a run there, [`Engine::resume_run`](crate::Engine::resume_run) continues one
/// here. Everything else about a run needs no engine: neither its models, nor its keys.
#[derive(Clone)]
pub struct Runs {
    store: Arc<dyn Store>,
    cache: Arc<WaitCache>,
}

impl Runs {
    /// Those of a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store, cache: Arc::default() }
    }
    /// The store, which lists runs, reads their journals and deletes them.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }
    /// The record of a run: its status, its figures with those of called runs that have not ended, who has it.
    ///
    /// # Errors
    ///
    /// [`Error::Store`](trefoil_project::Error::Store).
    pub async fn record(&self, run: &str) -> Result<Record> {
        let record = self.store.record(run).await?;
        Ok(with_called_usage(&*self.store, record).await?)
    }
    /// What a run waits for: questions, decisions about steps whose outcome is unknown, runs of its tools. Empty if it
    /// does not wait.
    ///
    /// # Errors
    ///
    /// [`Error::Store`](trefoil_project::Error::Store) if it cannot be read; [`Error::NotStarted`](trefoil_project::Error::NotStarted) with
    /// `JOURNAL_ERROR` or `NONDETERMINISM` if this version cannot replay it.
    pub async fn waiting_steps(&self, run: &str) -> Result<Vec<AwaitedActivity>> {
        let record = self.store.record(run).await?;
        Ok(waiting_steps(&self.store, &record).await?)
    }
    /// The open questions of all runs, by the start of their runs, newest first. `after`: the end of an earlier page. A page ends with a
    /// whole run, so it may have a few more questions than `limit`; it may also have fewer, although there is another one.
    ///
    /// # Errors
    ///
    /// [`Error::Store`](trefoil_project::Error::Store).
    pub async fn open_questions(
        &self,
        filter: &QuestionFilter,
        after: Option<RunCursor>,
        limit: usize,
    ) -> Result<QuestionPage> {
        open_questions(&self.store, &self.cache, filter, after, limit).await
    }
    /// Sends the events of a run so far to a sink, from its journal and with their original numbers. Nothing is called.
    ///
    /// # Errors
    ///
    /// As [`Self::waiting_steps`].
    pub async fn send_events(&self, run: &str, events: Arc<dyn EventSink>) -> Result<()> {
        let stored = StoredRun::read_run(&*self.store, run).await?;
        send_run_events(&self.store, &stored, events).await?;
        Ok(())
    }
    /// The events of a run from its first to its last, while another process drives it.
    ///
    /// # Errors
    ///
    /// [`Error::Store`](trefoil_project::Error::Store) if there is no such run, or its content is not kept.
    pub async fn follow_run(&self, run: &str) -> Result<RunFollower> {
        let stored = StoredRun::read_run(&*self.store, run).await?;
        Ok(self.follow_stored(stored))
    }
    pub(crate) fn follow_stored(&self, stored: StoredRun) -> RunFollower {
        RunFollower::new(self.store.clone(), stored, false)
    }
    /// The events of a run as [`Self::follow_run`] has them, and prompts say where each part of them comes from.
    pub fn follow_with_provenance(&self, stored: StoredRun) -> RunFollower {
        RunFollower::new(self.store.clone(), stored, true)
    }
    /// Answers a question of a run, or of a run that one of its tools has started. The answer is for the question as it
    /// is asked now: the first one counts. The process that drives the run continues with it; if there is none, the run
    /// can be resumed. A step whose outcome is unknown takes `retry`, `fail` or `done`. `sender`: who answers, and from where; every
    /// view of the run shows it with the answer.
    ///
    /// # Errors
    ///
    /// Why the answer does not count: [`AnswerRefusal`]. If somebody answered first, it says who.
    pub async fn answer_question(
        &self,
        run: &str,
        question: &AwaitedActivity,
        answer: &str,
        sender: Option<AnswerSender>,
    ) -> Result<(), AnswerRefusal> {
        post_answer(&self.store, run, question, answer, None, sender).await
    }
    /// Ends a run for good. If another process drives it, that process is asked to.
    ///
    /// # Errors
    ///
    /// [`Error::Store`](trefoil_project::Error::Store), also if it has ended.
    pub async fn cancel_run(&self, run: &str) -> Result<RunCancellation> {
        Ok(cancel_run(&self.store, run).await?)
    }
}
