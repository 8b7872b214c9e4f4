//! The machine driven by hand, and what must hold at every moment of that.

use std::collections::HashSet;
use std::sync::Arc;

use trefoil_runtime::Activity;
use trefoil_runtime::journal::VERSION;
use trefoil_runtime::{
    Command, Completion, Entry, EntryKind, Flags, Key, Machine, Output, Prepared, Resumed, RunError, Usage,
};
use trefoil_template::Value;

use super::answers::Answers;

/// A run by hand.
pub(crate) struct Run {
    pub machine: Machine,
    /// Under way.
    pub pending: Vec<Activity>,
    /// The journal.
    pub entries: Vec<Entry>,
    /// How it ended.
    pub result: Option<Result<Value, RunError>>,
    keys: HashSet<Key>,
    now_ms: u64,
}

impl Run {
    /// Begins.
    pub(crate) fn start(prepared: &Arc<Prepared>, input: Option<Value>, seed: u64) -> Self {
        let flags = Flags { seed, max_calls: None };
        let mut machine = Machine::with(prepared.clone(), flags.clone());
        let output = machine.start("run", input.clone());
        let program = &prepared.program;
        let mut run =
            Self { machine, pending: Vec::new(), entries: Vec::new(), result: None, keys: HashSet::new(), now_ms: 0 };
        run.record(EntryKind::Started {
            run: "run".into(),
            program: program.hash,
            flow: program.name.to_string(),
            input,
            engine: "fuzz".into(),
            flags,
        });
        run.take(output);
        run
    }

    /// Goes on where a journal ends.
    pub(crate) fn from(resumed: Resumed) -> Self {
        let mut run = Self {
            machine: resumed.machine,
            keys: resumed.restart.iter().map(|a| a.key.clone()).collect(),
            pending: resumed.restart,
            entries: Vec::new(),
            result: None,
            now_ms: resumed.at_ms,
        };
        run.take(resumed.output);
        run
    }

    /// Answers whatever is under way, one by one in any order; after so many answers the run is cancelled.
    pub(crate) fn play(&mut self, answers: &mut Answers, longest: usize) {
        for _ in 0..longest {
            self.check();
            if self.result.is_some() {
                break;
            }
            match answers.choices.below(60) {
                0 => self.stray(answers),
                1 if answers.choices.one_in(6) => break,
                _ => {}
            }
            if self.result.is_some() {
                break;
            }
            let at = answers.choices.below(self.pending.len());
            let activity = self.pending.swap_remove(at);
            let (result, usage) = answers.to(&activity);
            self.now_ms = answers.time(self.now_ms);
            self.complete(&activity.key, result, usage);
        }
        if self.result.is_none() {
            let output = self.machine.cancel();
            self.record(EntryKind::CancelRequested);
            self.take(output);
        }
        assert!(self.result.is_some() && self.machine.is_finished(), "cancelled, and not finished");
        self.check();
        // What comes late changes nothing.
        self.stray(answers);
        assert!(self.machine.cancel().commands.is_empty(), "cancelled twice");
    }

    fn complete(&mut self, key: &Key, result: Result<Value, RunError>, usage: Option<Usage>) {
        self.record(match result.clone() {
            Ok(value) => EntryKind::Completed { key: key.clone(), value, usage },
            Err(error) => EntryKind::Failed { key: key.clone(), error, usage },
        });
        let output = self.machine.on(Completion { key: key.clone(), at_ms: self.now_ms, result, usage });
        self.take(output);
    }

    /// Something comes back that nobody waits for.
    fn stray(&mut self, answers: &mut Answers) {
        let over = self.keys.iter().filter(|k| self.pending.iter().all(|a| a.key != **k)).min().cloned();
        for key in over.into_iter().chain([Key("nobody/asked".into())]) {
            let result = Err(answers.error());
            let output = self.machine.on(Completion { key, at_ms: self.now_ms, result, usage: None });
            assert!(output.commands.is_empty(), "nobody waited for that: {:?}", output.commands);
        }
    }

    fn take(&mut self, output: Output) {
        for command in output.commands {
            assert!(self.result.is_none(), "a command after the end: {command:?}");
            match command {
                Command::Start(activity) => {
                    assert!(self.keys.insert(activity.key.clone()), "`{}` is asked for twice", activity.key);
                    self.record(EntryKind::Scheduled {
                        key: activity.key.clone(),
                        activity: activity.request.sort().into(),
                        content: activity.content,
                    });
                    self.pending.push(activity);
                }
                Command::Cancel(key) => {
                    let at = self.pending.iter().position(|a| a.key == key);
                    self.pending.remove(at.unwrap_or_else(|| unreachable!("`{key}` is cancelled and not under way")));
                }
                Command::Finish(result) => {
                    assert!(self.pending.is_empty(), "the run ended with {:?} under way", self.pending);
                    self.record(match result.clone() {
                        Ok(output) => EntryKind::Finished { output: Some(output), error: None },
                        Err(error) => EntryKind::Finished { output: None, error: Some(error) },
                    });
                    self.result = Some(result);
                }
            }
        }
    }

    /// A run has ended, or it waits for something.
    fn check(&self) {
        assert_eq!(self.machine.pending(), self.pending.len(), "under way: {:?}", self.pending);
        assert_eq!(self.machine.is_finished(), self.result.is_some());
        match &self.result {
            None => assert!(!self.pending.is_empty(), "the run waits for nothing"),
            Some(result) => {
                assert_eq!(self.machine.active(), 0, "the run ended with {result:?}, and steps are active");
                assert_eq!(self.machine.pending(), 0);
            }
        }
    }

    fn record(&mut self, kind: EntryKind) {
        self.entries.push(Entry { v: VERSION, seq: self.entries.len() as u64, at_ms: self.now_ms, kind });
    }
}
