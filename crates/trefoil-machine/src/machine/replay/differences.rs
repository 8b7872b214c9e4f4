//! Differences between a journal and its program. A resumed run stops at the first one; a verification collects all of
//! them.

use std::sync::Arc;

use trefoil_template::Value;

use super::{Entry, PreparedProgram, RecordedRequest, Replay, ReplayObserver, ResumeChanges, RunError, differs};
use crate::key::Key;
use crate::request::Activity;

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplayDifference {
    /// The number of the entry.
    pub seq: u64,
    /// The activity, if it is about one.
    pub key: Option<Key>,
    /// The kind.
    pub what: DifferenceKind,
    /// The message.
    pub message: String,
}

/// The kinds of difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DifferenceKind {
    /// The files result in another program than the one that ran.
    Program,
    /// The program requests another kind of effect.
    Sort,
    /// The program requests it with other content.
    Content,
    /// The program does not request it.
    Unasked,
    /// It ended without having started.
    Unknown,
    /// The run ended differently.
    End,
    /// A result that is cited from an earlier run differs from the one stored there.
    Citation,
}

impl DifferenceKind {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Sort => "sort",
            Self::Content => "content",
            Self::Unasked => "unasked",
            Self::Unknown => "unknown",
            Self::End => "end",
            Self::Citation => "citation",
        }
    }
}

impl ReplayDifference {
    /// A difference in an entry.
    pub fn for_entry(seq: u64, key: Option<&Key>, what: DifferenceKind, message: String) -> Self {
        Self { seq, key: key.cloned(), what, message }
    }
}

/// Collects the difference, or ends the replay with it.
pub(super) fn note_difference(
    all: &mut Option<Vec<ReplayDifference>>,
    difference: ReplayDifference,
) -> Result<(), RunError> {
    match all {
        Some(all) => all.push(difference),
        None => return Err(differs(difference.message)),
    }
    Ok(())
}

impl Replay {
    /// A replay that does not stop at differences: [`ReplayedRun::differences`](super::ReplayedRun::differences) contains all
    /// of them. The machine gets the results in the journal.
    ///
    /// # Errors
    ///
    /// `NONDETERMINISM` if the entry is not the start of a run, or was written by a later version.
    pub fn to_compare(
        prepared: Arc<PreparedProgram>,
        first: &Entry,
        watcher: &mut dyn ReplayObserver,
    ) -> Result<Self, RunError> {
        let traces = watcher.wants_provenance();
        Self::begin_with(prepared, first, &ResumeChanges::default(), (traces, Some(Vec::new())), watcher)
    }

    pub(super) fn add_difference(&mut self, difference: ReplayDifference) -> Result<(), RunError> {
        note_difference(&mut self.differences, difference)
    }

    /// Compares an activity in the journal with the one that the program requests now.
    pub(super) fn compare_activity(&mut self, recorded: &RecordedRequest, asked: &Activity) -> Result<(), RunError> {
        recorded.difference(asked).map_or(Ok(()), |difference| self.add_difference(difference))
    }

    /// Compares the end in the journal with the machine's, if differences are collected. Texts with holes and the
    /// messages of failures come from the driver, so they are not compared.
    pub(super) fn compare_end(
        &mut self,
        seq: u64,
        output: Option<&Value>,
        error: Option<&RunError>,
    ) -> Result<(), RunError> {
        if self.differences.is_none() {
            return Ok(());
        }
        let what = match (&self.finished, output, error) {
            (Some(Ok(now)), then, _) if !now.is_masked() && then.unwrap_or(&Value::Null) != now => "result",
            (Some(Err(now)), _, Some(then)) if now.code != then.code || now.key != then.key => "failure",
            _ => return Ok(()),
        };
        let message = format!("entry {seq} has a different {what} than the program");
        self.add_difference(ReplayDifference::for_entry(seq, None, DifferenceKind::End, message))
    }
}

impl RecordedRequest {
    /// The difference between the recorded activity and the one that the program requests now.
    fn difference(&self, asked: &Activity) -> Option<ReplayDifference> {
        let Self { seq, sort, content } = self;
        let key = &asked.key;
        if asked.request.sort_name() != sort {
            let now = asked.request.sort_name();
            let message = format!("entry {seq} is `{key}` ({sort}), but the program requests `{key}` ({now})");
            return Some(ReplayDifference::for_entry(*seq, Some(key), DifferenceKind::Sort, message));
        }
        if asked.content != *content {
            let now = asked.content;
            let message = format!(
                "entry {seq} is `{key}` ({sort}) with content {content}, but the program requests it with content {now}"
            );
            return Some(ReplayDifference::for_entry(*seq, Some(key), DifferenceKind::Content, message));
        }
        None
    }

    pub(super) fn unasked_difference(&self, key: &Key) -> ReplayDifference {
        let Self { seq, sort, .. } = self;
        let message = format!("entry {seq} is `{key}` ({sort}), but the program does not request it");
        ReplayDifference::for_entry(*seq, Some(key), DifferenceKind::Unasked, message)
    }
}
