//! What a journal says otherwise than its program. Whoever goes on with a run stops at the first of it; whoever looks whether a journal is
//! true wants to know all of it.

use std::sync::Arc;

use trefoil_template::Value;

use super::{Changes, Entry, Prepared, Recorded, Replay, RunError, Watcher, differs};
use crate::key::Key;
use crate::request::Activity;

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The entry.
    pub seq: u64,
    /// The activity, where it is about one.
    pub key: Option<Key>,
    /// Which sort.
    pub what: What,
    /// In words.
    pub message: String,
}

/// The sorts of difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The files make another program than the one that ran.
    Program,
    /// The program asks for another sort of thing.
    Sort,
    /// The program asks for it with other content.
    Content,
    /// The program does not ask for it.
    Unasked,
    /// It ended without having begun.
    Unknown,
    /// The run ended otherwise.
    End,
    /// A result that is said to be of an earlier run is not the one that is there.
    Citation,
}

impl What {
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

impl Difference {
    /// One of an entry.
    pub fn of(seq: u64, key: Option<&Key>, what: What, message: String) -> Self {
        Self { seq, key: key.cloned(), what, message }
    }
}

/// Collects it, or ends the replay with it.
pub(super) fn note(all: &mut Option<Vec<Difference>>, difference: Difference) -> Result<(), RunError> {
    match all {
        Some(all) => all.push(difference),
        None => return Err(differs(difference.message)),
    }
    Ok(())
}

impl Replay {
    /// A replay that does not stop at what the journal says otherwise than the program: [`Resumed::differences`](super::Resumed::differences)
    /// has all of it. Results go to the machine as the journal has them.
    ///
    /// # Errors
    ///
    /// `NONDETERMINISM` if the entry is not the start of a run, or of a later version.
    pub fn to_compare(prepared: Arc<Prepared>, first: &Entry, watcher: &mut dyn Watcher) -> Result<Self, RunError> {
        let traces = watcher.wants_provenance();
        Self::begin_with(prepared, first, &Changes::default(), (traces, Some(Vec::new())), watcher)
    }

    pub(super) fn differ(&mut self, difference: Difference) -> Result<(), RunError> {
        note(&mut self.differences, difference)
    }

    /// Whether what the journal has is what the program asks for now.
    pub(super) fn hold(&mut self, recorded: &Recorded, asked: &Activity) -> Result<(), RunError> {
        recorded.difference(asked).map_or(Ok(()), |difference| self.differ(difference))
    }

    /// Holds the end that the journal has against the machine's, for whoever compares. Texts with holes are filled by the driver,
    /// and the words of failures are its own: those are not compared.
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
        self.differ(Difference::of(seq, None, What::End, message))
    }
}

impl Recorded {
    /// What is otherwise in what the program asks for now.
    fn difference(&self, asked: &Activity) -> Option<Difference> {
        let Self { seq, sort, content } = self;
        let key = &asked.key;
        if asked.request.sort() != sort {
            let now = asked.request.sort();
            let message = format!("entry {seq} is `{key}` ({sort}), but the program requests `{key}` ({now})");
            return Some(Difference::of(*seq, Some(key), What::Sort, message));
        }
        if asked.content != *content {
            let now = asked.content;
            let message = format!(
                "entry {seq} is `{key}` ({sort}) with content {content}, but the program requests it with content {now}"
            );
            return Some(Difference::of(*seq, Some(key), What::Content, message));
        }
        None
    }

    pub(super) fn unasked(&self, key: &Key) -> Difference {
        let Self { seq, sort, .. } = self;
        let message = format!("entry {seq} is `{key}` ({sort}), but the program does not request it");
        Difference::of(*seq, Some(key), What::Unasked, message)
    }
}
