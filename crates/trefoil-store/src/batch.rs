//! Entries as they are stored, and what they change in the record of their run. Every store writes both in one transaction,
//! so that a record is always what its journal says.

use trefoil_machine::journal::Answering;
use trefoil_machine::{About, Entry, EntryKind, Key, RunError, Usage};
use trefoil_template::Value;
use trefoil_template::wire::{Wire, Wired};

use crate::blob::{Blob, INLINE};
use crate::error::{Result, StoreError};
use crate::record::{Content, Spent, Status};

/// How long the text of a failure may be in a record. Its journal has all of it.
const ERROR_TEXT: usize = 500;

/// An entry as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    /// Its number.
    pub seq: u64,
    /// Its JSON.
    pub json: String,
    /// Its value, when that is large: the JSON has null there.
    pub value: Option<Blob>,
}

impl Body {
    /// How an entry is stored.
    pub fn of(entry: &Entry) -> Result<Self> {
        let seq = entry.seq;
        let unwritable = |error: serde_json::Error| StoreError::Unwritable { seq, why: error.to_string() };
        let json = serde_json::to_string(entry).map_err(unwritable)?;
        if json.len() <= INLINE {
            return Ok(Self { seq, json, value: None });
        }
        let Some(value) = value(&entry.kind) else { return Ok(Self { seq, json, value: None }) };
        let large = serde_json::to_vec(&Wire(value)).map_err(unwritable)?;
        if large.len() <= INLINE {
            return Ok(Self { seq, json, value: None });
        }
        let mut rest = entry.clone();
        put(&mut rest.kind, Value::Null);
        let json = serde_json::to_string(&rest).map_err(unwritable)?;
        Ok(Self { seq, json, value: Some(Blob::new(large)) })
    }

    /// The entry again; `value`: the bytes that belong in it.
    pub fn entry(json: &str, value: Option<&[u8]>) -> Result<Entry, serde_json::Error> {
        let mut entry: Entry = serde_json::from_str(json)?;
        if let Some(bytes) = value {
            let Wired(value) = serde_json::from_slice(bytes)?;
            put(&mut entry.kind, value);
        }
        Ok(entry)
    }
}

impl Body {
    /// Without what prompts, answers and failures say. What is left: keys, hashes, codes, usage, models and times.
    pub fn bare(&self) -> Result<Self> {
        let seq = self.seq;
        let unreadable = |error: serde_json::Error| StoreError::Unwritable { seq, why: error.to_string() };
        let mut entry = Self::entry(&self.json, None).map_err(unreadable)?;
        match &mut entry.kind {
            EntryKind::Started(started) => started.input = None,
            EntryKind::Completed { value, about, .. } => {
                *value = Value::Null;
                lean(about);
            }
            EntryKind::Failed { error, about, .. } => {
                *error = bare(error);
                lean(about);
            }
            EntryKind::Finished { output, error } => {
                *output = None;
                *error = error.as_ref().map(bare);
            }
            EntryKind::Resumed { lost, .. } => lost.iter_mut().for_each(|lost| lost.partial = None),
            EntryKind::Scheduled { .. }
            | EntryKind::Reopened { .. }
            | EntryKind::Restarted { .. }
            | EntryKind::Suspended { .. }
            | EntryKind::CancelRequested {} => {}
        }
        Self::of(&entry)
    }

    /// Without what resuming the run does not need: the beginnings of answers that broke off, and what guardrails found.
    fn lean(entry: &Entry) -> Entry {
        let mut entry = entry.clone();
        match &mut entry.kind {
            EntryKind::Completed { about, .. } | EntryKind::Failed { about, .. } => lean(about),
            EntryKind::Resumed { lost, .. } => lost.iter_mut().for_each(|lost| lost.partial = None),
            _ => {}
        }
        entry
    }
}

fn lean(about: &mut About) {
    about.partial = None;
    about.warnings = Vec::new();
    // Without words the verdicts of guards stay: what was checked, and what followed.
    about.verdicts.iter_mut().flatten().for_each(|verdict| verdict.why = String::new());
}

/// What retries and statistics go by.
fn bare(error: &RunError) -> RunError {
    let RunError { code, key, cause, retry_after_ms, .. } = error.clone();
    RunError { key, cause, retry_after_ms, ..RunError::new(&code, "") }
}

/// The one value that an entry may have.
fn value(kind: &EntryKind) -> Option<&Value> {
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

fn put(kind: &mut EntryKind, new: Value) {
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

/// What is written in one transaction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// The entries, in order.
    pub bodies: Vec<Body>,
    /// Of the entry that starts the run.
    pub start: Option<Start>,
    /// Of the entry that ends it.
    pub end: Option<RunEnd>,
    /// Whether it takes the end of the run back.
    pub reopens: bool,
    /// The status after it, unless it ends the run: running without.
    pub status: Option<Status>,
    /// What it adds to the figures.
    pub spent: Spent,
    /// Model calls that it begins, less those that it ends.
    pub in_flight: i64,
    /// Whether the run's models cost nothing, where it says so.
    pub free: Option<bool>,
    /// When somebody has to look at the run again, if nothing comes before: milliseconds since 1970-01-01 UTC.
    pub wake_at: Option<u64>,
    /// Until when the lease holds now.
    pub lease_until: Option<u64>,
    /// Letters that the entries have taken in.
    pub taken: Vec<u64>,
    /// Model calls of which the entries say what came of them.
    pub answered: Vec<Key>,
}

/// How the record of a run begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// The entry flow.
    pub flow: String,
    /// The fingerprint of the program.
    pub program: String,
    /// Milliseconds since 1970-01-01 UTC.
    pub at: u64,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// Completed, failed or cancelled.
    pub status: Status,
    /// Milliseconds on the run's clock, which stands still while the run has failed.
    pub at_ms: u64,
    /// When that was, in milliseconds since 1970-01-01 UTC. None: what the run's clock says, from its start.
    pub at: Option<u64>,
    /// Code and text of its failure.
    pub error: Option<(String, String)>,
}

impl Batch {
    /// Of entries.
    pub fn of(entries: &[Entry]) -> Result<Self> {
        let mut batch = Self::default();
        for entry in entries {
            batch.bodies.push(Body::of(entry)?);
            batch.note(entry);
        }
        Ok(batch)
    }

    /// Of entries of a run of which only that is kept.
    pub fn of_kept(entries: &[Entry], content: Content) -> Result<Self> {
        match content {
            Content::All => Self::of(entries),
            Content::UntilEnd | Content::Removed => Self::of(&entries.iter().map(Body::lean).collect::<Vec<_>>()),
        }
    }

    /// Whether it ends the run so that nobody continues it.
    pub fn is_final(&self) -> bool {
        self.end.as_ref().is_some_and(|end| end.status != Status::Failed)
    }

    /// Adds what a record has of it.
    fn spend(&mut self, usage: Option<Usage>) {
        let usage = usage.unwrap_or_default();
        self.spent.calls += usage.calls_beneath;
        self.spent.usage.add(Usage { written_tokens: 0, calls_beneath: 0, ..usage });
    }

    fn note(&mut self, entry: &Entry) {
        // Whatever comes after a suspension ends it.
        (self.status, self.wake_at) = (None, None);
        match &entry.kind {
            EntryKind::Started(started) => {
                let (flow, program) = (started.program.flow.clone(), started.program.fingerprint.clone());
                self.start = Some(Start { flow, program, at: started.at });
                self.free = Some(started.flags.is_free());
            }
            EntryKind::Scheduled { sort, again, .. } => {
                let model = sort == "model";
                self.spent.calls += u64::from(model && !again);
                self.in_flight += i64::from(model);
            }
            EntryKind::Completed { key, about, .. } | EntryKind::Failed { key, about, .. } => {
                self.answered.extend(about.model.is_some().then(|| key.clone()));
                // One that was there before was not begun.
                self.in_flight -= i64::from(about.model.is_some() && about.kept.is_none() && about.from.is_none());
                self.spend(about.usage);
            }
            EntryKind::Restarted { usage, .. } => self.spend(*usage),
            EntryKind::Suspended { wake_at } => (self.status, self.wake_at) = (Some(Status::Waiting), *wake_at),
            EntryKind::Resumed { lost, changes, .. } => {
                self.in_flight -= lost.len() as i64;
                for lost in lost {
                    self.answered.push(lost.key.clone());
                    self.spend(Some(lost.usage));
                }
                self.free = changes.models.as_ref().map(Answering::is_free).or(self.free);
            }
            EntryKind::Reopened { changes, .. } => {
                (self.end, self.reopens) = (None, true);
                self.free = changes.models.as_ref().map(Answering::is_free).or(self.free);
            }
            EntryKind::CancelRequested {} => {}
            EntryKind::Finished { error, .. } => {
                let status = match error {
                    None => Status::Completed,
                    Some(error) if error.code == "CANCELLED" => Status::Cancelled,
                    Some(_) => Status::Failed,
                };
                let error = error.as_ref().map(|error| (error.code.clone(), cut(&error.message)));
                self.end = Some(RunEnd { status, at_ms: entry.at_ms, at: None, error });
            }
        }
    }

    /// The number of its first entry; none: it has no entries.
    pub fn first(&self) -> Option<u64> {
        self.bodies.first().map(|body| body.seq)
    }

    /// The first entry that does not have the number after the one before it.
    pub fn gap(&self, from: u64) -> Option<(u64, u64)> {
        (from..)
            .zip(&self.bodies)
            .map(|(expected, body)| (expected, body.seq))
            .find(|(expected, found)| expected != found)
    }
}

fn cut(text: &str) -> String {
    let mut end = ERROR_TEXT.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}
