//! Runs that outlive their process: suspended for people, resumed after a crash, replayed with the same event numbers.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use expect_test::expect;
use serde_json::json as j;
use trefoil_ir::{CommandCall, HumanCall, OnItemFailure, OnTimeout, Program, StepKind, ValueExpression};
use trefoil_machine::{AnswerReceipt, AnswerSender, PreparedProgram};
use trefoil_runtime::ports::{
    CallSite, Clock, CommandHost, CommandOutput, HumanInbox, InboxMessageId, InboxMessageIds, Journal, MapSecrets,
    QuestionState, RawDecision, RawRunMessage, ReceivedMessage, ToolError,
};
use trefoil_runtime::{
    CommandRequest, Entry, EntryKind, EventKind, HumanRequest, Key, OnUnknown, RecoveryPolicy, RunOutcome, Usage,
    driver,
};

use crate::world::{World, block_on, json};
use testbed::Build;

/// An inbox that stores questions. Tests add the answers.
#[derive(Default)]
pub struct Inbox {
    pub answers: Mutex<BTreeMap<String, String>>,
    decisions: Mutex<BTreeMap<String, RawDecision>>,
    /// Messages that arrive while the run is in progress.
    pub arriving: Mutex<Vec<RawRunMessage>>,
    /// Messages that are there when the run is resumed.
    before: Mutex<Vec<RawRunMessage>>,
    /// What the messages are about, by their numbers.
    written: Mutex<Vec<String>>,
    /// Who writes all messages.
    receipt: Mutex<Option<AnswerReceipt>>,
}

impl Inbox {
    fn message_ids_for(&self, about: &str) -> InboxMessageIds {
        let mut written = self.written.lock().unwrap();
        written.push(about.to_owned());
        InboxMessageIds::from_ids([InboxMessageId(written.len() as u64 - 1)])
    }

    fn message<T>(&self, about: &str, what: T) -> ReceivedMessage<T> {
        let receipt = self.receipt.lock().unwrap().clone();
        ReceivedMessage { what, message_ids: self.message_ids_for(about), receipt }
    }

    /// What the messages were about that entries have acted on.
    pub fn taken(&self, world: &World) -> Vec<String> {
        let written = self.written.lock().unwrap();
        world.journal.processed_messages("r1").iter().map(|letter| written[letter.0 as usize].clone()).collect()
    }
}

#[async_trait]
impl HumanInbox for Inbox {
    async fn ask_question(&self, at: CallSite<'_>, _request: &HumanRequest) -> QuestionState {
        let answer = self.answers.lock().unwrap().get(at.key.as_str()).cloned();
        answer.map_or(QuestionState::Later, |answer| QuestionState::Written(self.message(at.key.as_str(), answer)))
    }
    async fn find_decision(&self, at: CallSite<'_>) -> Option<ReceivedMessage<RawDecision>> {
        let what = self.decisions.lock().unwrap().get(at.key.as_str()).cloned()?;
        Some(self.message(at.key.as_str(), what))
    }
    async fn waiting_message(&self, _run: &str) -> Option<ReceivedMessage<RawRunMessage>> {
        self.before.lock().unwrap().pop().map(ReceivedMessage::without_inbox)
    }
    async fn next_message(&self, _run: &str) -> ReceivedMessage<RawRunMessage> {
        let next = self.arriving.lock().unwrap().pop();
        let Some(what) = next else { return std::future::pending().await };
        let about = match &what {
            RawRunMessage::Answer { key, .. } | RawRunMessage::Decided(key, _) => key.to_string(),
            RawRunMessage::Continue(run) => run.clone(),
            RawRunMessage::Cancel | RawRunMessage::Unknown => String::new(),
        };
        self.message(&about, what)
    }
}

pub fn asking(b: &mut Build, label: &str, timeout_ms: Option<u64>) -> trefoil_ir::StepId {
    let prompt = ValueExpression::Template(b.text("ok with {{input}}?"));
    let on_timeout = OnTimeout::Answer("nobody".into());
    let ask = b.step(label, StepKind::Human(Box::new(HumanCall { prompt, timeout_ms, on_timeout, answer_at: None })));
    b.out(ask, label)
}

/// Two questions and a model call in parallel, then a model call.
fn questions(timeout_ms: Option<u64>) -> Arc<Program> {
    let mut b = Build::new();
    let branches = [asking(&mut b, "first", timeout_ms), asking(&mut b, "second", timeout_ms), b.model("say", "x")];
    let all = b.parallel("all", &branches, OnItemFailure::Abort);
    let steps = [all, b.model("end", "{{first}} {{second}}")];
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    b.program(main)
}

pub fn world(inbox: &Arc<Inbox>, entries: &[Entry]) -> World {
    let mut world = World::echo();
    world.ports.humans = inbox.clone();
    if !entries.is_empty() {
        block_on(world.journal.append_entries("r1", entries, &[])).unwrap();
    }
    world
}

pub fn resume(world: &World, program: &Arc<Program>) -> RunOutcome {
    block_on(driver::resume_run(program.clone(), "r1", world.ports.clone(), world.options.clone()))
}

fn steps(outcome: &RunOutcome) -> Vec<&str> {
    outcome.waiting.iter().map(|w| w.step.as_str()).collect()
}

#[test]
fn a_run_that_only_waits_for_people_is_suspended_and_goes_on_with_their_answers() {
    let (program, inbox) = (questions(None), Arc::new(Inbox::default()));
    let first = world(&inbox, &[]);
    let outcome = first.run(&program, "tea");
    let error = outcome.result.as_ref().unwrap_err();
    assert_eq!(error.code, "SUSPENDED");
    expect!["the run is waiting for `first`, `second`"].assert_eq(&error.message);
    assert_eq!(steps(&outcome), ["first", "second"]);
    assert_eq!(outcome.waiting[0].prompt.as_deref(), Some("ok with tea?"));
    assert_eq!(outcome.calls, 1, "what needs nobody is done before");
    let entries = first.journal.entries("r1");
    assert!(matches!(entries.last().unwrap().kind, EntryKind::Suspended { wake_at: None, .. }));

    // Weeks later, one answer has arrived. The run uses it and waits for the other.
    inbox.answers.lock().unwrap().insert("all/first".into(), "yes".into());
    let second = world(&inbox, &entries);
    block_on(second.ports.clock.sleep_ms(3_000_000_000));
    let outcome = resume(&second, &program);
    assert_eq!(steps(&outcome), ["second"]);
    assert_eq!(inbox.taken(&second), ["all/first"], "what is in the journal need not be kept");

    // The other answer arrives while a process works on the run.
    *inbox.arriving.lock().unwrap() = vec![
        RawRunMessage::Answer { key: Key("all/second".into()), text: "no".into(), at: 1 },
        RawRunMessage::Answer { key: Key("all/first".into()), text: "too late".into(), at: 1 },
    ];
    let mut third = world(&inbox, &second.journal.entries("r1"));
    third.options.linger_ms = Some(u64::MAX);
    let outcome = resume(&third, &program);
    assert_eq!(json(&outcome.result.unwrap()), j!("yes no"));
    assert_eq!(outcome.calls, 2);
}

#[test]
fn a_suspended_run_says_when_time_goes_on_with_it() {
    let (program, inbox) = (questions(Some(600_000)), Arc::new(Inbox::default()));
    let first = world(&inbox, &[]);
    assert_eq!(steps(&first.run(&program, "tea")), ["first", "second"]);
    let entries = first.journal.entries("r1");
    assert!(matches!(entries.last().unwrap().kind, EntryKind::Suspended { wake_at: Some(1_735_690_200_000), .. }));
    // After that time there is no answer, so the default is used.
    let second = world(&inbox, &entries);
    block_on(second.ports.clock.sleep_ms(700_000));
    assert_eq!(json(&resume(&second, &program).result.unwrap()), j!("nobody nobody"));
    // An answer that comes after the time does not count, wherever it comes from; one that came in time does, however late it is read.
    let answer = |at| RawRunMessage::Answer { key: Key("all/first".into()), text: "yes".into(), at };
    for (at, expected) in [(1_735_690_200_000, "nobody nobody"), (1_735_690_199_999, "yes nobody")] {
        let late = world(&inbox, &entries);
        block_on(late.ports.clock.sleep_ms(700_000));
        inbox.before.lock().unwrap().push(answer(at));
        assert_eq!(json(&resume(&late, &program).result.unwrap()), j!(expected));
        inbox.answers.lock().unwrap().insert("all/second".into(), "from a terminal".into());
        let late = world(&inbox, &entries);
        block_on(late.ports.clock.sleep_ms(700_000));
        assert_eq!(json(&resume(&late, &program).result.unwrap()), j!("nobody nobody"));
        inbox.answers.lock().unwrap().clear();
    }
    // The process waits for a timer that is due soon.
    let mut third = world(&inbox, &[]);
    third.options.linger_ms = Some(600_000);
    assert_eq!(json(&third.run(&program, "tea").result.unwrap()), j!("nobody nobody"));
}

#[test]
fn cancelling_from_elsewhere_ends_a_run() {
    let (program, inbox) = (questions(None), Arc::new(Inbox::default()));
    inbox.arriving.lock().unwrap().push(RawRunMessage::Cancel);
    let world = world(&inbox, &[]);
    assert_eq!(world.run(&program, "tea").result.unwrap_err().code, "CANCELLED");
}

/// Counts the commands.
#[derive(Default)]
struct Commands(Mutex<u32>);

#[async_trait]
impl CommandHost for Commands {
    async fn run_command(&self, _at: CallSite<'_>, _request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        *self.0.lock().unwrap() += 1;
        Ok(CommandOutput { exit_code: 0, stdout: "done".into(), stderr: String::new() })
    }
}

/// A command and a model call, both in progress when the process ends.
fn crashed(inbox: &Arc<Inbox>) -> (Arc<Program>, World, Arc<Commands>) {
    let mut b = Build::new();
    let call = CommandCall { script: "pay".into(), arguments: Vec::new(), env: Vec::new(), workdir: None };
    let branches = [b.step("pay", StepKind::Command(Box::new(call))), b.model("say", "x")];
    let body = b.parallel("", &branches, OnItemFailure::Abort);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    let commands = Arc::new(Commands::default());
    let mut whole = world(inbox, &[]);
    whole.ports.commands = Some(commands.clone());
    whole.run(&program, "x").result.unwrap();
    *commands.0.lock().unwrap() = 0;
    let entries = whole.journal.entries("r1");
    let mut cut = world(inbox, &entries[..3]);
    cut.ports.commands = Some(commands.clone());
    (program, cut, commands)
}

#[test]
fn a_command_that_may_have_been_done_is_not_done_again_unasked() {
    let inbox = Arc::new(Inbox::default());
    let (program, world, commands) = crashed(&inbox);
    let outcome = resume(&world, &program);
    assert_eq!((steps(&outcome), outcome.waiting[0].sort), (vec!["pay"], "command"));
    assert_eq!(*commands.0.lock().unwrap(), 0);
    // The model is called again. The usage of the first call is unknown.
    let used = Usage { input_tokens: 1, output_tokens: 1, unknown_calls: 1, unpriced_calls: 2, ..Usage::default() };
    assert_eq!(outcome.usage, used);
    // A person decides.
    inbox.decisions.lock().unwrap().insert("pay".into(), RawDecision::Retry);
    let outcome = resume(&world, &program);
    assert!(outcome.result.is_ok());
    assert_eq!(*commands.0.lock().unwrap(), 1);
    assert_eq!(outcome.usage, used);
}

/// Who gave the answers and decisions of a run, with the steps and the kinds of events or entries that name them, sorted.
fn givers(named: impl IntoIterator<Item = (&'static str, Key, Option<Box<AnswerReceipt>>)>) -> Vec<String> {
    let mut all = Vec::new();
    for (kind, key, given_by) in named {
        if let Some(given_by) = given_by {
            all.push(format!("{kind} {key} {given_by}"));
        }
    }
    all.sort();
    all
}

fn givers_in_events(world: &World) -> Vec<String> {
    givers(world.events.collected_events().into_iter().filter_map(|event| {
        let name = event.kind.name();
        let (EventKind::EffectStarted { given_by, .. }
        | EventKind::EffectFinished { given_by, .. }
        | EventKind::EffectFailed { given_by, .. }) = event.kind
        else {
            return None;
        };
        Some((name, event.key?, given_by))
    }))
}

fn givers_in_journal(entries: &[Entry]) -> Vec<String> {
    givers(entries.iter().filter_map(|entry| match entry.kind.clone() {
        EntryKind::Restarted { key, given_by } => Some(("restarted", key, given_by)),
        EntryKind::Completed { key, about, .. } => Some(("completed", key, about.given_by)),
        EntryKind::Failed { key, about, .. } => Some(("failed", key, about.given_by)),
        _ => None,
    }))
}

/// The events of a journal, when it is read later.
fn retold(program: &Arc<Program>, entries: &[Entry]) -> World {
    let again = world(&Arc::default(), entries);
    let prepared = PreparedProgram::new(program.clone());
    block_on(driver::retell_events(prepared, "r1", again.ports.clone(), &again.options)).unwrap();
    again
}

/// What a journal has without who gave the answers, as an earlier build wrote it.
fn without_givers(entries: &[Entry]) -> Vec<Entry> {
    let mut all = entries.to_vec();
    for entry in &mut all {
        match &mut entry.kind {
            EntryKind::Restarted { given_by, .. } => *given_by = None,
            EntryKind::Completed { about, .. } | EntryKind::Failed { about, .. } => about.given_by = None,
            _ => {}
        }
    }
    all
}

#[test]
fn entries_and_events_name_who_answered_and_nothing_else_depends_on_it() {
    let receipt = AnswerReceipt { sender: AnswerSender::new("ada", "api 203.0.113.7"), at: 1_772_355_900_250 };
    let by = "by ada, 2026-03-01 09:05:00Z, from api 203.0.113.7";
    let inbox = Arc::new(Inbox { receipt: Mutex::new(Some(receipt)), ..Inbox::default() });
    // One answer is read when the question is asked, the other one arrives later.
    let program = questions(None);
    inbox.answers.lock().unwrap().insert("all/first".into(), "yes".into());
    inbox.arriving.lock().unwrap().push(RawRunMessage::Answer {
        key: Key("all/second".into()),
        text: "no".into(),
        at: 1_772_355_900_250,
    });
    let mut asked = world(&inbox, &[]);
    asked.options.linger_ms = Some(u64::MAX);
    assert_eq!(json(&asked.run(&program, "tea").result.unwrap()), j!("yes no"));
    let entries = asked.journal.entries("r1");
    let both = |kind: &str| ["first", "second"].map(|step| format!("{kind} all/{step} {by}"));
    assert_eq!(givers_in_journal(&entries), both("completed"));
    assert_eq!(givers_in_events(&asked), both("effect_finished"));
    // The same when the journal is read again. Without them, only they are missing.
    let (told, bare) = (retold(&program, &entries), retold(&program, &without_givers(&entries)));
    let mut live = asked.events.collected_events();
    live.retain(|event| !matches!(event.kind, EventKind::TextDelta { .. }));
    assert_eq!(told.events.collected_events(), live);
    assert_eq!(givers_in_events(&bare), Vec::<String>::new());
    assert_eq!(told.events.collected_events().len(), bare.events.collected_events().len());

    // Decisions about an unknown outcome.
    for (decision, entry, event) in [
        (RawDecision::Retry, "restarted", "effect_started"),
        (RawDecision::Fail, "failed", "effect_failed"),
        (RawDecision::Done("by hand".into()), "completed", "effect_finished"),
    ] {
        let (program, world, _) = crashed(&inbox);
        inbox.decisions.lock().unwrap().insert("pay".into(), decision);
        let _ = resume(&world, &program);
        inbox.decisions.lock().unwrap().clear();
        let entries = world.journal.entries("r1");
        assert_eq!(givers_in_journal(&entries), [format!("{entry} pay {by}")]);
        assert_eq!(givers_in_events(&world), [format!("{event} pay {by}")]);
        assert_eq!(givers_in_events(&retold(&program, &entries)), [format!("{event} pay {by}")]);
    }
}

#[test]
fn no_secret_is_stored_or_shown_as_a_name() {
    let receipt = AnswerReceipt { sender: AnswerSender::new("tr0ub4dor", "from tr0ub4dor"), at: 1_772_355_900_250 };
    let mut b = Build::new();
    let prompt = ValueExpression::Template(b.text("is it {{secrets.TOKEN}}?"));
    let call = HumanCall { prompt, timeout_ms: None, on_timeout: OnTimeout::Fail, answer_at: None };
    let ask = b.step("ask", StepKind::Human(Box::new(call)));
    let main = b.flow("main", ask, None);
    let program = b.program(main);
    for arrives_later in [false, true] {
        let inbox = Arc::new(Inbox { receipt: Mutex::new(Some(receipt.clone())), ..Inbox::default() });
        if arrives_later {
            let key = Key("ask".into());
            inbox.arriving.lock().unwrap().push(RawRunMessage::Answer { key, text: "yes".into(), at: 1 });
        } else {
            inbox.answers.lock().unwrap().insert("ask".into(), "yes".into());
        }
        let mut asked = world(&inbox, &[]);
        asked.ports.secrets = Arc::new(MapSecrets::new().with_secret("TOKEN", "tr0ub4dor"));
        asked.options.linger_ms = Some(u64::MAX);
        asked.run(&program, "tea").result.unwrap();
        for named in [givers_in_journal(&asked.journal.entries("r1")), givers_in_events(&asked)] {
            let [line] = &named[..] else { panic!("{named:?}") };
            assert!(line.contains("by ***") && !line.contains("tr0ub4dor"), "{line}");
        }
    }
}

#[test]
fn the_time_limit_of_a_command_waits_for_the_decision_and_begins_with_it() {
    let inbox = Arc::new(Inbox::default());
    let mut b = Build::new();
    let call = CommandCall { script: "pay".into(), arguments: Vec::new(), env: Vec::new(), workdir: None };
    let pay = b.step("pay", StepKind::Command(Box::new(call)));
    b.at(pay).policy.timeout_ms = Some(1_000);
    let main = b.flow("main", pay, None);
    let program = b.program(main);
    let commands = Arc::new(Commands::default());
    let mut whole = world(&inbox, &[]);
    whole.ports.commands = Some(commands.clone());
    whole.run(&program, "x").result.unwrap();
    *commands.0.lock().unwrap() = 0;
    let entries = whole.journal.entries("r1");
    let at = |kind: &str| entries.iter().position(|e| format!("{:?}", e.kind).contains(kind)).unwrap();
    let later = |entries: &[Entry], ms: u64| {
        let mut world = world(&inbox, entries);
        world.ports.commands = Some(commands.clone());
        block_on(world.clock.sleep_ms(ms));
        world
    };
    // The process ended while the command was running. An hour later, a new process resumes the run.
    let first = later(&entries[..at("Completed")], 3_600_000);
    let outcome = resume(&first, &program);
    assert_eq!((steps(&outcome), outcome.waiting[0].sort), (vec!["pay"], "command"));
    // The decision takes another hour.
    inbox.decisions.lock().unwrap().insert("pay".into(), RawDecision::Retry);
    let second = later(&first.journal.entries("r1"), 7_200_000);
    assert!(resume(&second, &program).result.is_ok());
    assert_eq!(*commands.0.lock().unwrap(), 1);
    // The journal says the same.
    let done = second.journal.entries("r1");
    assert!(done.iter().any(|e| matches!(e.kind, EntryKind::Restarted { .. })));
    let third = world(&inbox, &done);
    assert!(resume(&third, &program).result.is_ok());
    assert_eq!(*commands.0.lock().unwrap(), 1);
}

#[test]
fn the_operator_says_what_becomes_of_unknown_commands() {
    for (policy, runs, code) in [(OnUnknown::Retry, 1, None), (OnUnknown::Fail, 0, Some("UNKNOWN_OUTCOME"))] {
        let inbox = Arc::new(Inbox::default());
        let (program, mut world, commands) = crashed(&inbox);
        world.options.recovery = RecoveryPolicy { commands: policy, ..RecoveryPolicy::default() };
        let outcome = resume(&world, &program);
        assert_eq!(outcome.result.err().map(|e| e.into_data().code).as_deref(), code);
        assert_eq!(*commands.0.lock().unwrap(), runs, "{policy:?}");
    }
}

#[test]
fn a_run_that_ends_its_process_every_time_is_given_up() {
    let inbox = Arc::new(Inbox::default());
    let (program, world, _) = crashed(&inbox);
    let entries = world.journal.entries("r1");
    let mut again = world;
    // Each process ends right after its start.
    for execution in 1..=3u32 {
        let resumed = EntryKind::Resumed { engine: "0".into(), execution, lost: Vec::new(), changes: Box::default() };
        let seq = entries.len() as u64 + u64::from(execution) - 1;
        let entry = Entry { v: 1, seq, at_ms: 9, kind: resumed };
        block_on(again.journal.append_entries("r1", &[entry], &[])).unwrap();
    }
    again.options.max_fruitless = Some(3);
    let error = resume(&again, &program).result.unwrap_err();
    assert_eq!(error.code, "RESUME_LIMIT");
    again.options.max_fruitless = Some(4);
    assert_eq!(resume(&again, &program).result.unwrap_err().code, "SUSPENDED");
}

/// The events that a world has seen, without arriving text, which has no number of its own.
pub fn numbered(world: &World) -> Vec<(u64, Option<String>, String)> {
    let seen = world.events.collected_events().into_iter().filter(|e| !matches!(e.kind, EventKind::TextDelta { .. }));
    let tell = |e: trefoil_runtime::Event| (e.seq, e.key.map(|k| k.to_string()), e.kind.name().to_owned());
    seen.map(tell).collect()
}

#[test]
fn a_run_is_told_with_the_same_numbers_while_it_happens_when_it_is_resumed_and_from_its_journal() {
    let (program, inbox) = (questions(None), Arc::new(Inbox::default()));
    let first = world(&inbox, &[]);
    first.run(&program, "tea");
    let told = numbered(&first);
    assert_eq!(told.iter().map(|(seq, ..)| *seq).collect::<Vec<_>>(), (0..told.len() as u64).collect::<Vec<_>>());
    for key in ["all/first", "all/second"] {
        inbox.answers.lock().unwrap().insert(key.into(), "yes".into());
    }
    let second = world(&inbox, &first.journal.entries("r1"));
    assert!(resume(&second, &program).result.is_ok());
    let whole = numbered(&second);
    assert_eq!(whole[..told.len()], told[..]);
    assert!(whole.len() > told.len());
    let entries = second.journal.entries("r1");
    let third = world(&inbox, &entries);
    block_on(driver::retell_events(PreparedProgram::new(program), "r1", third.ports.clone(), &third.options)).unwrap();
    assert_eq!(numbered(&third), whole);
}

#[test]
fn the_journals_of_all_cuts_tell_the_beginning_of_the_same_story() {
    let mut b = Build::new();
    let branches = [b.model("a", "one"), b.model("b", "two"), b.model("c", "three")];
    let all = b.parallel("all", &branches, OnItemFailure::Abort);
    let steps = [all, b.wait("rest", 50), b.model("end", "{{a}}")];
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    let program = b.program(main);
    let world = World::echo();
    world.run(&program, "x").result.unwrap();
    let whole = numbered(&world);
    let entries = world.journal.entries("r1");
    for cut in 1..=entries.len() {
        let part = World::echo();
        block_on(part.journal.append_entries("r1", &entries[..cut], &[])).unwrap();
        let prepared = PreparedProgram::new(program.clone());
        block_on(driver::retell_events(prepared, "r1", part.ports.clone(), &part.options)).unwrap();
        let told = numbered(&part);
        assert_eq!(told, whole[..told.len()], "cut at {cut}");
    }
}
