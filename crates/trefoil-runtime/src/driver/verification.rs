//! Verifies a journal: replays the program with the results in the journal, and performs nothing. The requests of the program are
//! compared with those in the journal, and its output with the recorded end. Results reused from earlier runs are looked up there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::journal_error;
use crate::ports::{Journal, JournalError};
use trefoil_machine::error::RunError;
use trefoil_machine::journal::{Cited, Entry, EntryKind};
use trefoil_machine::key::{ContentKey, Key};
use trefoil_machine::machine::{DifferenceKind, ReplayDifference};
use trefoil_machine::private::PrivateValue;
use trefoil_machine::{NoObserver, PreparedProgram, Replay, ReplayObserver};

/// The result of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerificationReport {
    /// Entries that were read.
    pub entries: u64,
    /// Results that were passed to the program, each for a request that was compared.
    pub results: u64,
    /// Of these, the results of earlier runs, by run.
    pub cited: BTreeMap<String, u64>,
    /// How many of these could not be compared, because that run was deleted.
    pub unchecked: BTreeMap<String, u64>,
    /// Whether the journal has the end of the run.
    pub ended: bool,
    /// All differences between the journal and the program or an earlier run, in the order of the entries.
    pub differences: Vec<ReplayDifference>,
    /// Warnings for the user: the version of the semantics has changed.
    pub notes: Vec<String>,
}

impl VerificationReport {
    /// Whether the journal matches the program.
    pub fn matches_program(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Replays a whole journal for a watcher, and performs nothing.
///
/// # Errors
///
/// `JOURNAL_ERROR` if it cannot be read, `NONDETERMINISM` if it belongs to another program.
pub async fn look_on<W: ReplayObserver + Send>(
    prepared: Arc<PreparedProgram>,
    run: &str,
    journal: &dyn Journal,
    watcher: &mut W,
) -> Result<(), RunError> {
    let begin = |entry: &Entry, watcher: &mut W| Replay::from_first_entry(prepared.clone(), entry, watcher);
    let replay = follow(run, journal, watcher, begin, |_| ()).await?;
    replay.finish_replay(watcher).map(|_| ())
}

/// Replays a whole journal, including reopenings, and performs nothing.
///
/// # Errors
///
/// As [`look_on`].
pub async fn replay_journal(
    prepared: Arc<PreparedProgram>,
    run: &str,
    journal: &dyn Journal,
) -> Result<Replay, RunError> {
    let begin = |entry: &Entry, watcher: &mut NoObserver| Replay::from_first_entry(prepared.clone(), entry, watcher);
    follow(run, journal, &mut NoObserver, begin, |_| ()).await
}

/// Replays a whole journal while reading it. `each` is called with every entry before it is replayed.
async fn follow<W: ReplayObserver + Send>(
    run: &str,
    journal: &dyn Journal,
    watcher: &mut W,
    begin: impl Fn(&Entry, &mut W) -> Result<Replay, RunError>,
    mut each: impl FnMut(&Entry),
) -> Result<Replay, RunError> {
    let mut replay: Option<(Entry, Replay)> = None;
    let mut next = 0;
    loop {
        let page = journal.read_entries(run, next).await.map_err(journal_error)?;
        if page.is_empty() {
            break;
        }
        for entry in page {
            next = entry.seq.saturating_add(1);
            each(&entry);
            match &mut replay {
                None => {
                    let begun = begin(&entry, watcher)?;
                    replay = Some((entry, begun));
                }
                Some((first, replay)) => super::next(journal, run, first, replay, &entry, watcher).await?,
            }
        }
        tokio::task::yield_now().await;
    }
    let empty = || RunError::new("JOURNAL_ERROR", format!("the journal of `{run}` is empty"));
    replay.map(|(_, replay)| replay).ok_or_else(empty)
}

/// A result that the journal cites from an earlier run.
struct JournalCitation {
    seq: u64,
    key: Key,
    cited: Cited,
    value: PrivateValue,
    /// Whether guardrails of this run have changed it, so that it may differ.
    changed: bool,
}

/// Compares a run's journal with its program, and with the journals of the runs that it cites.
///
/// # Errors
///
/// `JOURNAL_ERROR` if it cannot be read; `NONDETERMINISM` if it is not the journal of a run, or of a later version.
pub async fn verify_journal(
    prepared: Arc<PreparedProgram>,
    run: &str,
    journal: &dyn Journal,
) -> Result<VerificationReport, RunError> {
    let mut verified = VerificationReport::default();
    let mut citations = Vec::new();
    let begin = |entry: &Entry, watcher: &mut NoObserver| Replay::to_compare(prepared.clone(), entry, watcher);
    let each = |entry: &Entry| note(&mut verified, entry, &mut citations);
    let replay = follow(run, journal, &mut NoObserver, begin, each).await?;
    let resumed = replay.finish_replay(&mut NoObserver)?;
    verified.notes = resumed.notes;
    verified.differences = resumed.differences;
    look_up(journal, &citations, &mut verified).await;
    verified.differences.sort_by_key(|difference| difference.seq);
    Ok(verified)
}

fn note(verified: &mut VerificationReport, entry: &Entry, citations: &mut Vec<JournalCitation>) {
    verified.entries += 1;
    match &entry.kind {
        EntryKind::Completed { key, value, about } => {
            verified.results += 1;
            if let Some(cited) = about.from.as_deref().filter(|_| about.kept.is_none()) {
                *verified.cited.entry(cited.run.clone()).or_default() += 1;
                let (key, cited, value) = (key.clone(), cited.clone(), value.clone());
                let changed = about.changed_by.is_some();
                citations.push(JournalCitation { seq: entry.seq, key, cited, value, changed });
            }
        }
        EntryKind::Failed { .. } => verified.results += 1,
        EntryKind::Finished { .. } => verified.ended = true,
        EntryKind::Reopened { .. } => verified.ended = false,
        _ => {}
    }
}

/// Compares the citations with the journals of the earlier runs.
async fn look_up(journal: &dyn Journal, citations: &[JournalCitation], verified: &mut VerificationReport) {
    let runs: BTreeSet<&str> = citations.iter().map(|one| one.cited.run.as_str()).collect();
    for run in runs {
        let of_run = citations.iter().filter(|one| one.cited.run == run);
        let wanted = of_run.clone().map(|one| one.cited.key.as_ref().unwrap_or(&one.key)).collect();
        let results = results(journal, run, &wanted).await;
        if results.as_ref().is_err_and(|error| error.is_deleted) {
            verified.unchecked.insert(run.to_owned(), of_run.count() as u64);
            continue;
        }
        for JournalCitation { seq, key, cited, value, changed } in of_run {
            let there = cited.key.as_ref().unwrap_or(key);
            let message = match &results {
                Err(error) => format!("`{key}` is said to be of run {run}, which cannot be read: {}", error.message),
                Ok(results) => match results.get(there) {
                    None => format!("`{key}` is said to be `{there}` of run {run}, which has no such result"),
                    Some((content, _)) if *content != Some(cited.content) => {
                        format!("`{key}` is said to be `{there}` of run {run}, which asked for something else there")
                    }
                    Some((_, known)) if known.exact_value() != value.exact_value() && !changed => {
                        format!("`{key}` was taken from `{there}` of run {run}, which has a different result there")
                    }
                    Some(_) => continue,
                },
            };
            verified.differences.push(ReplayDifference::for_entry(*seq, Some(key), DifferenceKind::Citation, message));
        }
    }
}

type JournalResults = BTreeMap<Key, (Option<ContentKey>, PrivateValue)>;

/// The requests and results of these activities of a run.
async fn results(journal: &dyn Journal, run: &str, wanted: &BTreeSet<&Key>) -> Result<JournalResults, JournalError> {
    let (mut asked, mut results, mut next) = (BTreeMap::new(), JournalResults::new(), 0);
    loop {
        let page = journal.read_entries(run, next).await?;
        if page.is_empty() {
            return Ok(results);
        }
        for entry in page {
            next = entry.seq.saturating_add(1);
            match entry.kind {
                EntryKind::Scheduled { key, content, .. } if wanted.contains(&key) => drop(asked.insert(key, content)),
                EntryKind::Completed { key, value, about } if wanted.contains(&key) => {
                    let content = about.from.map(|cited| cited.content).or_else(|| asked.get(&key).copied());
                    results.insert(key, (content, value));
                }
                _ => {}
            }
        }
        tokio::task::yield_now().await;
    }
}
