//! The machine driven by hand: activities are answered by a pure function of their key and request, in any order wanted.

use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_ir::Program;
use trefoil_runtime::journal::VERSION;
use trefoil_runtime::{
    Activity, Cause, Command, Completion, Entry, EntryKind, Flags, Key, Machine, Output, Prepared, Request, RunError,
    Usage,
};
use trefoil_template::Value;

pub const FLAGS: Flags = Flags { seed: 11, max_calls: None };

/// A run by hand.
pub struct Run {
    pub machine: Machine,
    pub pending: Vec<Activity>,
    pub entries: Vec<Entry>,
    pub keys: BTreeSet<String>,
    pub result: Option<Result<Value, RunError>>,
    pub now_ms: u64,
    pub watched: bool,
}

impl Run {
    pub fn start(program: &Arc<Program>, input: Option<Value>) -> Self {
        Self::start_watched(program, input, false)
    }

    /// `watched`: with provenance.
    pub fn start_watched(program: &Arc<Program>, input: Option<Value>, watched: bool) -> Self {
        let mut machine = Machine::new(program.clone(), FLAGS).with_provenance(watched);
        let output = machine.start("run", input.clone());
        let mut run = Self {
            machine,
            pending: Vec::new(),
            entries: Vec::new(),
            keys: BTreeSet::new(),
            result: None,
            now_ms: 0,
            watched,
        };
        run.record(EntryKind::Started {
            run: "run".into(),
            program: program.hash,
            flow: program.name.to_string(),
            input,
            engine: "test".into(),
            flags: FLAGS,
        });
        run.take(output);
        run
    }

    /// From a journal cut somewhere.
    pub fn resume(program: &Arc<Program>, entries: &[Entry]) -> Result<Self, RunError> {
        let resumed = Machine::resume(Prepared::new(program.clone()), entries)?;
        let keys = entries.iter().filter_map(|e| match &e.kind {
            EntryKind::Scheduled { key, .. } => Some(key.0.to_string()),
            _ => None,
        });
        let mut run = Self {
            keys: keys.collect(),
            machine: resumed.machine,
            pending: resumed.restart,
            entries: entries.to_vec(),
            result: None,
            now_ms: resumed.at_ms,
            watched: false,
        };
        assert_eq!(resumed.next_seq as usize, entries.len());
        run.take(resumed.output);
        if matches!(entries.last().map(|e| &e.kind), Some(EntryKind::Finished { .. })) {
            // It stands in the journal already.
            run.entries.pop();
        }
        Ok(run)
    }

    pub fn record(&mut self, kind: EntryKind) {
        self.entries.push(Entry { v: VERSION, seq: self.entries.len() as u64, at_ms: self.now_ms, kind });
    }

    pub fn take(&mut self, output: Output) {
        for command in output.commands {
            assert!(self.result.is_none(), "a command after the end: {command:?}");
            match command {
                Command::Start(activity) => {
                    let key = activity.key.0.to_string();
                    if let (true, Request::Model(request)) = (self.watched, &activity.request) {
                        for message in &request.messages {
                            let covered: u32 = message.parts.iter().map(|part| part.len).sum();
                            assert_eq!(covered as usize, message.content.to_text().len(), "`{key}`: {message:?}");
                        }
                    }
                    assert!(self.keys.insert(key.clone()), "`{key}` is asked for twice");
                    self.record(EntryKind::Scheduled {
                        key: activity.key.clone(),
                        activity: activity.request.sort().into(),
                        content: activity.content,
                    });
                    self.pending.push(activity);
                }
                Command::Cancel(key) => {
                    let at = self.pending.iter().position(|a| a.key == key);
                    self.pending.remove(at.unwrap_or_else(|| panic!("`{key}` is cancelled and not under way")));
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

    pub fn complete(&mut self, key: &Key, result: Result<Value, RunError>, usage: Option<Usage>) {
        let at = self.pending.iter().position(|a| a.key == *key);
        self.pending.remove(at.unwrap_or_else(|| panic!("`{key}` is not under way")));
        self.now_ms += 1;
        self.record(match result.clone() {
            Ok(value) => EntryKind::Completed { key: key.clone(), value, usage },
            Err(error) => EntryKind::Failed { key: key.clone(), error, usage },
        });
        let output = self.machine.on(Completion { key: key.clone(), at_ms: self.now_ms, result, usage });
        self.take(output);
    }

    /// What may be completed: time limits only when there is nothing else.
    fn choices(&self) -> Vec<&Activity> {
        let work: Vec<&Activity> = self.pending.iter().filter(|a| !limit(&a.key.0)).collect();
        if work.is_empty() { self.pending.iter().collect() } else { work }
    }

    /// Completes everything, in the order that `choose` says, by [`answer`].
    pub fn finish(mut self, mut choose: impl FnMut(usize) -> usize) -> Self {
        while self.result.is_none() {
            let choices = self.choices();
            assert!(!choices.is_empty(), "nothing is under way and the run has not ended");
            let activity = choices[choose(choices.len()) % choices.len()].clone();
            let (result, usage) = answer(&activity);
            self.complete(&activity.key, result, usage);
        }
        assert_eq!((self.machine.active(), self.machine.pending()), (0, 0), "something is left over");
        self
    }
}

/// Whether it is a limit of time.
fn limit(key: &str) -> bool {
    key.contains("~timeout") || key.contains("~budget")
}

fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

/// What the world answers: a pure function of the activity.
pub fn answer(activity: &Activity) -> (Result<Value, RunError>, Option<Usage>) {
    let key = &*activity.key.0;
    let result = match &activity.request {
        Request::Model(request) => {
            let speaker = &*request.speaker;
            let user = request.messages.last().map(|m| m.content.canonical()).unwrap_or_default();
            let last = key.rsplit('/').next().unwrap_or_default();
            let failed = |status| Err(RunError::new("MODEL_ERROR", "no").cause(Cause::Status(status)));
            match speaker {
                "bad" => failed(500),
                "flaky" if !last.contains('!') => failed(429),
                "judge" if key.contains("#1/") => Ok("{\"score\": 0.1, \"reasoning\": \"thin\"}".into()),
                "judge" => Ok("```json\n{\"score\": 0.9}\n```".into()),
                "looping" if key.contains("@2") => Ok("stop".into()),
                "state" if last.ends_with("@1") && hash(key).is_multiple_of(2) => Ok("back".into()),
                "list" => Ok("[1, \"two\", null]".into()),
                other => Ok(format!("{other}:{}", hash(&user) % 97).into()),
            }
        }
        Request::Tool(request) => Ok([("tool", request.arguments.clone())].into_iter().collect()),
        Request::Command(_) => {
            let members: [(&str, Value); 3] =
                [("exit_code", 0.into()), ("stdout", "out".into()), ("stderr", "".into())];
            Ok(members.into_iter().collect())
        }
        // Where not every answer leads on, the first does not.
        Request::Human(human) if human.refused.is_some() => Ok("sure".into()),
        Request::Human(_) => Ok("yes".into()),
        Request::Timer { .. } => Ok(Value::Null),
        Request::Decide(question) => Ok(hash(&question.canonical()).is_multiple_of(2).into()),
    };
    let model = matches!(activity.request, Request::Model(_));
    (result, model.then_some(Usage { input_tokens: 3, output_tokens: 1, ..Usage::default() }))
}
