//! Replaying a journal: completions come from entries, and every command is held against the entry that recorded it.

use std::collections::VecDeque;
use std::sync::Arc;

use indexmap::IndexMap;
use trefoil_template::Value;

use super::prepared::Prepared;
use super::{Command, Completion, Machine, Noted, Output};
use crate::error::RunError;
use crate::journal::{Entry, EntryKind, VERSION};
use crate::key::Key;
use crate::request::{Activity, Usage};

/// A run brought back to where its journal ends.
#[derive(Debug)]
pub struct Resumed {
    /// Ready for the next completion.
    pub machine: Machine,
    /// Recorded as scheduled and not as ended: to be started again, without a new entry.
    pub restart: Vec<Activity>,
    /// What the machine asked for beyond the journal's end: to be scheduled and started. No events: see `events`.
    pub output: Output,
    /// What happened on the way, for a watcher that was not there.
    pub events: Vec<Noted>,
    /// The run's id.
    pub run: Arc<str>,
    /// Its input.
    pub input: Option<Value>,
    /// The number of the next entry.
    pub next_seq: u64,
    /// The last entry's time stamp.
    pub at_ms: u64,
}

impl Machine {
    /// Replays a journal. `NONDETERMINISM`: it does not belong to this program, or the program does something else now.
    pub fn resume(prepared: Arc<Prepared>, entries: &[Entry]) -> Result<Resumed, RunError> {
        Self::resume_traced(prepared, entries, false)
    }

    /// The same; `traced`: as [`Machine::with_provenance`].
    pub fn resume_traced(prepared: Arc<Prepared>, entries: &[Entry], traced: bool) -> Result<Resumed, RunError> {
        let mut replay = Replay::begin(prepared, entries, traced)?;
        for entry in entries.get(1..).unwrap_or_default() {
            replay.entry(entry)?;
        }
        Ok(replay.end(entries))
    }
}

struct Replay {
    machine: Machine,
    run: Arc<str>,
    input: Option<Value>,
    /// Asked for, and not yet met in the journal.
    asked: VecDeque<Activity>,
    /// Met in the journal, and not ended.
    open: IndexMap<Key, Activity>,
    /// The machine can go on without anything from the journal. It does so only when the journal shows that it did: a run
    /// may have been cancelled in the middle.
    more: bool,
    /// Ended by the machine.
    finished: Option<Result<Value, RunError>>,
    events: Vec<Noted>,
}

impl Replay {
    fn begin(prepared: Arc<Prepared>, entries: &[Entry], traced: bool) -> Result<Self, RunError> {
        let Some(first) = entries.first() else { return Err(differs("the journal is empty")) };
        version(first)?;
        let EntryKind::Started { run, program, input, flags, .. } = &first.kind else {
            return Err(differs("the journal does not start with the start of a run"));
        };
        if *program != prepared.program.hash {
            let now = prepared.program.hash;
            return Err(differs(format!("the journal is for program {program:016x}, but this is program {now:016x}")));
        }
        let run: Arc<str> = run.as_str().into();
        let mut machine = Machine::with(prepared, flags.clone()).in_pieces().with_provenance(traced);
        let output = machine.start(run.clone(), input.clone());
        let mut replay = Self {
            machine,
            run,
            input: input.clone(),
            asked: VecDeque::new(),
            open: IndexMap::new(),
            more: false,
            finished: None,
            events: Vec::new(),
        };
        replay.take(output);
        Ok(replay)
    }

    fn entry(&mut self, entry: &Entry) -> Result<(), RunError> {
        version(entry)?;
        match &entry.kind {
            EntryKind::Started { .. } => Err(differs(format!("entry {} starts the run a second time", entry.seq))),
            EntryKind::Scheduled { key, activity, content } => {
                while self.asked.is_empty() && self.more {
                    self.proceed();
                }
                let recorded = format!("entry {} is `{key}` ({activity})", entry.seq);
                let Some(asked) = self.asked.pop_front() else {
                    return Err(differs(format!("{recorded}, but the program asks for nothing there")));
                };
                if asked.key != *key || asked.request.sort() != activity {
                    let asks = format!("the program asks for `{}` ({})", asked.key, asked.request.sort());
                    return Err(differs(format!("{recorded}, but {asks}")));
                }
                if asked.content != *content {
                    let why = format!("{recorded} with content {content}, but the program asks for `{key}`");
                    return Err(differs(format!("{why} with content {}", asked.content)));
                }
                self.open.insert(key.clone(), asked);
                Ok(())
            }
            EntryKind::Completed { key, value, usage } => self.complete(entry, key, Ok(value.clone()), *usage),
            EntryKind::Failed { key, error, usage } => self.complete(entry, key, Err(error.clone()), *usage),
            EntryKind::CancelRequested => {
                let output = self.machine.cancel();
                self.take(output);
                Ok(())
            }
            EntryKind::Finished { output, error } => {
                self.catch_up();
                match (&self.finished, output, error) {
                    (Some(Ok(_)), _, None) | (Some(Err(_)), None, Some(_)) => Ok(()),
                    _ => {
                        let what = if error.is_some() { "failed" } else { "succeeded" };
                        Err(differs(format!("entry {} says that the run {what}, but the program disagrees", entry.seq)))
                    }
                }
            }
        }
    }

    fn complete(
        &mut self,
        entry: &Entry,
        key: &Key,
        result: Result<Value, RunError>,
        usage: Option<Usage>,
    ) -> Result<(), RunError> {
        // One that was cancelled in the same breath is recorded and means nothing.
        if self.open.shift_remove(key).is_none() {
            return Err(differs(format!("entry {} ends `{key}`, which is not in progress", entry.seq)));
        }
        self.catch_up();
        let output = self.machine.on(Completion { key: key.clone(), at_ms: entry.at_ms, result, usage });
        self.take(output);
        Ok(())
    }

    fn proceed(&mut self) {
        let output = self.machine.proceed();
        self.take(output);
    }

    /// Does everything that needs nothing from the journal.
    fn catch_up(&mut self) {
        while self.more {
            self.proceed();
        }
    }

    fn take(&mut self, output: Output) {
        self.more = output.more;
        self.events.extend(output.events);
        for command in output.commands {
            match command {
                Command::Start(activity) => self.asked.push_back(activity),
                // Its entries may still come: it stays known until the end.
                Command::Cancel(_) => {}
                Command::Finish(result) => self.finished = Some(result),
            }
        }
    }

    fn end(mut self, entries: &[Entry]) -> Resumed {
        self.catch_up();
        let pending = |activity: &Activity| self.machine.core.pending.contains_key(&activity.key);
        let restart = self.open.into_values().filter(pending).collect();
        let starts = self.asked.into_iter().filter(pending).map(Command::Start);
        let commands = starts.chain(self.finished.map(Command::Finish)).collect();
        let last = entries.last();
        Resumed {
            restart,
            output: Output { commands, ..Output::default() },
            events: self.events,
            run: self.run,
            input: self.input,
            next_seq: last.map_or(0, |e| e.seq.saturating_add(1)),
            at_ms: last.map_or(0, |e| e.at_ms),
            machine: Machine { pieces: false, ..self.machine },
        }
    }
}

fn version(entry: &Entry) -> Result<(), RunError> {
    if entry.v > VERSION {
        return Err(differs(format!(
            "entry {} has version {}, but this build reads only up to {VERSION}",
            entry.seq, entry.v
        )));
    }
    Ok(())
}

fn differs(what: impl Into<String>) -> RunError {
    RunError::new("NONDETERMINISM", what)
}
