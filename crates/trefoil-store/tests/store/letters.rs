//! Runs that wait for people in other processes, and runs that are stopped from other processes.

use std::sync::Arc;

use async_trait::async_trait;
use testbed::Build;
use trefoil_ir::{CommandCall, HumanCall, OnTimeout, Program, StepKind, ValueExpression};
use trefoil_machine::{AnswerSender, EntryKind};
use trefoil_runtime::ports::{CallSite, CommandHost, CommandOutput, InboxMessageId, JournalError, ToolError};
use trefoil_runtime::{CommandRequest, DriverOptions as RunOptions, Entry, Journal, Ports, RunOutcome, driver};
use trefoil_store::{
    InboxMessage, MessageKind, Owner, SqliteStore, Status, Store, StoreError, StoreInbox, StoreOptions,
};
use trefoil_template::Value;

use crate::runs::{Counting, begin, owner, ports, until};
use crate::world::on_both;

fn letter(kind: MessageKind, key: &str, value: impl Into<Value>) -> InboxMessage {
    InboxMessage { kind, key: key.to_owned(), value: value.into(), at: 1, as_of: 10, sender: None }
}

/// Asks a person, then a model.
fn question() -> Arc<Program> {
    let mut b = Build::new();
    let prompt = ValueExpression::Template(b.text("ok with {{input}}?"));
    let call = HumanCall { prompt, timeout_ms: None, on_timeout: OnTimeout::Answer("nobody".into()), answer_at: None };
    let ask = b.step("ask", StepKind::Human(Box::new(call)));
    let ask = b.out(ask, "ask");
    let say = b.model("say", "they say {{ask}}");
    let body = b.sequence("", &[ask, say]);
    let main = b.flow("main", body, None);
    b.program(main)
}

fn with_inbox(owner: &Arc<Owner>, ports: Ports) -> Ports {
    Ports { humans: Arc::new(StoreInbox::new(owner.clone(), None)), ..ports }
}

async fn resume(owner: &Arc<Owner>, program: Arc<Program>, models: Arc<Counting>, run: &str) -> RunOutcome {
    let ports = with_inbox(owner, ports(models, owner.resume_run(run).await.unwrap()));
    driver::resume_run(program, run, ports, RunOptions::default()).await
}

#[test]
fn an_answer_that_comes_while_no_process_runs_is_there_when_one_does() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let first = owner(&path, "first");
        let options = RunOptions { run: Some("r".to_owned()), ..RunOptions::default() };
        let ports = with_inbox(&first, ports(Arc::default(), begin(&first, "r")));
        let outcome = driver::run(question(), Some("it".into()), ports, options).await;
        assert_eq!(outcome.result.unwrap_err().code, "SUSPENDED");
        drop(first);

        // Another process lists the waiting runs and posts a message.
        let store = SqliteStore::open(&path, StoreOptions::default()).unwrap();
        until(async || store.record("r").await.unwrap().owner.is_none()).await;
        assert_eq!(store.record("r").await.unwrap().status, Status::Waiting);
        assert_eq!(store.claimable_runs(u64::MAX / 4, 10).await.unwrap(), Vec::<String>::new());
        store.post_message("r", letter(MessageKind::Answer, "ask", "yes")).await.unwrap();
        assert_eq!(store.claimable_runs(0, 10).await.unwrap(), ["r"]);

        let second = owner(&path, "second");
        let outcome = resume(&second, question(), Arc::default(), "r").await;
        assert_eq!(outcome.result.unwrap().to_text().as_ref(), "they say yes");
        assert_eq!(store.read_inbox("r").await.unwrap(), []);
        assert_eq!(store.record("r").await.unwrap().status, Status::Completed);
        assert_eq!(store.check_integrity().await.unwrap().problems, Vec::<String>::new());
    });
}

#[test]
fn a_run_is_stopped_from_another_process() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let first = owner(&path, "first");
        let stuck = Arc::new(Counting { stuck: Some("say"), ..Counting::default() });
        let mut b = Build::new();
        let say = b.model("say", "x");
        let main = b.flow("main", say, None);
        let program = b.program(main);
        let options = RunOptions { run: Some("r".to_owned()), ..RunOptions::default() };
        let ports = with_inbox(&first, ports(stuck.clone(), begin(&first, "r")));
        let task = tokio::spawn(driver::run(program, Some("it".into()), ports, options));
        until(async || stuck.calls().contains_key("say")).await;
        let store = SqliteStore::open(&path, StoreOptions::default()).unwrap();
        store.post_message("r", letter(MessageKind::Cancel, "", Value::Null)).await.unwrap();
        assert_eq!(task.await.unwrap().result.unwrap_err().code, "CANCELLED");
        assert_eq!(store.record("r").await.unwrap().status, Status::Cancelled);
        assert_eq!(store.read_inbox("r").await.unwrap(), []);
    });
}

/// Never returns if true, otherwise succeeds.
struct Commands(bool);

#[async_trait]
impl CommandHost for Commands {
    async fn run_command(&self, _at: CallSite<'_>, _request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        if self.0 {
            std::future::pending::<()>().await;
        }
        Ok(CommandOutput { exit_code: 0, stdout: "done".to_owned(), stderr: String::new() })
    }
}

#[test]
fn what_becomes_of_a_command_that_was_interrupted_somebody_decides() {
    on_both(async || {
        for (decision, wanted) in [("retry", None), ("fail", Some("UNKNOWN_OUTCOME"))] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("runs.db");
            let mut b = Build::new();
            let call = CommandCall { script: "echo".into(), arguments: Vec::new(), env: Vec::new(), workdir: None };
            let command = b.step("deploy", StepKind::Command(Box::new(call)));
            let main = b.flow("main", command, None);
            let program = b.program(main);
            let first = owner(&path, "first");
            let options = RunOptions { run: Some("r".to_owned()), ..RunOptions::default() };
            let mut p = with_inbox(&first, ports(Arc::default(), begin(&first, "r")));
            p.commands = Some(Arc::new(Commands(true)));
            let task = tokio::spawn(driver::run(program.clone(), None, p, options));
            let store = SqliteStore::open(&path, StoreOptions::default()).unwrap();
            until(async || store.record("r").await.is_ok_and(|record| record.entries == 2)).await;
            task.abort();
            until(async || store.record("r").await.unwrap().owner.is_none()).await;
            // Without a decision, the run waits.
            let second = owner(&path, "second");
            let mut p = with_inbox(&second, ports(Arc::default(), second.resume_run("r").await.unwrap()));
            p.commands = Some(Arc::new(Commands(false)));
            let outcome = driver::resume_run(program.clone(), "r", p.clone(), RunOptions::default()).await;
            assert_eq!(outcome.result.unwrap_err().code, "SUSPENDED");
            drop(p);
            until(async || store.record("r").await.unwrap().owner.is_none()).await;
            store.post_message("r", letter(MessageKind::Signal, "deploy", decision)).await.unwrap();
            let mut p = with_inbox(&second, ports(Arc::default(), second.resume_run("r").await.unwrap()));
            p.commands = Some(Arc::new(Commands(false)));
            let outcome = driver::resume_run(program, "r", p, RunOptions::default()).await;
            assert_eq!(outcome.result.err().map(|error| error.into_data().code), wanted.map(Into::into));
            assert_eq!(store.read_inbox("r").await.unwrap(), []);
        }
    });
}

/// Ends its process after it was given the entries of an answer, before they are stored.
struct Dies<J>(J, tokio::sync::Notify);

#[async_trait]
impl<J: Journal> Journal for Dies<J> {
    async fn append_entries(
        &self,
        run: &str,
        entries: &[Entry],
        message_ids: &[InboxMessageId],
    ) -> Result<(), JournalError> {
        if message_ids.is_empty() {
            return self.0.append_entries(run, entries, message_ids).await;
        }
        self.1.notify_one();
        std::future::pending().await
    }
    async fn read_entries(&self, run: &str, from: u64) -> Result<Vec<Entry>, JournalError> {
        self.0.read_entries(run, from).await
    }
}

/// The end of the question in a run's journal.
async fn answer_entry(store: &SqliteStore) -> Option<EntryKind> {
    let entries = store.read_entries("r", 0).await.unwrap();
    let is_answer = |kind: &EntryKind| matches!(kind, EntryKind::Completed { key, .. } if key.as_str() == "ask");
    entries.into_iter().map(|entry| entry.kind).find(is_answer)
}

#[test]
fn an_answer_stays_open_with_its_sender_until_the_entry_that_follows_from_it_is_stored() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let first = owner(&path, "first");
        let options = RunOptions { run: Some("r".to_owned()), ..RunOptions::default() };
        let asking = with_inbox(&first, ports(Arc::default(), begin(&first, "r")));
        driver::run(question(), Some("it".into()), asking, options).await.result.unwrap_err();
        drop(first);
        let store = SqliteStore::open(&path, StoreOptions::default()).unwrap();
        until(async || store.record("r").await.unwrap().owner.is_none()).await;
        let sender = Some(AnswerSender::new("ada", "api 203.0.113.7"));
        let as_of = store.record("r").await.unwrap().entries;
        let sent = InboxMessage { sender, as_of, at: 77, ..letter(MessageKind::Answer, "ask", "yes") };
        store.post_message("r", sent.clone()).await.unwrap();

        // The process has the answer, and is killed before its entry is stored.
        let second = owner(&path, "second");
        let dies = Arc::new(Dies(second.resume_run("r").await.unwrap(), tokio::sync::Notify::new()));
        let killed = with_inbox(&second, ports(Arc::default(), dies.clone()));
        tokio::select! {
            _ = driver::resume_run(question(), "r", killed, RunOptions::default()) => panic!("the run has ended"),
            () = dies.1.notified() => {}
        }
        drop(dies);
        drop(second);
        until(async || store.record("r").await.unwrap().owner.is_none()).await;
        assert_eq!(answer_entry(&store).await, None);
        let inbox: Vec<_> = store.read_inbox("r").await.unwrap().into_iter().map(|posted| posted.message).collect();
        assert_eq!(inbox, [InboxMessage { as_of, ..sent.clone() }]);
        // It still is the answer: another one is refused, and says whose it is.
        let late = store.post_message("r", InboxMessage { value: "no".into(), at: 99, ..sent.clone() }).await;
        let Err(StoreError::Answered { by: Some(by), .. }) = late else { panic!("{late:?}") };
        assert_eq!((by.text.as_str(), &by.receipt), ("yes", &sent.receipt()));

        let third = owner(&path, "third");
        assert_eq!(
            resume(&third, question(), Arc::default(), "r").await.result.unwrap().to_text().as_ref(),
            "they say yes"
        );
        let Some(EntryKind::Completed { about, .. }) = answer_entry(&store).await else { panic!("no answer") };
        assert_eq!(about.given_by.as_deref(), sent.receipt().as_ref());
        assert_eq!(store.read_inbox("r").await.unwrap(), []);
    });
}

#[test]
fn a_store_of_an_earlier_build_gets_a_place_for_senders_with_the_first_one() {
    on_both(async || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.db");
        let store = crate::world::open(&path);
        crate::world::create(&store, "r").await.unwrap();
        let is_there = || {
            let file = rusqlite::Connection::open(&path).unwrap();
            file.prepare("SELECT sender FROM inbox").is_ok()
        };
        // As an earlier build has it: no message has a sender.
        store.post_message("r", letter(MessageKind::Cancel, "", Value::Null)).await.unwrap();
        assert!(!is_there());
        let reader = SqliteStore::open_to_read(&path, StoreOptions::default()).unwrap();
        assert_eq!(reader.read_inbox("r").await.unwrap()[0].message.sender, None);

        let sent = InboxMessage {
            sender: Some(AnswerSender::new("ada", "terminal")),
            ..letter(MessageKind::Answer, "ask", "yes")
        };
        store.post_message("r", sent).await.unwrap();
        assert!(is_there());
        let fresh = SqliteStore::open_to_read(&path, StoreOptions::default()).unwrap();
        for other in [&reader, &fresh, &crate::world::open(&path)] {
            let inbox = other.read_inbox("r").await.unwrap();
            let senders: Vec<_> = inbox.iter().map(|posted| posted.message.sender.clone()).collect();
            assert_eq!(senders, [None, Some(AnswerSender::new("ada", "terminal"))]);
        }
        // An earlier build writes as if there were no column.
        let file = rusqlite::Connection::open(&path).unwrap();
        file.execute_batch(
            "INSERT INTO inbox (run, kind, key, value, at, as_of) SELECT no, 'cancel', '', 'null', 1, NULL FROM run",
        )
        .unwrap();
        assert_eq!(fresh.read_inbox("r").await.unwrap()[2].message.sender, None);
    });
}
