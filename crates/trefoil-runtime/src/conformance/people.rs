//! The conformance suite for inboxes, which ask people in this process or elsewhere.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use trefoil_ir::OnTimeout;
use trefoil_machine::key::Key;
use trefoil_machine::request::HumanRequest;

use super::must;
use super::site::{TestCallSite, finish_in_time};
use crate::ports::{HumanInbox, QuestionState, RawDecision, RawRunMessage, ReceivedMessage};

/// An inbox and what its test needs. The inbox knows the runs `run-a` and `run-b`.
#[async_trait]
pub trait InboxFixture: Send + Sync {
    /// The inbox.
    fn inbox(&self) -> Arc<dyn HumanInbox>;
    /// Sends a message to a run from another process. `false`: the inbox receives no messages.
    async fn send(&self, run: &str, what: RawRunMessage) -> bool;
    /// The expected state of a question without an answer.
    fn expected_state(&self) -> &QuestionState;
}

/// An inbox returns the same state whenever a question is asked again. It delivers a message only to the run that it was sent to,
/// and keeps the message until the run confirms it.
pub async fn check_inbox(people: &dyn InboxFixture) -> Result<(), String> {
    let inbox = people.inbox();
    // A question stored by one process is asked again in a later one.
    for (run, key) in [("run-a", "main/ask"), ("run-a", "main/ask"), ("run-b", "main/ask"), ("run-a", "main/ask@1")] {
        check_question(&*inbox, run, key, people.expected_state()).await?;
    }
    must(read_decision(&*inbox, "run-a", "main/command").await?.is_none(), || "it decides by itself".to_owned())?;
    expect_nothing(&*inbox, "run-a").await?;
    if !people.send("run-a", answer("main/ask", "yes")).await {
        return Ok(());
    }
    must(*people.expected_state() == QuestionState::Later, || {
        "it takes answers from elsewhere, and does not wait for them".to_owned()
    })?;

    expect_message(&*inbox, "run-a", &answer("main/ask", "yes")).await?;
    expect_nothing(&*inbox, "run-b").await?;
    // The process may end before the answer is in the journal.
    check_question(&*inbox, "run-a", "main/ask", &QuestionState::Answer("yes".to_owned())).await?;
    for (run, key) in [("run-b", "main/ask"), ("run-a", "main/ask@1"), ("run-a", "main")] {
        check_question(&*inbox, run, key, &QuestionState::Later).await?;
    }

    send(people, "run-a", RawRunMessage::Decided(key("main/command"), RawDecision::Retry)).await?;
    send(people, "run-a", RawRunMessage::Decided(key("main/tool"), RawDecision::Fail)).await?;
    let done = RawDecision::Done([("id", 7)].into_iter().collect());
    send(people, "run-a", RawRunMessage::Decided(key("main/other"), done.clone())).await?;
    let all = [
        ("main/command", Some(RawDecision::Retry)),
        ("main/tool", Some(RawDecision::Fail)),
        ("main/other", Some(done.clone())),
        ("main", None),
    ];
    for (at, expected) in all {
        let found = read_decision(&*inbox, "run-a", at).await?;
        let found = found.map(|found| found.what);
        must(found == expected, || format!("of `{at}` it says {found:?}, {expected:?} was decided"))?;
    }
    must(read_decision(&*inbox, "run-b", "main/command").await?.is_none(), || {
        "what was decided for one run is told to another one".to_owned()
    })?;
    expect_message(&*inbox, "run-a", &RawRunMessage::Decided(key("main/command"), RawDecision::Retry)).await?;

    expect_message(&*inbox, "run-a", &RawRunMessage::Decided(key("main/tool"), RawDecision::Fail)).await?;
    expect_message(&*inbox, "run-a", &RawRunMessage::Decided(key("main/other"), done)).await?;
    send(people, "run-b", RawRunMessage::Continue("run-c".to_owned())).await?;
    expect_message(&*inbox, "run-b", &RawRunMessage::Continue("run-c".to_owned())).await?;
    send(people, "run-b", RawRunMessage::Cancel).await?;
    expect_message(&*inbox, "run-b", &RawRunMessage::Cancel).await?;
    expect_nothing(&*inbox, "run-a").await
}

async fn send(people: &dyn InboxFixture, run: &str, what: RawRunMessage) -> Result<(), String> {
    must(people.send(run, what.clone()).await, || format!("{what:?} cannot be sent"))
}

fn key(text: &str) -> Key {
    Key(text.into())
}

fn answer(at: &str, text: &str) -> RawRunMessage {
    RawRunMessage::Answer { key: key(at), text: text.to_owned(), at: 1 }
}

async fn check_question(
    inbox: &dyn HumanInbox,
    run: &'static str,
    key: &str,
    expected: &QuestionState,
) -> Result<(), String> {
    let site = TestCallSite::new(run, key);
    let request = HumanRequest {
        step: "ask".into(),
        prompt: "Shall we?".into(),
        accepts: vec!["yes".into(), "no".into()],
        choices: Vec::new(),
        refused: None,
        timeout_ms: None,
        on_timeout: OnTimeout::Fail,
        answer_by: None,
    };
    let found = finish_in_time("asking", inbox.ask_question(site.call_site(), &request)).await?;
    let found = match found {
        QuestionState::Written(answer) => QuestionState::Answer(answer.what),
        QuestionState::AnswerFrom(answer, _) => QuestionState::Answer(answer),
        found => found,
    };
    must(found == *expected, || format!("asked for `{key}` of `{run}` it says {found:?}, not {expected:?}"))
}

async fn read_decision(
    inbox: &dyn HumanInbox,
    run: &'static str,
    key: &str,
) -> Result<Option<ReceivedMessage<RawDecision>>, String> {
    let site = TestCallSite::new(run, key);
    finish_in_time("what was decided", inbox.find_decision(site.call_site())).await
}

/// Dropping the future and waiting again loses no message.
async fn expect_message(inbox: &dyn HumanInbox, run: &str, expected: &RawRunMessage) -> Result<(), String> {
    let looking = async {
        loop {
            if let Ok(arrived) = tokio::time::timeout(Duration::from_millis(20), inbox.next_message(run)).await {
                return arrived;
            }
        }
    };
    let found = finish_in_time("what was sent", looking).await?.what;
    must(found == *expected, || format!("to `{run}` came {found:?}, not {expected:?}"))
}

/// Long enough for a sent message to arrive.
const WHILE: Duration = Duration::from_millis(700);

async fn expect_nothing(inbox: &dyn HumanInbox, run: &str) -> Result<(), String> {
    match tokio::time::timeout(WHILE, inbox.next_message(run)).await {
        Ok(ReceivedMessage { what, .. }) => Err(format!("to `{run}` came {what:?}, which nobody sent")),
        Err(_) => Ok(()),
    }
}
