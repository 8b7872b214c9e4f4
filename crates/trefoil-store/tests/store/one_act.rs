//! One message, one act: a process is killed before and after each append of the activity that a message decides. The message is gone
//! exactly if the journal has the entry that acts on it, and nothing is done more often than messages permit.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use async_trait::async_trait;
use testbed::Build;
use trefoil_ir::{CommandCall, HumanCall, OnTimeout, Program, StepId, StepKind, ToolCall, ToolKind, ValueExpression};
use trefoil_machine::{AnswerReceipt, AnswerSender, EntryKind, PreparedProgram};
use trefoil_runtime::driver::{self, DriverOptions, RunOutcome};
use trefoil_runtime::ports::{
    CallSite, CommandHost, CommandOutput, InboxMessageId, Journal, JournalError, RawSuspension, SuspendedCall,
    ToolError,
};
use trefoil_runtime::{CommandRequest, Entry, ToolHost, ToolRequest, Usage};
use trefoil_store::{InboxMessage, MessageKind, NewRun, Owner, SqliteStore, Store, StoreInbox, StoreOptions};
use trefoil_template::Value;

use crate::runs::ports;

/// Counts what it does. The tool `flow` starts a run that waits, as long as `waits` is set.
#[derive(Default)]
struct Hands {
    done: AtomicUsize,
    waits: AtomicUsize,
}

#[async_trait]
impl CommandHost for Hands {
    async fn run_command(&self, _at: CallSite<'_>, _request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        self.done.fetch_add(1, Ordering::SeqCst);
        Ok(CommandOutput { exit_code: 0, stdout: "paid".to_owned(), stderr: String::new() })
    }
}

#[async_trait]
impl ToolHost for Hands {
    fn offers_tool(&self, _name: &str, _kind: &ToolKind) -> bool {
        true
    }
    async fn call_tool(&self, _at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        if &*request.name != "flow" {
            self.done.fetch_add(1, Ordering::SeqCst);
            return Ok("paid".into());
        }
        match self.waits.load(Ordering::SeqCst) {
            0 => Ok("called".into()),
            _ => {
                let usage = Usage::default();
                let call = SuspendedCall { run: "called".into(), waiting: vec![waiting()], wake_at: None, usage };
                Err(ToolError::Suspended(Box::new(RawSuspension(call))))
            }
        }
    }
    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        &*request.name == "flow"
    }
}

fn waiting() -> trefoil_machine::event::AwaitedActivity {
    trefoil_machine::event::AwaitedActivity {
        key: "ask".into(),
        step: "ask".to_owned(),
        prompt: Some("?".to_owned()),
        sort: "human",
        run: Some("called".to_owned()),
        calls: Vec::new(),
        settled: None,
        call: None,
        accepts: Vec::new(),
        choices: Vec::new(),
        deadline: None,
        why: None,
    }
}

/// Where a process ends: before or after its n-th append.
#[derive(Debug, Clone, Copy)]
struct Cut {
    after: i64,
    is_stored: bool,
}

const NEVER: Cut = Cut { after: i64::MAX, is_stored: true };

struct Ends<J> {
    journal: J,
    cut: Cut,
    count: AtomicI64,
    over: tokio::sync::Notify,
}

#[async_trait]
impl<J: Journal> Journal for Ends<J> {
    async fn append_entries(
        &self,
        run: &str,
        entries: &[Entry],
        message_ids: &[InboxMessageId],
    ) -> Result<(), JournalError> {
        let n = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        if n < self.cut.after || (n == self.cut.after && self.cut.is_stored) {
            self.journal.append_entries(run, entries, message_ids).await?;
        }
        if n >= self.cut.after {
            self.over.notify_one();
            std::future::pending::<()>().await;
        }
        Ok(())
    }
    async fn read_entries(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        self.journal.read_entries(run, from).await
    }
}

struct Scene {
    store: Arc<dyn Store>,
    program: Arc<PreparedProgram>,
    hands: Arc<Hands>,
    run: String,
}

impl Scene {
    /// A process that starts the run or resumes it. `None`: it was killed at the cut.
    async fn process(&self, cut: Cut) -> Option<RunOutcome> {
        let owner = Owner::of_process(self.store.clone());
        let first = self.store.record(&self.run).await.is_err();
        let hold = match first {
            true => owner.begin_run(NewRun { run: self.run.clone(), ..NewRun::default() }),
            false => owner.resume_run(&self.run).await.unwrap(),
        };
        let (count, over) = (AtomicI64::new(0), tokio::sync::Notify::new());
        let journal = Arc::new(Ends { journal: hold, cut, count, over });
        let mut ports = ports(Arc::default(), journal.clone());
        ports.humans = Arc::new(StoreInbox::new(owner.clone(), None));
        ports.tools = self.hands.clone();
        ports.commands = Some(self.hands.clone());
        let options = DriverOptions { run: Some(self.run.clone()), ..DriverOptions::default() };
        let run = async {
            match first {
                true => driver::run_prepared(self.program.clone(), Some("in".into()), ports, options).await,
                false => driver::resume_prepared(self.program.clone(), &self.run, ports, options).await,
            }
        };
        let outcome = tokio::select! {
            biased;
            () = journal.over.notified() => None,
            outcome = run => Some(outcome),
        };
        drop(journal);
        while self.store.record(&self.run).await.is_ok_and(|record| record.owner.is_some()) {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        outcome
    }

    async fn entries(&self) -> Vec<EntryKind> {
        let (mut all, mut next) = (Vec::new(), 0);
        while let Ok(page) = self.store.read_entries(&self.run, next).await
            && let Some(last) = page.last()
        {
            next = last.seq + 1;
            all.extend(page.into_iter().map(|entry| entry.kind));
        }
        all
    }

    async fn post(&self, sort: &Sort) {
        let as_of = self.store.record(&self.run).await.unwrap().entries;
        let (kind, key, value) = (sort.kind, sort.key.to_owned(), sort.value());
        let letter = InboxMessage { kind, key, value, at: 1, as_of, sender: Some(AnswerSender::new("ada", sort.name)) };
        self.store.post_message(&self.run, letter).await.unwrap();
    }
}

/// A sort of message, and what it decides.
struct Sort {
    name: &'static str,
    kind: MessageKind,
    key: &'static str,
    value: &'static str,
    step: fn(&mut Build) -> StepId,
    /// Whether an entry acts on it.
    acts: fn(&EntryKind) -> bool,
    /// How often it permits something to be done.
    permits: usize,
    /// The code of the run's failure.
    fails: Option<&'static str>,
}

impl Sort {
    fn value(&self) -> Value {
        match self.value {
            "done" => [(InboxMessage::DONE, Value::from("by hand"))].into_iter().collect(),
            value => value.into(),
        }
    }
}

fn command(b: &mut Build) -> StepId {
    let call = CommandCall { script: "pay".into(), arguments: Vec::new(), env: Vec::new(), workdir: None };
    b.step("pay", StepKind::Command(Box::new(call)))
}

fn tool(b: &mut Build, name: &str) -> StepId {
    let call = ToolCall { name: name.into(), kind: ToolKind::Local, arguments: ValueExpression::Object(Vec::new()) };
    b.step("pay", StepKind::Tool(Box::new(call)))
}

fn question(b: &mut Build) -> StepId {
    let prompt = ValueExpression::Template(b.text("ok?"));
    let call = HumanCall { prompt, timeout_ms: None, on_timeout: OnTimeout::Fail, answer_at: None };
    b.step("pay", StepKind::Human(Box::new(call)))
}

fn is_repeated(kind: &EntryKind) -> bool {
    matches!(kind, EntryKind::Restarted { .. })
}

fn has_ended(kind: &EntryKind) -> bool {
    matches!(kind, EntryKind::Completed { key, .. } | EntryKind::Failed { key, .. } if key.as_str() == "pay")
}

/// Who gave the answer or the decision on which an entry acts.
fn giver(kind: &EntryKind) -> Option<AnswerReceipt> {
    match kind {
        EntryKind::Restarted { given_by, .. } => given_by.as_deref().cloned(),
        EntryKind::Completed { about, .. } | EntryKind::Failed { about, .. } => about.given_by.as_deref().cloned(),
        _ => None,
    }
}

fn is_cancelled(kind: &EntryKind) -> bool {
    matches!(kind, EntryKind::CancelRequested {})
}

fn sorts() -> Vec<Sort> {
    use MessageKind::{Answer, Cancel, Signal};
    let sort = |name,
                kind,
                (key, value),
                step: fn(&mut Build) -> StepId,
                acts: fn(&EntryKind) -> bool,
                permits,
                fails| { Sort { name, kind, key, value, step, acts, permits, fails } };
    vec![
        sort("retry of a command", Signal, ("pay", "retry"), command, is_repeated, 1, None),
        sort("retry of a tool", Signal, ("pay", "retry"), |b| tool(b, "pay"), is_repeated, 1, None),
        sort("a command that failed", Signal, ("pay", "fail"), command, has_ended, 0, Some("UNKNOWN_OUTCOME")),
        sort("a tool that failed", Signal, ("pay", "fail"), |b| tool(b, "pay"), has_ended, 0, Some("UNKNOWN_OUTCOME")),
        sort("a command that was done", Signal, ("pay", "done"), command, has_ended, 0, None),
        sort("a tool that was done", Signal, ("pay", "done"), |b| tool(b, "pay"), has_ended, 0, None),
        sort("an answer", Answer, ("pay", "yes"), question, has_ended, 0, None),
        sort("a stop of a question", Cancel, ("", ""), question, is_cancelled, 0, Some("CANCELLED")),
        sort("a stop of a decision", Cancel, ("", ""), command, is_cancelled, 0, Some("CANCELLED")),
        sort("a called run that can continue", Signal, ("called", "continue"), |b| tool(b, "flow"), has_ended, 0, None),
    ]
}

fn program(sort: &Sort) -> Arc<Program> {
    let mut b = Build::new();
    let steps = [(sort.step)(&mut b), b.model("end", "x")];
    let body = b.sequence("", &steps);
    let main = b.flow("main", body, None);
    b.program(main)
}

/// Kills the process that gets the message at a cut, and resumes the run to its end. Returns whether the cut was reached.
async fn killed_at(store: &Arc<dyn Store>, sort: &Sort, cut: Cut) -> bool {
    let run = format!("{}-{}-{}", sort.name.replace(' ', "-"), cut.after, cut.is_stored);
    let scene =
        Scene { store: store.clone(), program: PreparedProgram::new(program(sort)), hands: Arc::default(), run };
    let at = format!("{}, {cut:?}", sort.name);
    scene.hands.waits.store(usize::from(sort.value == "continue"), Ordering::SeqCst);
    // Killed while the step is in progress, if it acts; then the run waits.
    if scene.process(Cut { after: 2, is_stored: false }).await.is_none() {
        assert!(scene.process(NEVER).await.unwrap().result.is_err_and(|error| error.code == "SUSPENDED"), "{at}");
    }
    scene.hands.done.store(0, Ordering::SeqCst);
    scene.hands.waits.store(0, Ordering::SeqCst);
    let acted = |all: Vec<EntryKind>, before: usize| all[before..].iter().filter(|kind| (sort.acts)(kind)).count();
    let before = scene.entries().await.len();
    scene.post(sort).await;

    let is_reached = scene.process(cut).await.is_none();
    let (acts, left) = (acted(scene.entries().await, before), store.read_inbox(&scene.run).await.unwrap().len());
    if sort.value != "continue" {
        assert_eq!(acts + left, 1, "{at}: {acts} entries act on the letter, and {left} letters are left");
    }
    // A run that has failed would be tried again.
    let record = store.record(&scene.run).await.unwrap();
    if record.status.is_end() {
        assert_eq!(record.error.map(|(code, _)| code).as_deref(), sort.fails, "{at}");
        assert_eq!((scene.hands.done.load(Ordering::SeqCst) <= sort.permits, left), (true, 0), "{at}");
        return is_reached;
    }
    // Nobody writes again, unless the run asks again.
    let mut retries = sort.permits;
    let outcome = loop {
        let outcome = scene.process(NEVER).await.unwrap();
        match &outcome.result {
            Err(error) if error.code == "SUSPENDED" => {
                assert!(retries == 1 && scene.hands.done.load(Ordering::SeqCst) <= 1, "{at}: {outcome:?}");
                retries = 0;
                let done = Sort { value: "done", kind: MessageKind::Signal, key: "pay", ..sorts().remove(0) };
                scene.post(&done).await;
            }
            _ => break outcome,
        }
    };
    assert_eq!(outcome.result.err().map(|error| error.code.to_string()).as_deref(), sort.fails, "{at}");
    assert!(scene.hands.done.load(Ordering::SeqCst) <= sort.permits, "{at}: done more often than permitted");
    assert_eq!(store.read_inbox(&scene.run).await.unwrap(), [], "{at}");
    if sort.value != "continue" {
        assert_eq!(acted(scene.entries().await, before), 1, "{at}");
    }
    if !matches!(sort.kind, MessageKind::Cancel) && sort.value != "continue" {
        let all = scene.entries().await;
        let act = all[before..].iter().find(|kind| (sort.acts)(kind)).unwrap();
        assert_eq!(giver(act), Some(AnswerReceipt { sender: AnswerSender::new("ada", sort.name), at: 1 }), "{at}");
    }
    is_reached
}

async fn everywhere(store: Arc<dyn Store>) {
    let (mut cuts, mut all) = (0, 0);
    for sort in sorts() {
        for after in 1.. {
            all += 2;
            let mut reached = 0;
            for is_stored in [false, true] {
                reached += usize::from(killed_at(&store, &sort, Cut { after, is_stored }).await);
            }
            cuts += reached;
            if reached == 0 {
                break;
            }
        }
    }
    assert_eq!(store.check_integrity().await.unwrap().problems, Vec::<String>::new());
    assert!(cuts > 3 * sorts().len(), "{} sorts of letters, {cuts} cuts of {all} were reached", sorts().len());
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    #[allow(clippy::print_stdout, reason = "the number of cuts is worth seeing")]
    fn a_letter_is_gone_exactly_if_an_entry_acts_on_it() {
        crate::world::on_both(async || {
            let folder = tempfile::tempdir().unwrap();
            let store = SqliteStore::open(folder.path().join("runs.db"), StoreOptions::default()).unwrap();
            everywhere(Arc::new(store)).await;
        });
    }

    #[test]
    #[cfg(feature = "postgres")]
    fn the_same_holds_for_letters_on_a_database_server() {
        let Some(server) = testbed::postgres::server() else { return };
        let store = crate::postgres::open(&server.address(&server.database()), StoreOptions::default());
        let [runtime, _] = crate::world::runtimes();
        runtime.block_on(everywhere(store));
    }
}
