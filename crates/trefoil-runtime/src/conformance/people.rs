//! Inboxes: people who are asked, here or elsewhere.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use trefoil_ir::OnTimeout;
use trefoil_machine::key::Key;
use trefoil_machine::request::HumanRequest;

use super::must;
use super::site::{Site, soon};
use crate::ports::{Arrived, Asked, Decided, HumanInbox};

/// What an inbox is tested with. It knows the runs `run-a` and `run-b`.
#[async_trait]
pub trait People: Send + Sync {
    /// The inbox.
    fn inbox(&self) -> Arc<dyn HumanInbox>;
    /// Sends something to a run from elsewhere. False: nothing comes from elsewhere.
    async fn send(&self, run: &str, what: Arrived) -> bool;
    /// What comes of a question that nobody has sent an answer to.
    fn asked(&self) -> Asked;
}

/// An inbox says the same of a question whenever it is asked, hands over what is sent to a run to that run only, and keeps it
/// until the run has taken it in.
pub async fn people(people: &dyn People) -> Result<(), String> {
    let inbox = people.inbox();
    // A question that is put down in one process is asked again in a later one.
    for (run, key) in [("run-a", "main/ask"), ("run-a", "main/ask"), ("run-b", "main/ask"), ("run-a", "main/ask@1")] {
        says(&*inbox, run, key, &people.asked()).await?;
    }
    must(decided(&*inbox, "run-a", "main/command").await?.is_none(), || "it decides by itself".to_owned())?;
    nothing(&*inbox, "run-a").await?;
    if !people.send("run-a", answer("main/ask", "yes")).await {
        return Ok(());
    }
    must(people.asked() == Asked::Later, || "it takes answers from elsewhere, and does not wait for them".to_owned())?;

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
        must(found == expected, || format!("of `{at}` it says {found:?}, {expected:?} was decided"))?;
    }
    must(decided(&*inbox, "run-b", "main/command").await?.is_none(), || {
        "what was decided for one run is told to another one".to_owned()
    })?;
    comes(&*inbox, "run-a", &Arrived::Decided(key("main/command"), Decided::Retry)).await?;

    // What a run has taken in takes nothing else with it.
    soon("taking", inbox.taken("run-a", &key("main/ask"))).await?;
    comes(&*inbox, "run-a", &Arrived::Decided(key("main/tool"), Decided::Fail)).await?;
    comes(&*inbox, "run-a", &Arrived::Decided(key("main/other"), done)).await?;
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
    Arrived::Answer(key(at), text.to_owned())
}

async fn says(inbox: &dyn HumanInbox, run: &'static str, key: &str, expected: &Asked) -> Result<(), String> {
    let site = Site::new(run, key);
    let request = HumanRequest {
        step: "ask".into(),
        prompt: "Shall we?".into(),
        accepts: vec!["yes".into(), "no".into()],
        refused: None,
        timeout_ms: None,
        on_timeout: OnTimeout::Fail,
    };
    let found = soon("asking", inbox.ask(site.at(), &request)).await?;
    must(found == *expected, || format!("asked for `{key}` of `{run}` it says {found:?}, not {expected:?}"))
}

async fn decided(inbox: &dyn HumanInbox, run: &'static str, key: &str) -> Result<Option<Decided>, String> {
    let site = Site::new(run, key);
    soon("what was decided", inbox.decided(site.at())).await
}

/// Whoever looks and looks away again loses nothing.
async fn comes(inbox: &dyn HumanInbox, run: &str, expected: &Arrived) -> Result<(), String> {
    let looking = async {
        loop {
            if let Ok(arrived) = tokio::time::timeout(Duration::from_millis(20), inbox.arrived(run)).await {
                return arrived;
            }
        }
    };
    let found = soon("what was sent", looking).await?;
    must(found == *expected, || format!("to `{run}` came {found:?}, not {expected:?}"))
}

/// Long enough for what has been sent to be there.
const WHILE: Duration = Duration::from_millis(700);

async fn nothing(inbox: &dyn HumanInbox, run: &str) -> Result<(), String> {
    match tokio::time::timeout(WHILE, inbox.arrived(run)).await {
        Ok(arrived) => Err(format!("to `{run}` came {arrived:?}, which nobody sent")),
        Err(_) => Ok(()),
    }
}
