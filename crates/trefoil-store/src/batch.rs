//! Entries in their stored form, and the resulting changes to their run's record. Every store writes both in one
//! transaction, so a record always matches its journal.

use trefoil_machine::PrivateValue;
use trefoil_machine::event::ItemTally;
use trefoil_machine::journal::AnswerSettings;
use trefoil_machine::private::stored_form::{LoadedPrivateValue, StoredPrivateValue};
use trefoil_machine::{ActivityMetadata, Entry, EntryKind, Key, RunError, Usage};

use crate::blob::{Blob, INLINE};
use crate::error::{StoreError, StoreResult};
use crate::record::{Content, RunSpending, Status};

/// Maximum length of an error text in a record. The journal has the full text.
const ERROR_TEXT: usize = 500;

/// An entry in its stored form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEntry {
    /// Its number.
    pub seq: u64,
    /// Its JSON.
    pub json: String,
    /// Its value, if it is large; the JSON has null in its place.
    pub value: Option<Blob>,
}

impl StoredEntry {
    /// Converts an entry to its stored form.
    pub fn from_entry(entry: &Entry) -> StoreResult<Self> {
        let seq = entry.seq;
        let unwritable = |error: serde_json::Error| StoreError::Unwritable { seq, why: error.to_string() };
        let json = serde_json::to_string(entry).map_err(unwritable)?;
        if json.len() <= INLINE {
            return Ok(Self { seq, json, value: None });
        }
        let Some(value) = value(&entry.kind) else { return Ok(Self { seq, json, value: None }) };
        let large = serde_json::to_vec(&StoredPrivateValue(value)).map_err(unwritable)?;
        if large.len() <= INLINE {
            return Ok(Self { seq, json, value: None });
        }
        let mut rest = entry.clone();
        put(&mut rest.kind, PrivateValue::default());
        let json = serde_json::to_string(&rest).map_err(unwritable)?;
        Ok(Self { seq, json, value: Some(Blob::new(large)) })
    }

    /// Converts it back; `value` contains the bytes of its large value.
    pub fn decode_entry(json: &str, value: Option<&[u8]>) -> Result<Entry, serde_json::Error> {
        let mut entry: Entry = serde_json::from_str(json)?;
        if let Some(bytes) = value {
            let LoadedPrivateValue(value) = serde_json::from_slice(bytes)?;
            put(&mut entry.kind, value);
        }
        Ok(entry)
    }
}

impl StoredEntry {
    /// Removes the content of prompts, answers and failures; the result only if `keeps_result` is not set, and the entry
    /// that has it stays as it is (`None`). Keys, hashes, codes, usage, models and times remain.
    pub fn without_content(&self, keeps_result: bool) -> StoreResult<Option<Self>> {
        let seq = self.seq;
        let unreadable = |error: serde_json::Error| StoreError::Unwritable { seq, why: error.to_string() };
        let mut entry = Self::decode_entry(&self.json, None).map_err(unreadable)?;
        match &mut entry.kind {
            EntryKind::Started(started) => (started.input, started.warnings) = (None, Vec::new()),
            EntryKind::Completed { value, about, .. } => {
                *value = PrivateValue::default();
                strip_extras(about);
            }
            EntryKind::Failed { error, about, .. } => {
                *error = bare_error(error);
                strip_extras(about);
            }
            // A large output is stored elsewhere, so here it is null.
            EntryKind::Finished { error: None, .. } if keeps_result => return Ok(None),
            EntryKind::Finished { output, error, items: _, warnings } => {
                (*output, *warnings) = (None, Vec::new());
                *error = error.as_ref().map(bare_error);
            }
            EntryKind::Resumed { lost, .. } => lost.iter_mut().for_each(|lost| lost.partial = None),
            EntryKind::Suspended { why, .. } => why.iter_mut().for_each(|why| **why = bare_error(why)),
            EntryKind::Scheduled { .. }
            | EntryKind::Reopened { .. }
            | EntryKind::Restarted { .. }
            | EntryKind::CancelRequested {} => {}
        }
        Self::from_entry(&entry).map(Some)
    }

    /// Whether an entry, as it is stored, is about an activity.
    pub fn is_about(json: &str, key: &str) -> bool {
        match Self::decode_entry(json, None) {
            Ok(entry) => matches!(activity_key(&entry.kind), Some(about) if about.as_str() == key),
            // One that cannot be read may be.
            Err(_) => true,
        }
    }

    /// Removes content that is not needed to resume the run: partial answers, and the findings of guardrails.
    fn without_extras(entry: &Entry) -> Entry {
        let mut entry = entry.clone();
        match &mut entry.kind {
            EntryKind::Completed { about, .. } | EntryKind::Failed { about, .. } => strip_extras(about),
            EntryKind::Resumed { lost, .. } => lost.iter_mut().for_each(|lost| lost.partial = None),
            _ => {}
        }
        entry
    }
}

fn strip_extras(about: &mut ActivityMetadata) {
    about.partial = None;
    (about.warnings, about.replaced) = (Vec::new(), Vec::new());
    // The verdicts of guardrails remain without their texts: they say what was checked and what the consequence was.
    about.verdicts.iter_mut().flatten().for_each(|verdict| verdict.why = String::new());
}

/// Keeps only the parts of an error that retries and statistics use.
fn bare_error(error: &RunError) -> RunError {
    let mut bare = RunError::new(&error.code, "").at_step(error.key.clone(), None);
    (bare.cause, bare.retry_after_ms) = (error.cause.clone(), error.retry_after_ms);
    bare
}

/// The activity that an entry is about.
fn activity_key(kind: &EntryKind) -> Option<&Key> {
    match kind {
        EntryKind::Scheduled { key, .. }
        | EntryKind::Restarted { key, .. }
        | EntryKind::Completed { key, .. }
        | EntryKind::Failed { key, .. } => Some(key),
        EntryKind::Started(_)
        | EntryKind::Resumed { .. }
        | EntryKind::Reopened { .. }
        | EntryKind::Suspended { .. }
        | EntryKind::CancelRequested {}
        | EntryKind::Finished { .. } => None,
    }
}

/// Returns the value of an entry; each kind of entry has at most one.
fn value(kind: &EntryKind) -> Option<&PrivateValue> {
    match kind {
        EntryKind::Started(started) => started.input.as_ref(),
        EntryKind::Completed { value, .. } => Some(value),
        EntryKind::Finished { output, .. } => output.as_ref(),
        EntryKind::Scheduled { .. }
        | EntryKind::Failed { .. }
        | EntryKind::Resumed { .. }
        | EntryKind::Reopened { .. }
        | EntryKind::Restarted { .. }
        | EntryKind::Suspended { .. }
        | EntryKind::CancelRequested {} => None,
    }
}

fn put(kind: &mut EntryKind, new: PrivateValue) {
    match kind {
        EntryKind::Started(started) => started.input = Some(new),
        EntryKind::Completed { value, .. } => *value = new,
        EntryKind::Finished { output, .. } => *output = Some(new),
        EntryKind::Scheduled { .. }
        | EntryKind::Failed { .. }
        | EntryKind::Resumed { .. }
        | EntryKind::Reopened { .. }
        | EntryKind::Restarted { .. }
        | EntryKind::Suspended { .. }
        | EntryKind::CancelRequested {} => {}
    }
}

/// Changes that are written in one transaction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EntryBatch {
    /// The entries, in order.
    pub bodies: Vec<StoredEntry>,
    /// Set if an entry starts the run.
    pub start: Option<BatchStart>,
    /// Set if an entry ends the run.
    pub end: Option<BatchEnd>,
    /// Whether an entry reopens a run that had ended.
    pub reopens: bool,
    /// The status after these entries, unless they end the run; `None` means running.
    pub status: Option<Status>,
    /// Usage and cost that these entries add.
    pub spent: RunSpending,
    /// Change in the number of model calls in progress.
    pub in_flight: i64,
    /// Whether the run's models cost nothing, if an entry says so.
    pub free: Option<bool>,
    /// When the run must be checked again, if nothing happens before: milliseconds since 1970-01-01 UTC.
    pub wake_at: Option<u64>,
    /// New expiry of the lease.
    pub lease_until: Option<u64>,
    /// Messages that these entries have processed.
    pub taken: Vec<u64>,
    /// Model calls that these entries end or mark as lost.
    pub answered: Vec<Key>,
    /// The activities that these entries are about: a message that answers a question of one of them is too late.
    pub about: Vec<Key>,
}

/// The start of a run, for its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchStart {
    /// The entry flow.
    pub flow: String,
    /// The fingerprint of the program.
    pub program: String,
    /// Milliseconds since 1970-01-01 UTC.
    pub at: u64,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchEnd {
    /// Completed, failed or cancelled.
    pub status: Status,
    /// Milliseconds on the run's clock, which does not advance while the run has failed.
    pub at_ms: u64,
    /// Wall-clock time of the end, in milliseconds since 1970-01-01 UTC. `None`: the run's start time plus `at_ms`.
    pub at: Option<u64>,
    /// Code and text of its failure.
    pub error: Option<(String, String)>,
    /// The items of the fan-outs in which some failed, and the run went on.
    pub items: Option<ItemTally>,
}

impl EntryBatch {
    /// Builds a batch from entries.
    pub fn from_entries(entries: &[Entry]) -> StoreResult<Self> {
        let mut batch = Self::default();
        for entry in entries {
            batch.bodies.push(StoredEntry::from_entry(entry)?);
            batch.note(entry);
        }
        Ok(batch)
    }

    /// Builds a batch from entries, limited to the content that the run keeps.
    pub fn of_kept(entries: &[Entry], content: Content) -> StoreResult<Self> {
        match content {
            Content::All => Self::from_entries(entries),
            Content::UntilEnd | Content::Removed | Content::Result => {
                Self::from_entries(&entries.iter().map(StoredEntry::without_extras).collect::<Vec<_>>())
            }
        }
    }

    /// Whether it ends the run for good. A failed run can be resumed.
    pub fn is_final(&self) -> bool {
        matches!(&self.end, Some(end) if end.status != Status::Failed)
    }

    /// Adds a model call's usage to the figures of the record.
    fn spend(&mut self, usage: Option<Usage>) {
        let usage = usage.unwrap_or_default();
        self.spent.calls += usage.calls_beneath;
        self.spent.usage.add_usage(Usage { written_tokens: 0, calls_beneath: 0, ..usage });
    }

    fn note(&mut self, entry: &Entry) {
        // Any entry after a suspension ends that suspension.
        (self.status, self.wake_at) = (None, None);
        self.about.extend(activity_key(&entry.kind).cloned());
        match &entry.kind {
            EntryKind::Started(started) => {
                let (flow, program) = (started.program.flow.clone(), started.program.fingerprint.clone());
                self.start = Some(BatchStart { flow, program, at: started.at });
                self.free = Some(started.flags.is_free());
            }
            EntryKind::Scheduled { sort, again, .. } => {
                let model = sort == "model";
                self.spent.calls += u64::from(model && !again);
                self.in_flight += i64::from(model);
            }
            EntryKind::Completed { key, about, .. } | EntryKind::Failed { key, about, .. } => {
                if about.model.is_some() {
                    self.answered.push(key.clone());
                }
                // Reused results were not calls in progress.
                self.in_flight -= i64::from(about.model.is_some() && about.kept.is_none() && about.from.is_none());
                self.spend(about.usage);
            }
            EntryKind::Suspended { wake_at, .. } => (self.status, self.wake_at) = (Some(Status::Waiting), *wake_at),
            EntryKind::Resumed { lost, changes, .. } => {
                self.in_flight -= lost.len() as i64;
                for lost in lost {
                    self.answered.push(lost.key.clone());
                    self.spend(Some(lost.usage));
                }
                self.free = changes.models.as_ref().map(AnswerSettings::is_free).or(self.free);
            }
            EntryKind::Reopened { changes, .. } => {
                (self.end, self.reopens) = (None, true);
                self.free = changes.models.as_ref().map(AnswerSettings::is_free).or(self.free);
            }
            EntryKind::Restarted { .. } | EntryKind::CancelRequested {} => {}
            EntryKind::Finished { error, items, .. } => {
                let status = Status::of_end(error.as_ref());
                let error = error.as_ref().map(|error| (error.code.clone(), cut(&error.message)));
                self.end = Some(BatchEnd { status, at_ms: entry.at_ms, at: None, error, items: *items });
            }
        }
    }

    /// The number of its first entry; `None` if it has no entries.
    pub fn first(&self) -> Option<u64> {
        self.bodies.first().map(|body| body.seq)
    }

    /// The first entry that is out of sequence: its expected number and its actual one.
    pub fn find_gap(&self, from: u64) -> Option<(u64, u64)> {
        for (expected, body) in (from..).zip(&self.bodies) {
            if body.seq != expected {
                return Some((expected, body.seq));
            }
        }
        None
    }
}

fn cut(text: &str) -> String {
    let mut end = ERROR_TEXT.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}
