//! A host in memory. It has no clock, no threads and nothing to wait for: work ends in the order of a seed, and its process may end
//! before any action.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trefoil_coordinator::{
    AdmittedCalls, CoordinatorState, EndedActivity, EndedWork, HostAction, HostFacts, InboxMessageId, InboxMessageIds,
    IncomingValue, JournalAppend, Memo, OutcomeDecision, ReceivedMessage, RecoveryPolicy, ResumedRun, RunCoordinator,
    RunEndReport, RunInput, RunMessage, RunResumption, RunSettings, WorkId, WorkOutcome,
};
use trefoil_ir::SEMANTICS;
use trefoil_machine::clock::WorkMs;
use trefoil_machine::journal::{ActivityMetadata, Basis, Flags, ProgramIdentity, ResumeChanges, RunStart};
use trefoil_machine::request::{Activity, ToolRequest, Usage};
use trefoil_machine::{
    Entry, EntryKind, Key, Machine, PreparedProgram, PrivateValue, Replay, ReplayNotice, ReplayObserver, Request,
    RunError, RunLimits,
};
use trefoil_template::Value;

use crate::machine::{FLAGS, answer};

/// What a process says about its run.
pub enum Left {
    /// It ended in the middle.
    Crashed,
    /// The run waits for people.
    Suspended,
    /// The run does not go on before somebody allows something.
    Stopped(RunError),
    /// The run has ended.
    Ended(Result<Value, RunError>),
}

/// What activities come to.
pub type Answers = Box<dyn FnMut(&Activity) -> (Result<Value, RunError>, Option<Usage>)>;

/// Looks at a coordinator.
pub type Watch = Box<dyn FnMut(&mut RunCoordinator, &dyn HostFacts)>;

/// A run and the world around it.
pub struct MemoryHost {
    prepared: Arc<PreparedProgram>,
    /// The run's id.
    pub run: String,
    /// What activities come to.
    pub answers: Answers,
    /// Whether a tool call changes nothing.
    pub only_reads: fn(&ToolRequest) -> bool,
    /// The results that the run may reuse.
    pub memo: Option<Memo>,
    /// The run that it goes on from.
    pub basis: Option<Basis>,
    /// The journal.
    pub entries: Vec<Entry>,
    /// The messages, by their numbers.
    inbox: BTreeMap<InboxMessageId, (Key, String)>,
    next_letter: u64,
    /// The questions to which somebody has written an answer.
    answered: BTreeSet<Key>,
    /// What was done that must not be done twice, and its result.
    pub effects: BTreeMap<Key, Value>,
    /// What was done again although it must not be.
    pub repeated: Vec<Key>,
    pub now_ms: u64,
    seed: u64,
    /// Whether it reuses answers of earlier runs, of which there are none.
    pub looks_up: bool,
    /// Whether stopped calls need a moment.
    pub winds_down: bool,
    /// Called before each action.
    pub watch: Option<Watch>,
}

/// What the host knows at once.
struct Facts {
    now_ms: u64,
    winds_down: bool,
    only_reads: fn(&ToolRequest) -> bool,
}

impl HostFacts for Facts {
    fn now_ms(&self) -> u64 {
        self.now_ms
    }
    fn wall_ms(&self) -> u64 {
        self.now_ms
    }
    fn fill_result(&self, value: &Value) -> Result<PrivateValue, RunError> {
        Ok(PrivateValue::without_hidden(value.clone()))
    }
    fn hide_error(&self, error: RunError) -> RunError {
        error
    }
    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        (self.only_reads)(request)
    }
    fn winds_down(&self, _work: WorkId) -> bool {
        self.winds_down
    }
}

/// What ends with the process.
#[derive(Default)]
struct Process {
    working: Vec<(WorkId, Arc<Activity>)>,
    queued: Vec<Key>,
    read: BTreeSet<InboxMessageId>,
}

impl MemoryHost {
    pub fn new(prepared: &Arc<PreparedProgram>, seed: u64) -> Self {
        Self {
            prepared: prepared.clone(),
            run: "run".into(),
            answers: Box::new(answer),
            only_reads: |_| false,
            memo: None,
            basis: None,
            entries: Vec::new(),
            inbox: BTreeMap::new(),
            next_letter: 0,
            answered: BTreeSet::new(),
            effects: BTreeMap::new(),
            repeated: Vec::new(),
            now_ms: 0,
            seed,
            looks_up: false,
            winds_down: false,
            watch: None,
        }
    }

    /// A number below another one.
    pub fn choose(&mut self, below: usize) -> usize {
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) as usize % below.max(1)
    }

    fn facts(&self) -> Facts {
        Facts { now_ms: self.now_ms, winds_down: self.winds_down, only_reads: self.only_reads }
    }

    fn settings(&self, execution: u32) -> RunSettings {
        RunSettings {
            run: self.run.as_str().into(),
            execution,
            keeps: true,
            queues: true,
            recovery: RecoveryPolicy::default(),
            linger_ms: 0,
            limits: RunLimits::NONE,
            counted: BTreeMap::new(),
        }
    }

    fn coordinator(&mut self) -> Result<RunCoordinator, Left> {
        let memo = self.memo.clone().or_else(|| self.looks_up.then(Memo::of_answers));
        let of_run = |memo: Memo| memo.used_by(&self.prepared, Arc::new(self.only_reads));
        if self.entries.is_empty() {
            let started = self.started();
            let mut machine = Machine::from_prepared(self.prepared.clone(), started.flags.clone()).in_pieces();
            let output = machine.start_run(started.execution_id(), Some("in".into()));
            let (started, shared) = (EntryKind::Started(Box::new(started)), (memo.map(of_run), None));
            return Ok(RunCoordinator::begin_run((machine, output), started, self.settings(0), shared, &self.facts()));
        }
        let mut recalled = Recalled(memo);
        let begun = Replay::from_first_entry(self.prepared.clone(), &self.entries[0], &mut recalled);
        let replay = follow(begun, &self.entries, &mut recalled);
        let resumed = replay.finish_replay(&mut recalled).unwrap_or_else(|error| panic!("{error}"));
        let memo = recalled.0.map(of_run);
        if let Some(finished) = resumed.finished {
            return Err(Left::Ended(finished));
        }
        self.now_ms = self.now_ms.max(resumed.at_ms);
        let settings = self.settings(resumed.executions + 1);
        let resumed = ResumedRun {
            machine: resumed.machine.in_pieces(),
            restart: resumed.restart,
            output: resumed.output,
            next_seq: resumed.next_seq,
            kept: resumed.kept,
            replaced: BTreeSet::new(),
            how: RunResumption::Resumed { changes: ResumeChanges::default(), drafts: BTreeMap::new() },
        };
        Ok(RunCoordinator::resume_run(resumed, settings, (memo, None), &self.facts()))
    }

    fn started(&self) -> RunStart {
        let program = ProgramIdentity {
            fingerprint: self.prepared.fingerprint().to_owned(),
            semantics: SEMANTICS,
            engine: "test".into(),
            flow: self.prepared.program.name.to_string(),
            sources: Vec::new(),
            bundle: None,
        };
        let reuses = self.memo.is_some() || self.basis.is_some();
        RunStart {
            run: self.run.clone(),
            at: 0,
            program,
            input: Some(PrivateValue::without_hidden("in")),
            warnings: Vec::new(),
            flags: Flags { reuses, ..FLAGS },
            answers: String::new(),
            models: Vec::new(),
            basis: self.basis.clone().map(Box::new),
            permissions: Default::default(),
        }
    }

    /// A process works on the run, until its end or for this many actions.
    pub fn process(&mut self, mut actions: usize) -> Left {
        let mut run = match self.coordinator() {
            Ok(run) => run,
            Err(left) => return left,
        };
        let mut process = Process::default();
        loop {
            let facts = self.facts();
            if let Some(watch) = &mut self.watch {
                watch(&mut run, &facts);
            }
            let action =
                run.next_action(&facts).unwrap_or_else(|| panic!("nothing to do in {:?}", run.current_state()));
            if let Some(watch) = &mut self.watch {
                watch(&mut run, &facts);
            }
            if actions == 0 {
                return Left::Crashed;
            }
            actions -= 1;
            if let HostAction::End(end) = action {
                assert_eq!(run.current_state(), CoordinatorState::Ended);
                let RunEndReport { outcome, .. } = *end;
                return match outcome.result {
                    Err(error) if outcome.suspended && error.code != "SUSPENDED" => Left::Stopped(error),
                    _ if outcome.suspended => Left::Suspended,
                    result => Left::Ended(result),
                };
            }
            if let Some(input) = self.perform(action, &mut process) {
                self.now_ms += 1;
                run.handle_input(input, &self.facts()).unwrap();
            }
        }
    }

    fn perform(&mut self, action: HostAction, process: &mut Process) -> Option<RunInput> {
        Some(match action {
            HostAction::LookUp(_) => RunInput::Found(Vec::new()),
            HostAction::ReadDecision(activity) => {
                // What was done is known here, although the journal does not have it.
                let decided = match self.effects.get(&activity.key) {
                    Some(value) => OutcomeDecision::Done(incoming(value.clone())),
                    None => OutcomeDecision::Retry,
                };
                RunInput::DecisionRead(Some(ReceivedMessage::without_inbox(decided)))
            }
            HostAction::ReadInbox => RunInput::InboxRead(self.next_message(process)),
            HostAction::Append(append) => {
                let JournalAppend { entries, message_ids, .. } = *append;
                assert!(entries.iter().zip(self.entries.len() as u64..).all(|(entry, seq)| entry.seq == seq));
                self.entries.extend(entries);
                message_ids.as_slice().iter().for_each(|id| drop(self.inbox.remove(id)));
                RunInput::Appended(Ok(()))
            }
            HostAction::Admit(calls) => {
                let turned = self.choose(process.queued.len() + 1);
                let turned = process.queued.drain(..turned).collect();
                let mut at_once = Vec::new();
                for call in calls {
                    let waits = self.choose(3) == 0;
                    if waits { &mut process.queued } else { &mut at_once }.push(call.key.clone());
                }
                RunInput::Admitted(AdmittedCalls { turned, at_once })
            }
            HostAction::LeaveQueue(keys) => {
                process.queued.retain(|key| !keys.contains(key));
                return None;
            }
            HostAction::Start(all) => {
                process.working.extend(all.into_iter().map(|one| (one.work, one.activity)));
                return None;
            }
            HostAction::Stop { work, .. } => {
                process.working.retain(|(one, _)| *one != work);
                return None;
            }
            HostAction::FreePermits | HostAction::DropWork | HostAction::KeepDrafts | HostAction::End(_) => {
                return None;
            }
            HostAction::Yield => RunInput::MayProceed,
            HostAction::WindDown => RunInput::MomentOver,
            HostAction::Wait { .. } => self.wait(process),
        })
    }

    /// Something of all that may happen happens.
    fn wait(&mut self, process: &mut Process) -> RunInput {
        if !process.queued.is_empty() && self.choose(3) == 0 {
            return RunInput::TurnCame;
        }
        if self.choose(2) == 0
            && let Some(message) = self.next_message(process)
        {
            return RunInput::Arrived(message);
        }
        // Time limits end only if there is nothing else.
        let is_limit = |activity: &Activity| {
            ["~timeout", "~limit", "~budget"].iter().any(|mark| activity.key.as_str().contains(mark))
        };
        let mut all: Vec<usize> = (0..process.working.len()).filter(|at| !is_limit(&process.working[*at].1)).collect();
        if all.is_empty() {
            if !process.queued.is_empty() {
                return RunInput::TurnCame;
            }
            if let Some(message) = self.next_message(process) {
                return RunInput::Arrived(message);
            }
            all = (0..process.working.len()).collect();
        }
        let count = 1 + self.choose(all.len().min(3));
        let mut batch = Vec::new();
        for _ in 0..count {
            let at = self.choose(process.working.len());
            let at = if all.contains(&at) { at } else { all[0] };
            if at >= process.working.len() {
                break;
            }
            let (work, activity) = process.working.remove(at);
            batch.push(self.work(work, activity));
            all = (0..process.working.len()).filter(|at| !is_limit(&process.working[*at].1)).collect();
            if all.is_empty() {
                break;
            }
        }
        RunInput::WorkEnded(batch)
    }

    fn work(&mut self, work: WorkId, activity: Arc<Activity>) -> EndedWork {
        let key = activity.key.clone();
        if matches!(activity.request, Request::Human(_)) && (self.answered.contains(&key) || self.choose(2) == 0) {
            if self.answered.insert(key.clone()) {
                let Ok(Value::Str(text)) = (self.answers)(&activity).0 else { panic!("a person says a text") };
                self.next_letter += 1;
                self.inbox.insert(InboxMessageId(self.next_letter), (key.clone(), text.to_string()));
            }
            return EndedWork { work, key, how: WorkOutcome::Kept };
        }
        let (result, usage) = (self.answers)(&activity);
        if let (Request::Tool(_) | Request::Command(_), Ok(value)) = (&activity.request, &result)
            && self.effects.insert(key.clone(), value.clone()).is_some()
            && !matches!(&activity.request, Request::Tool(request) if (self.only_reads)(request))
        {
            self.repeated.push(key.clone());
        }
        let done = EndedActivity {
            activity,
            result: result.map(PrivateValue::without_hidden),
            about: ActivityMetadata::from_usage(usage),
            message_ids: InboxMessageIds::default(),
        };
        EndedWork { work, key, how: WorkOutcome::Done(Box::new(done)) }
    }

    /// The next message that this process has not seen.
    fn next_message(&mut self, process: &mut Process) -> Option<ReceivedMessage<RunMessage>> {
        let (id, (key, text)) = self.inbox.iter().find(|(id, _)| !process.read.contains(id))?;
        process.read.insert(*id);
        let answer = incoming(text.as_str().into());
        // Written in time, however long the run takes to read it.
        let what = RunMessage::Answer { key: key.clone(), answer, at: 0 };
        Some(ReceivedMessage { what, message_ids: InboxMessageIds::from_ids([*id]), receipt: None })
    }
}

/// Replays a journal that has begun.
pub fn follow(begun: Result<Replay, RunError>, entries: &[Entry], watcher: &mut dyn ReplayObserver) -> Replay {
    let mut replay = begun.unwrap_or_else(|error| panic!("{error}"));
    for entry in &entries[1..] {
        replay.replay_entry(entry, watcher).unwrap_or_else(|error| panic!("{error}"));
    }
    replay
}

/// Tells the results of earlier runs what the run has requested and used before.
struct Recalled(Option<Memo>);

impl ReplayObserver for Recalled {
    fn observe_notice(&mut self, _at: WorkMs, past: ReplayNotice<'_>) {
        let Some(memo) = &mut self.0 else { return };
        match past {
            ReplayNotice::Began(activity, _) => memo.record_request(activity),
            ReplayNotice::Ended(activity, _, about) => {
                about.from.iter().for_each(|cited| memo.record_use(&activity.key, cited))
            }
            _ => {}
        }
    }
}

fn incoming(value: Value) -> IncomingValue {
    IncomingValue { value: PrivateValue::without_hidden(value), replaced: Vec::new() }
}
