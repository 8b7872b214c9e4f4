//! The conformance suite for inboxes, which ask people in this process or elsewhere.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use trefoil_ir::OnTimeout;
use trefoil_machine::key::Key;
use trefoil_machine::request::HumanRequest;

use super::must;
use super::site::{Site, soon};
use crate::ports::{Arrived, Asked, Decided, HumanInbox, Received};

/// An inbox and what its test needs. The inbox knows the runs `run-a` and `run-b`.
#[async_trait]
pub trait People: Send + Sync {
    /// The inbox.
    fn inbox(&self) -> Arc<dyn HumanInbox>;
    /// Sends a message to a run from another process. `false`: the inbox receives no messages.
    async fn send(&self, run: &str, what: Arrived) -> bool;
    /// The expected state of a question without an answer.
    fn asked(&self) -> &Asked;
}

/// An inbox returns the same state whenever a question is asked again. It delivers a message only to the run that it was sent to,
/// and keeps the message until the run confirms it.
pub async fn people(people: &dyn People) -> Result<(), String> {
    let inbox = people.inbox();
    // A question stored by one process is asked again in a later one.
    for (run, key) in [("run-a", "main/ask"), ("run-a", "main/ask"), ("run-b", "main/ask"), ("run-a", "main/ask@1")] {
        says(&*inbox, run, key, people.asked()).await?;
    }
    must(decided(&*inbox, "run-a", "main/command").await?.is_none(), || "it decides by itself".to_owned())?;
    nothing(&*inbox, "run-a").await?;
    if !people.send("run-a", answer("main/ask", "yes")).await {
        return Ok(());
    }
    must(*people.asked() == Asked::Later, || "it takes answers from elsewhere, and does not wait for them".to_owned())?;

    comes(&*inbox, "run-a", &answer("main/ask", "yes")).await?;
    nothing(&*inbox, "run-b").await?;
    // The process may end before the answer is in the journal.
    says(&*inbox, "run-a", "main/ask", &Asked::Answer("yes".to_owned())).await?;
    for (run, key) in [("run-b", "main/ask"), ("run-a", "main/ask@1"), ("run-a", "main")] {
        says(&*inbox, run, key, &Asked::Later).await?;
    }

    send(people, "run-a", Arrived::Decided(key("main/command"), Decided::Retry)).await?;
    send(people, "run-a", Arrived::Decided(key("main/tool"), Decided::Fail)).await?;
    let done = Decided::Done([("id", 7)].into_iter().collect());
    send(people, "run-a", Arrived::Decided(key("main/other"), done.clone())).await?;
    let all = [
        ("main/command", Some(Decided::Retry)),
        ("main/tool", Some(Decided::Fail)),
        ("main/other", Some(done.clone())),
        ("main", None),
    ];
    for (at, expected) in all {
        let found = decided(&*inbox, "run-a", at).await?;
        let found = found.map(|found| found.what);
        must(found == expected, || format!("of `{at}` it says {found:?}, {expected:?} was decided"))?;
    }
    must(decided(&*inbox, "run-b", "main/command").await?.is_none(), || {
        "what was decided for one run is told to another one".to_owned()
    })?;
    comes(&*inbox, "run-a", &Arrived::Decided(key("main/command"), Decided::Retry)).await?;

    comes(&*inbox, "run-a", &Arrived::Decided(key("main/tool"), Decided::Fail)).await?;
    comes(&*inbox, "run-a", &Arrived::Decided(key("main/other"), done)).await?;
    send(people, "run-b", Arrived::Continue("run-c".to_owned())).await?;
    comes(&*inbox, "run-b", &Arrived::Continue("run-c".to_owned())).await?;
    send(people, "run-b", Arrived::Cancel).await?;
    comes(&*inbox, "run-b", &Arrived::Cancel).await?;
    nothing(&*inbox, "run-a").await
}

async fn send(people: &dyn People, run: &str, what: Arrived) -> Result<(), String> {
    must(people.send(run, what.clone()).await, || format!("{what:?} cannot be sent"))
}

fn key(text: &str) -> Key {
    Key(text.into())
}

fn answer(at: &str, text: &str) -> Arrived {
    Arrived::Answer { key: key(at), text: text.to_owned(), at: 1 }
}

async fn says(inbox: &dyn HumanInbox, run: &'static str, key: &str, expected: &Asked) -> Result<(), String> {
    let site = Site::new(run, key);
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
    let found = soon("asking", inbox.ask(site.at(), &request)).await?;
    let found = match found {
        Asked::Written(answer, _) => Asked::Answer(answer),
        found => found,
    };
    must(found == *expected, || format!("asked for `{key}` of `{run}` it says {found:?}, not {expected:?}"))
}

async fn decided(inbox: &dyn HumanInbox, run: &'static str, key: &str) -> Result<Option<Received<Decided>>, String> {
    let site = Site::new(run, key);
    soon("what was decided", inbox.decided(site.at())).await
}

/// Dropping the future and waiting again loses no message.
async fn comes(inbox: &dyn HumanInbox, run: &str, expected: &Arrived) -> Result<(), String> {
    let looking = async {
        loop {
            if let Ok(arrived) = tokio::time::timeout(Duration::from_millis(20), inbox.arrived(run)).await {
                return arrived;
            }
        }
    };
    let found = soon("what was sent", looking).await?.what;
    must(found == *expected, || format!("to `{run}` came {found:?}, not {expected:?}"))
}

/// Long enough for a sent message to arrive.
const WHILE: Duration = Duration::from_millis(700);

async fn nothing(inbox: &dyn HumanInbox, run: &str) -> Result<(), String> {
    match tokio::time::timeout(WHILE, inbox.arrived(run)).await {
        Ok(Received { what, .. }) => Err(format!("to `{run}` came {what:?}, which nobody sent")),
        Err(_) => Ok(()),
    }
}
