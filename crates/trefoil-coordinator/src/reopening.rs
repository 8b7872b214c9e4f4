//! Reopens a failed run: which activities are asked again, and whether that leads anywhere.
//!
//! A host reads the entries of the run twice, and passes them on: to [`FailedRun`], which finds the activities, and to the replay
//! without their earlier ends, which [`RunReopening`] begins and judges. [`ReopenedRun`] is what came of it.

use std::collections::BTreeSet;

use trefoil_machine::clock::WorkMs;
use trefoil_machine::error::RunError;
use trefoil_machine::guard::validator::is_ended_by_signal;
use trefoil_machine::journal::{Entry, EntryKind, ResumeChanges, VERSION};
use trefoil_machine::key::Key;
use trefoil_machine::machine::{FailureScan, JournalReopening, ReplayRebuild};
use trefoil_machine::{Replay, ReplayNotice, ReplayObserver};

use crate::memo::Memo;
use crate::notice::Notice;
use crate::recovery::is_unknown;
use crate::run::RunResumption;

/// A failed run whose entries are being read, from the second one on.
pub struct FailedRun {
    error: RunError,
    scan: FailureScan,
    unknown: BTreeSet<Key>,
    /// Tools and commands that have started.
    acts: BTreeSet<Key>,
    commands: BTreeSet<Key>,
}

impl FailedRun {
    /// A run of this program that ended with this error.
    pub fn new(error: &RunError, program: &str) -> Self {
        let (acts, commands) = (BTreeSet::new(), BTreeSet::new());
        Self {
            error: error.clone(),
            scan: FailureScan::for_failure(error, program),
            unknown: BTreeSet::new(),
            acts,
            commands,
        }
    }

    /// The next entry.
    pub fn scan_entry(&mut self, entry: &Entry) {
        self.scan.scan_entry(entry);
        match &entry.kind {
            EntryKind::Failed { key, error, .. } if is_unknown(error) && self.acts.contains(key) => {
                self.unknown.insert(key.clone());
            }
            EntryKind::Completed { key, value, .. }
                if self.commands.contains(key) && is_ended_by_signal(value.exact_value()) =>
            {
                self.unknown.insert(key.clone());
            }
            EntryKind::Scheduled { key, sort, .. } => {
                self.unknown.remove(key);
                if sort == "command" {
                    self.commands.insert(key.clone());
                }
                if sort == "tool" || sort == "command" {
                    self.acts.insert(key.clone());
                }
            }
            _ => {}
        }
    }

    /// The last entry was read. `replay`: of all of them.
    pub fn begin_reopening(self, replay: &Replay, changes: ResumeChanges) -> RunReopening {
        let Self { error, scan, mut unknown, .. } = self;
        let again = scan.finish_scan(replay.stopped_steps());
        unknown.retain(|key| again.contains(key));
        RunReopening { error, unknown, again, changes }
    }
}

/// A failed run that is replayed without the earlier ends of what is asked again.
pub struct RunReopening {
    error: RunError,
    unknown: BTreeSet<Key>,
    again: Vec<Key>,
    changes: ResumeChanges,
}

impl RunReopening {
    /// Begins the replay. The host passes the entries on, but for the first.
    ///
    /// # Errors
    ///
    /// As for [`Replay::begin_rebuild`].
    pub fn begin_rebuild(&self, replay: &Replay, first: &Entry) -> Result<ReplayRebuild, RunError> {
        let next = JournalReopening { seq: replay.next_seq(), again: self.again.clone() };
        replay.begin_rebuild(first, (next, self.changes.clone()))
    }

    /// The entries were replayed. Afterwards `replay` is that of the reopened run. `wall_ms`: now, in milliseconds since
    /// 1970-01-01 UTC.
    ///
    /// # Errors
    ///
    /// The run would end before it does anything: `WOULD_REPEAT`, or a limit that it meets only now.
    pub fn finish_reopening(
        self,
        mut rebuild: ReplayRebuild,
        replay: &mut Replay,
        wall_ms: u64,
    ) -> Result<ReopenedRun, RunError> {
        let Self { error, unknown, again, changes } = self;
        // A limit that is lower than what was used already.
        if let Some(end) = rebuild.ended_with() {
            return Err(ends_at_once(&error, end.as_ref().err()));
        }
        let (engine, execution) = (crate::ENGINE.to_owned(), replay.execution_count().saturating_add(1));
        let kind = EntryKind::Reopened { engine, execution, at: wall_ms, again, changes: Box::new(changes) };
        let entry = Entry { v: VERSION, seq: replay.next_seq(), at_ms: replay.at_ms(), kind };
        let mut collect = NoticeCollector(Vec::new());
        rebuild.finish_rebuild(&entry, replay, &mut collect)?;
        // The repeated requests may exceed a limit.
        match replay.ended_with() {
            Some(end) => Err(ends_at_once(&error, end.as_ref().err())),
            None => Ok(ReopenedRun { error, unknown, kind: entry.kind, notices: collect.0 }),
        }
    }
}

/// A run that was reopened. Its entry has been replayed, but is not stored yet.
pub struct ReopenedRun {
    error: RunError,
    unknown: BTreeSet<Key>,
    kind: EntryKind,
    notices: Vec<Notice>,
}

impl ReopenedRun {
    /// How the run continues. `memo`: the results of earlier runs, if it reuses them, with those of its requests.
    ///
    /// # Errors
    ///
    /// `WOULD_REPEAT`: the requests without an earlier result would exceed a limit of the manifest.
    pub fn into_resumption(self, replay: &mut Replay, memo: Option<&mut Memo>) -> Result<RunResumption, RunError> {
        if replay.machine().flags().reuses {
            let asked = replay.asked_anew();
            let lacking = match memo {
                None => asked,
                Some(memo) => {
                    let found = memo.find_results(&asked);
                    memo.find_lacking(&asked, &found).into_iter().cloned().collect()
                }
            };
            if replay.ends_before(lacking.iter().map(|activity| &**activity)) {
                return Err(would_repeat(&self.error));
            }
        }
        Ok(RunResumption::Reopened { kind: self.kind, notices: self.notices, unknown: self.unknown })
    }
}

/// The run would end before it does anything. `end`: how. If that is a limit that did not stop it before, the limit is what has to
/// change, and not what failed then.
fn ends_at_once(error: &RunError, end: Option<&RunError>) -> RunError {
    match end {
        Some(end) if end.code == "BUDGET_EXCEEDED" && error.code != end.code => {
            let mut met = end.clone();
            met.ends_again = true;
            met
        }
        _ => would_repeat(error),
    }
}

fn would_repeat(error: &RunError) -> RunError {
    let step = match &error.key {
        Some(key) if !key.as_str().is_empty() => format!(" in `{}`", key.without_try()),
        _ => String::new(),
    };
    let message = format!("the run failed with {}{step}, and would fail there again", error.code);
    let raised = match error.raise {
        Some(raise) => raise.limit_rows().find_map(|(kind, _)| kind.option_name()),
        None => None,
    };
    let help = match (error.code.as_str(), raised) {
        ("BUDGET_EXCEEDED", Some(option)) => format!("allow more with `{option}`"),
        ("BUDGET_EXCEEDED", None) => "raise the limit in the manifest, and continue with the edited file".to_owned(),
        _ => "what it has done is kept, and the same follows from it: change the file, or do a step again in a fork with `--from STEP --rerun STEP`".to_owned(),
    };
    let mut repeats = RunError::new("WOULD_REPEAT", message).at_step(error.key.clone(), error.location).with_help(help);
    repeats.ends_again = true;
    repeats.with_raise(error.raise)
}

/// Collects what happened until its entry is stored.
struct NoticeCollector(Vec<Notice>);

impl ReplayObserver for NoticeCollector {
    fn observe_notice(&mut self, _at: WorkMs, past: ReplayNotice<'_>) {
        self.0.extend(Notice::from_replay(past));
    }
}
