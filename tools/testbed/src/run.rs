//! Drives the machine step by step: a test decides what completes and when. Requests are journaled like by the driver,
//! and invariants are checked along the way.

use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_ir::SEMANTICS;
use trefoil_machine::PrivateValue;
use trefoil_machine::clock::DueTime;
use trefoil_machine::journal::{ActivityMetadata, ProgramIdentity, RunStart, VERSION};
use trefoil_machine::{
    Activity, ActivityCompletion, Entry, EntryKind, Flags, Key, Machine, MachineCommand, MachineOutput,
    PreparedProgram, ReplayedRun, Request, RunError, Usage,
};
use trefoil_template::Value;

/// A run that a test drives.
#[derive(Debug)]
pub struct Run {
    pub machine: Machine,
    /// Activities in progress.
    pub pending: Vec<Activity>,
    /// The journal.
    pub entries: Vec<Entry>,
    /// The keys of all requested activities.
    pub keys: BTreeSet<Key>,
    /// The result of the run.
    pub result: Option<Result<Value, RunError>>,
    /// The current time.
    pub now_ms: u64,
    watched: bool,
}

impl Run {
    /// Starts a run.
    pub fn start(prepared: &Arc<PreparedProgram>, input: Option<Value>, flags: Flags) -> Self {
        Self::begin(prepared, input, flags, false)
    }

    /// Starts a run with provenance, which is checked in every message.
    pub fn start_watched(prepared: &Arc<PreparedProgram>, input: Option<Value>, flags: Flags) -> Self {
        Self::begin(prepared, input, flags, true)
    }

    fn begin(prepared: &Arc<PreparedProgram>, input: Option<Value>, flags: Flags, watched: bool) -> Self {
        let mut machine = Machine::from_prepared(prepared.clone(), flags.clone()).with_provenance(watched);
        let output = machine.start_run("run", input.clone());
        let mut run = Self {
            machine,
            pending: Vec::new(),
            entries: Vec::new(),
            keys: BTreeSet::new(),
            result: None,
            now_ms: 0,
            watched,
        };
        let program = ProgramIdentity {
            fingerprint: prepared.program.fingerprint().to_string(),
            semantics: SEMANTICS,
            engine: "test".into(),
            flow: prepared.program.name.to_string(),
            sources: Vec::new(),
            bundle: None,
        };
        let started = RunStart {
            run: "run".into(),
            at: 0,
            program,
            input: input.map(PrivateValue::without_hidden),
            warnings: Vec::new(),
            flags,
            answers: String::new(),
            models: Vec::new(),
            basis: None,
            permissions: Default::default(),
        };
        run.record(EntryKind::Started(Box::new(started)));
        run.take(output);
        run
    }

    /// Continues after the end of a journal. `entries` are the entries of that journal.
    pub fn resume(resumed: ReplayedRun, entries: &[Entry]) -> Self {
        let scheduled = entries.iter().filter_map(|entry| match &entry.kind {
            EntryKind::Scheduled { key, .. } => Some(key.clone()),
            _ => None,
        });
        let mut run = Self {
            keys: scheduled.collect(),
            machine: resumed.machine,
            pending: resumed.restart,
            entries: entries.to_vec(),
            result: None,
            now_ms: resumed.at_ms,
            watched: false,
        };
        run.result = resumed.finished;
        run.take(resumed.output);
        run
    }

    /// Completes an activity in progress.
    pub fn complete(&mut self, key: &Key, result: Result<Value, RunError>, usage: Option<Usage>) {
        let at = self.pending.iter().position(|a| a.key == *key);
        self.pending.remove(at.unwrap_or_else(|| panic!("`{key}` is not under way")));
        self.record(match result.clone() {
            Ok(value) => EntryKind::Completed {
                key: key.clone(),
                value: PrivateValue::without_hidden(value),
                about: Box::new(ActivityMetadata::from_usage(usage)),
            },
            Err(error) => EntryKind::Failed {
                key: key.clone(),
                error: error.without_location(),
                about: Box::new(ActivityMetadata::from_usage(usage)),
            },
        });
        let output = self.on(key.clone(), result, usage);
        self.take(output);
    }

    /// Sends a completion without journaling it, also for an activity that is not pending.
    pub fn on(&mut self, key: Key, result: Result<Value, RunError>, usage: Option<Usage>) -> MachineOutput {
        self.machine
            .complete_activity(ActivityCompletion { usage, ..ActivityCompletion::new(key, self.now_ms, result) })
    }

    /// Cancels the run.
    pub fn cancel(&mut self) {
        let output = self.machine.cancel_run();
        self.record(EntryKind::CancelRequested {});
        self.take(output);
    }

    fn take(&mut self, output: MachineOutput) {
        for command in output.commands {
            assert!(self.result.is_none(), "a command after the end: {command:?}");
            match command {
                MachineCommand::Start(activity) => self.begun(activity),
                MachineCommand::Cancel(key) => {
                    let at = self.pending.iter().position(|a| a.key == key);
                    self.pending.remove(at.unwrap_or_else(|| panic!("`{key}` is cancelled and not under way")));
                }
                MachineCommand::Finish(result) => {
                    assert!(self.pending.is_empty(), "the run ended with {:?} under way", self.pending);
                    self.record(match result.clone() {
                        Ok(output) => EntryKind::Finished {
                            output: Some(PrivateValue::without_hidden(output)),
                            error: None,
                            items: None,
                            warnings: Vec::new(),
                        },
                        Err(error) => EntryKind::Finished {
                            output: None,
                            error: Some(error.without_location()),
                            items: None,
                            warnings: Vec::new(),
                        },
                    });
                    self.result = Some(result);
                }
            }
        }
        self.check();
    }

    fn begun(&mut self, activity: Activity) {
        let key = &activity.key;
        if let (true, Request::Model(request)) = (self.watched, &activity.request) {
            for message in &request.messages {
                let covered: u32 = message.parts.iter().map(|part| part.len).sum();
                assert_eq!(covered as usize, message.content.to_text().len(), "`{key}`: {message:?}");
            }
        }
        assert!(self.keys.insert(key.clone()), "`{key}` is asked for twice");
        self.record(EntryKind::Scheduled {
            key: key.clone(),
            sort: activity.request.sort_name().into(),
            content: activity.content,
            due_ms: if let Request::Timer { due: DueTime::Run(at), .. } = activity.request { Some(at.0) } else { None },
            again: activity.again,
        });
        self.pending.push(activity);
    }

    /// Checks that the run has ended or waits for something.
    fn check(&self) {
        assert_eq!(self.machine.pending_count(), self.pending.len(), "under way: {:?}", self.pending);
        assert_eq!(self.machine.is_finished(), self.result.is_some());
        match &self.result {
            None => assert!(!self.pending.is_empty(), "nothing is under way and the run has not ended"),
            Some(result) => {
                let left = (self.machine.active_count(), self.machine.pending_count());
                assert_eq!(left, (0, 0), "the run ended with {result:?}, and something is left over");
            }
        }
    }

    fn record(&mut self, kind: EntryKind) {
        self.entries.push(Entry { v: VERSION, seq: self.entries.len() as u64, at_ms: self.now_ms, kind });
    }
}
