//! The open questions of all runs: what people can answer or decide now.
//!
//! What a run asks is known only from its journal, which is replayed. So a page reads a limited number of journals, and what was read
//! is kept until the journal grows ([`WaitCache`]).

use std::sync::Arc;

use trefoil_machine::event::AwaitedActivity;
use trefoil_project::error::{Error, Result};
use trefoil_store::{Record, RunCursor, RunFilter, Status, Store, StoreError};

use super::UnreadableRun;
use super::wait_cache::WaitCache;
use super::waiting_steps::known_waiting_steps;

/// The statuses in which a run may ask something.
const ASKING: [Status; 3] = [Status::Waiting, Status::Interrupted, Status::Running];
/// Runs that are listed at once.
const LISTED: usize = 50;
/// Maximum number of runs that are looked at for one page.
const MOST_RUNS: usize = 500;
/// Runs above a run are not looked at any further: flows do not call each other so deep.
const DEEPEST: usize = 64;

/// Selects open questions. An unset field matches every question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct QuestionFilter {
    /// Of runs of this flow, including what the runs ask that they have started.
    pub flow: Option<String>,
    /// Of this run, including what the runs ask that it has started.
    pub run: Option<String>,
    /// Of runs with all of these labels. No format names the person who is to answer, so a label has to.
    pub labels: Vec<(String, String)>,
}

/// An open question.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenQuestion {
    /// The run. If one of the runs asks that it has started, [`AwaitedActivity::run`] names that one.
    pub record: Arc<Record>,
    /// The question, or the decision about an unknown outcome.
    pub question: AwaitedActivity,
}

/// Open questions, by the start of their runs, newest first.
#[derive(Debug, Default)]
pub struct QuestionPage {
    /// The questions.
    pub questions: Vec<OpenQuestion>,
    /// Runs that this build cannot read, and why. They may ask something.
    pub unreadable: Vec<(String, UnreadableRun)>,
    /// Where the next page begins; `None` if this is the last one.
    pub next: Option<RunCursor>,
}

/// The open questions of all runs that wait, are interrupted or are in progress. A question of a run that another run has started is
/// listed with the outermost run that the filter selects. `after`: the end of an earlier page. A page ends with a whole run, so it may
/// have a few more questions than `limit`; it may also have fewer, although there is another one.
///
/// # Errors
///
/// If the store cannot be read.
pub async fn open_questions(
    store: &Arc<dyn Store>,
    cache: &WaitCache,
    filter: &QuestionFilter,
    after: Option<RunCursor>,
    limit: usize,
) -> Result<QuestionPage> {
    let mut page = QuestionPage::default();
    if let Some(run) = &filter.run {
        let record = store.record(run).await?;
        if filter.selects(&record) {
            page.add_run(store, cache, record).await?;
        }
        return Ok(page);
    }
    let QuestionFilter { flow, run: _, labels } = filter.clone();
    let runs = RunFilter { status: ASKING.to_vec(), flow, labels, ..RunFilter::default() };
    let mut seen = 0;
    page.next = after;
    loop {
        let wanted = limit.saturating_sub(page.questions.len()).clamp(1, LISTED);
        let listed = store.list_runs(&runs, page.next, wanted).await?;
        seen += listed.runs.len();
        for record in listed.runs {
            if !is_listed_above(store, filter, &record).await? {
                page.add_run(store, cache, record).await?;
            }
        }
        page.next = listed.next;
        if page.next.is_none() || page.questions.len() >= limit || seen >= MOST_RUNS {
            return Ok(page);
        }
    }
}

impl QuestionFilter {
    /// Whether a run may ask something that is selected.
    fn selects(&self, record: &Record) -> bool {
        let has_flow = self.flow.is_none() || self.flow.as_ref() == Some(&record.flow);
        let has_labels = self.labels.iter().all(|label| record.labels.contains(label));
        has_flow && has_labels && ASKING.contains(&record.status)
    }
}

impl QuestionPage {
    async fn add_run(&mut self, store: &Arc<dyn Store>, cache: &WaitCache, record: Record) -> Result<()> {
        let steps = match known_waiting_steps(store, &record, cache).await {
            Ok(steps) => steps,
            // It was deleted in the meantime.
            Err(UnreadableRun::Error(Error::Store(StoreError::NoRun { .. }))) => return Ok(()),
            Err(UnreadableRun::Error(Error::Store(error))) if is_gone(&error) => return Err(error.into()),
            Err(why) => {
                self.unreadable.push((record.run, why));
                return Ok(());
            }
        };
        let record = Arc::new(record);
        for question in steps {
            if is_open(&question) {
                self.questions.push(OpenQuestion { record: record.clone(), question });
            }
        }
        Ok(())
    }
}

/// Whether the store itself cannot be read, and not only one run.
fn is_gone(error: &StoreError) -> bool {
    error.is_of_the_store() && !matches!(error, StoreError::Corrupt { .. })
}

/// Whether somebody can answer it or decide about it.
fn is_open(step: &AwaitedActivity) -> bool {
    step.settled.is_none() && step.sort != "run"
}

/// Whether the questions of a run are listed with a run above it.
async fn is_listed_above(store: &Arc<dyn Store>, filter: &QuestionFilter, record: &Record) -> Result<bool> {
    let mut parent = record.parent.clone();
    for _ in 0..DEEPEST {
        let Some(caller) = parent else { return Ok(false) };
        // It may have been deleted.
        let Ok(caller) = store.record(&caller).await else { return Ok(false) };
        if filter.selects(&caller) {
            return Ok(true);
        }
        if caller.status.is_end() {
            return Ok(false);
        }
        parent = caller.parent;
    }
    Ok(false)
}
