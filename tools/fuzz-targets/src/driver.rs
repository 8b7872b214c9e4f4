//! Runs programs with the driver and all of its ports.

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use async_trait::async_trait;
use trefoil_ir::ToolKind;
use trefoil_machine::PreparedProgram;
use trefoil_machine::request::{CommandRequest, HumanRequest, ToolRequest};
use trefoil_runtime::ports::{CallSite, CollectEvents, MapSecrets, MemoryJournal, SeededRandom, VirtualClock};
use trefoil_runtime::{
    CancelSwitch, Clock, CommandHost, CommandOutput, DriverOptions, Entry, EntryKind, HumanInbox, Journal as _,
    ModelAnswer, ModelError, ModelProvider, ModelRequest, OnUnknown, Ports, QuestionState, RecoveryPolicy, RunOutcome,
    ToolError, ToolHost, driver,
};
use trefoil_template::Value;

use crate::machine::{self, Answers, Choices};
use crate::manifest::{self, Bundle, Folder, KEYS, WORDS};
use crate::{Shape, Target};

pub(crate) const TARGET: Target = Target {
    name: "driver",
    about: "a run through the driver ends, its journal resumes at every cut, and no secret is in what it leaves behind",
    seeds: machine::TARGET.seeds,
    words: WORDS,
    shape: Shape::Manifests { keys: KEYS, broken: &[] },
    weight: 40,
    run,
};

/// The value of every secret.
const SECRET: &str = "correct-horse-battery";

fn run(bytes: &[u8]) {
    let bundle = Bundle::split(bytes);
    let mut choices = Choices::new(bundle.choices);
    let folder = Folder::read(&bundle.files, manifest::front("agntz"));
    if folder.found.has_errors() {
        return;
    }
    let (Some(lowered), _) = folder.lower(choices.below(folder.project.documents.len())) else { return };
    let prepared = PreparedProgram::new(Arc::new(lowered.program));
    let mut answers = Answers::new(&prepared.program, Choices::new(choices.next()));
    let input = answers.input(&prepared.program);
    let seed = answers.seed();
    let world = World::new(answers);

    let options = DriverOptions {
        seed: Some(seed),
        run: Some("run".to_owned()),
        cancel: CancelSwitch::new(),
        ..DriverOptions::default()
    };
    let cancel = choices.one_in(6).then(|| choices.below(300));
    let future = driver::run_prepared(prepared.clone(), input, world.ports(), options.clone());
    let outcome = poll(future, cancel.map(|after| (after, &options.cancel)));
    let entries = world.entries();
    check(&world, &entries, &outcome);

    let again = poll(driver::resume_prepared(prepared.clone(), "run", world.ports(), options), None);
    resumed_after_its_end(&world, &entries, &outcome, &again);

    let cut = 1 + choices.below(entries.len());
    let kept = entries.get(..cut).unwrap_or_default();
    let recovery = *choices.of(&[OnUnknown::Ask, OnUnknown::Retry, OnUnknown::Fail]).unwrap_or(&OnUnknown::Ask);
    let world = World::new(Answers::new(&prepared.program, choices));
    let _ = poll(world.journal.append_entries("run", kept, &[]), None);
    let options = DriverOptions {
        seed: Some(seed),
        run: Some("run".to_owned()),
        cancel: CancelSwitch::new(),
        ..DriverOptions::default()
    };
    let options = DriverOptions { recovery: RecoveryPolicy { tools: recovery, commands: recovery }, ..options };
    let outcome = poll(driver::resume_prepared(prepared, "run", world.ports(), options), None);
    if let Err(error) = &outcome.result {
        let own = entries
            .iter()
            .any(|e| matches!(&e.kind, EntryKind::Failed { error, .. } if error.code == "NONDETERMINISM"));
        assert!(own || error.code != "NONDETERMINISM", "cut at {cut}: {error}");
    }
    if !outcome.result.as_ref().is_err_and(|e| e.code == "WOULD_REPEAT") {
        check(&world, &world.entries(), &outcome);
    }
}

/// A run that has ended is not repeated. A failed run continues from its failure, or stays as it is.
fn resumed_after_its_end(world: &World, before: &[Entry], first: &RunOutcome, again: &RunOutcome) {
    let after = world.entries();
    assert!(after.starts_with(before), "what is stored stays");
    match after.get(before.len()).map(|e| &e.kind) {
        Some(EntryKind::Reopened { .. }) => {
            assert!(first.result.is_err(), "reopened, and had not failed");
            assert!(again.calls >= first.calls, "calls of before count");
            check(world, &after, again);
        }
        Some(other) => unreachable!("it goes on with {other:?}"),
        None => {
            let refused = again.result.as_ref().is_err_and(|e| e.code == "WOULD_REPEAT");
            assert!(if refused { first.result.is_err() } else { again.result == first.result }, "{:?}", again.result);
            assert_eq!((again.usage, again.calls), (first.usage, first.calls));
        }
    }
}

fn check(world: &World, entries: &[Entry], outcome: &RunOutcome) {
    assert!(entries.iter().enumerate().all(|(at, e)| e.seq == at as u64), "numbers without gaps");
    match entries.last().map(|e| &e.kind) {
        Some(EntryKind::Finished { output, error, .. }) => {
            assert_eq!(
                outcome.result.as_ref().err().cloned().map(trefoil_machine::RunError::without_location).as_ref(),
                error.as_ref()
            );
            assert_eq!(outcome.result.as_ref().ok().is_some(), output.is_some() || error.is_none());
        }
        Some(EntryKind::Suspended { .. }) => {
            assert!(!outcome.waiting.is_empty(), "suspended, and nothing to wait for");
            assert_eq!(outcome.result.as_ref().err().map(|e| e.code.as_str()), Some("SUSPENDED"));
            // Activities that are not idempotent are repeated only after a decision.
            assert!(outcome.waiting.iter().all(|w| ["human", "tool", "command"].contains(&w.sort)));
        }
        other => unreachable!("the journal ends with {other:?}"),
    }
    let journal = serde_json::to_string(entries).unwrap_or_default();
    assert!(!journal.contains(SECRET), "a secret in the journal: {journal}");
    let seen = world.events.collected_events();
    let events = serde_json::to_string(&seen).unwrap_or_default();
    assert!(!events.contains(SECRET), "a secret in the events: {events}");
}

/// Polls a future that depends on nothing else; cancels it after a number of polls.
fn poll<T>(future: impl Future<Output = T>, cancel: Option<(usize, &CancelSwitch)>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for polls in 0..2_000_000 {
        if let Some((after, cancel)) = cancel
            && after == polls
        {
            cancel.cancel_runs();
        }
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
    }
    unreachable!("it waits for something that never happens")
}

/// Ports that return anything, after any time.
#[derive(Clone)]
struct World {
    answers: Arc<Mutex<Answers>>,
    clock: Arc<VirtualClock>,
    journal: Arc<MemoryJournal>,
    events: Arc<CollectEvents>,
}

impl World {
    fn new(answers: Answers) -> Self {
        Self {
            answers: Arc::new(Mutex::new(answers)),
            clock: Arc::default(),
            journal: Arc::default(),
            events: Arc::default(),
        }
    }
    fn ports(&self) -> Ports {
        let mut secrets =
            MapSecrets::new().with_variable("HOME", "/home/x").with_variable("HOST", "h").with_variable("EMPTY", "");
        for name in ["KEY", "TOKEN", "X", "x"] {
            secrets = secrets.with_secret(name, SECRET);
        }
        Ports {
            models: Arc::new(self.clone()),
            tools: Arc::new(self.clone()),
            commands: Some(Arc::new(self.clone())),
            humans: Arc::new(self.clone()),
            journal: self.journal.clone(),
            clock: self.clock.clone(),
            random: Arc::new(SeededRandom::new(1)),
            secrets: Arc::new(secrets),
            events: self.events.clone(),
        }
    }
    fn entries(&self) -> Vec<Entry> {
        self.journal.entries("run")
    }
    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Advances the clock by any time, mostly none.
    async fn wait(&self) {
        let ms = *self.answers().choices.of(&[0, 0, 0, 0, 1, 50, 90_000, 1_000_000_000]).unwrap_or(&0);
        if ms > 0 {
            self.clock.sleep_ms(ms).await;
        }
    }
}

#[async_trait]
impl ModelProvider for World {
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        self.wait().await;
        let answer = self.answers().model(at, request)?;
        if request.stream {
            let middle = answer.text.char_indices().nth(answer.text.chars().count() / 2).map_or(0, |(at, _)| at);
            let (first, second) = answer.text.split_at_checked(middle).unwrap_or_default();
            delta(first);
            self.wait().await;
            delta(second);
        }
        Ok(answer)
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "fuzz".to_owned()
    }
}

#[async_trait]
impl ToolHost for World {
    fn offers_tool(&self, _name: &str, _kind: &ToolKind) -> bool {
        !self.answers().choices.one_in(10)
    }
    async fn call_tool(&self, _at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        self.wait().await;
        let mut answers = self.answers();
        match answers.choices.below(8) {
            0 => Err(ToolError::Timeout),
            1 => Err(ToolError::Failed(request.arguments.to_text().to_string())),
            2 => Ok(request.arguments.clone()),
            _ => Ok(answers.value(3)),
        }
    }
}

#[async_trait]
impl CommandHost for World {
    async fn run_command(&self, _at: CallSite<'_>, request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        self.wait().await;
        let mut answers = self.answers();
        if answers.choices.one_in(8) {
            return Err(ToolError::Failed(format!("{} {:?}", request.script, request.env)));
        }
        let arguments: Vec<_> = request.arguments.iter().map(|a| a.to_text().to_string()).collect();
        let exit_code = *answers.choices.of(&[0, 0, 0, 1, 3, -1, i64::MIN]).unwrap_or(&0);
        Ok(CommandOutput { exit_code, stdout: answers.text(), stderr: arguments.join(" ") })
    }
}

#[async_trait]
impl HumanInbox for World {
    async fn ask_question(&self, _at: CallSite<'_>, request: &HumanRequest) -> QuestionState {
        self.wait().await;
        let mut answers = self.answers();
        match answers.choices.below(6) {
            0 => QuestionState::Nobody,
            1 => QuestionState::Answer(request.prompt.to_text().to_string()),
            _ => QuestionState::Answer(answers.text()),
        }
    }
}
