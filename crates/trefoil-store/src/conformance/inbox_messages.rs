//! Messages reach a run's owner, and each answers the question that its writer saw.

use std::sync::Arc;

use trefoil_machine::{AnswerSender, EntryKind};
use trefoil_template::Value;

use super::{
    batch, begin_run, claim, end_run, entry, equal, expect, finished, require_refusal, require_success, scheduled,
    started,
};
use crate::batch::EntryBatch;
use crate::error::StoreError;
use crate::inbox::{InboxMessage, MessageKind};
use crate::lease::Lease;
use crate::port::{NewRun, Store};

pub async fn check_inbox_messages(store: &Arc<dyn Store>) -> Result<(), String> {
    check_messages(&**store).await?;
    questions(&**store).await?;
    callers(&**store).await?;
    at_once(store).await
}

async fn check_messages(store: &dyn Store) -> Result<(), String> {
    let lease = begin_run(store, "asked", "main", 1_000).await?;
    begin_run(store, "quiet", "main", 1_000).await?;
    end_run(store, "over", "main", 1_000, None).await?;
    let value: Value = [("yes", Value::from(true)), ("n", Value::from(u64::MAX))].into_iter().collect();
    let message = |kind, key: &str| {
        let (key, value) = (key.to_owned(), value.clone());
        InboxMessage { kind, key, value, at: 7, as_of: 1, sender: None }
    };
    let sender = Some(AnswerSender::new("\"ada\0\u{1b}[2J {{secrets.X}}", "api 203.0.113.7"));
    let answer = InboxMessage { sender, ..message(MessageKind::Answer, "review") };
    let first = require_success(store.post_message("asked", answer.clone()).await, "posting")?;
    let second = require_success(store.post_message("asked", message(MessageKind::Cancel, "")).await, "posting")?;
    expect(second > first, "later letters have larger numbers")?;
    let over = |e: &StoreError| matches!(e, StoreError::Ended { .. });
    require_refusal(store.post_message("over", answer.clone()).await, "write to a run that has ended", over)?;
    let nobody = |e: &StoreError| matches!(e, StoreError::NoRun { .. });
    require_refusal(store.post_message("nobody", answer.clone()).await, "write to nobody", nobody)?;
    let inbox = require_success(store.read_inbox("asked").await, "reading letters")?;
    equal(&inbox.iter().map(|posted| posted.id).collect::<Vec<_>>(), &vec![first, second], "the letters")?;
    expect(inbox.first().is_some_and(|posted| posted.message == answer), "a letter comes as it was written")?;
    let mine = require_success(store.messages_for_owner("suite", first).await, "reading letters of an owner")?;
    equal(&mine.iter().map(|posted| posted.id).collect::<Vec<_>>(), &vec![second], "later letters")?;
    expect(mine.iter().all(|posted| posted.message.sender.is_none()), "a letter without a sender has none")?;
    let all = require_success(store.messages_for_owner("suite", 0).await, "reading letters of an owner")?;
    expect(
        all.iter().any(|posted| posted.run == "asked" && posted.message == answer),
        "the owner of a run gets a letter as it was written",
    )?;
    expect(mine.iter().all(|posted| posted.run == "asked"), "letters say for which run they are")?;
    // A message is removed together with the entries that process it, or not at all.
    let mut taking = batch(&[entry(3, scheduled("b"))])?;
    taking.taken = vec![first];
    expect(store.append_batch(&lease, taking.clone()).await.is_err(), "entries with a gap are refused")?;
    equal(
        &require_success(store.read_inbox("asked").await, "reading letters")?.len(),
        &2,
        "letters after a refused append",
    )?;
    taking = EntryBatch { taken: vec![first], ..batch(&[entry(1, scheduled("b"))])? };
    require_success(store.append_batch(&lease, taking).await, "appending")?;
    let left = require_success(store.read_inbox("asked").await, "reading letters")?;
    equal(&left.iter().map(|posted| posted.id).collect::<Vec<_>>(), &vec![second], "the letters that are left")
}

/// One message for a question, and none for a question that is not open any more or that is a later one of the same activity.
async fn questions(store: &dyn Store) -> Result<(), String> {
    let lease = begin_run(store, "questions", "main", 1_000).await?;
    require_success(
        store.append_batch(&lease, batch(&[entry(1, scheduled("pay")), entry(2, scheduled("ask"))])?).await,
        "appending",
    )?;
    let message = |kind, key: &str, value: &str, as_of| InboxMessage {
        kind,
        key: key.to_owned(),
        value: value.into(),
        at: 7,
        as_of,
        sender: Some(AnswerSender::new(value, "terminal")),
    };
    let (retry, fail) =
        (message(MessageKind::Signal, "pay", "retry", 3), message(MessageKind::Signal, "pay", "fail", 3));
    let first = require_success(store.post_message("questions", retry.clone()).await, "posting")?;
    // Whoever comes second learns what was answered, by whom, from where and when.
    let has = |e: &StoreError| match e {
        StoreError::Answered { by: Some(by), .. } => by.text == "retry" && by.receipt == retry.receipt(),
        _ => false,
    };
    require_refusal(store.post_message("questions", fail.clone()).await, "answer a second time", has)?;
    require_refusal(store.post_message("questions", retry.clone()).await, "answer the same a second time", has)?;
    require_success(
        store.post_message("questions", message(MessageKind::Answer, "ask", "yes", 3)).await,
        "answering another question",
    )?;
    for _ in 0..2 {
        require_success(
            store.post_message("questions", message(MessageKind::Cancel, "", "", 0)).await,
            "asking to stop",
        )?;
        let goes_on = message(MessageKind::Signal, "pay", InboxMessage::CONTINUE, 0);
        require_success(store.post_message("questions", goes_on).await, "telling that a called run can continue")?;
    }
    let left = async |what: &str, wanted: &[&str]| -> Result<(), String> {
        let inbox = require_success(store.read_inbox("questions").await, "reading letters")?;
        let answers = inbox.iter().map(|posted| &posted.message).filter(|message| message.is_answer());
        equal(&answers.map(|message| message.key.as_str()).collect::<Vec<_>>(), &wanted.to_vec(), what)?;
        equal(&inbox.len(), &(wanted.len() + 4), &format!("the number of all letters: {what}"))
    };
    let restarted = EntryKind::Restarted { key: "pay".into(), given_by: None };
    let acts = EntryBatch { taken: vec![first], ..batch(&[entry(3, restarted)])? };
    require_success(store.append_batch(&lease, acts).await, "appending")?;
    left("the answers after the act", &["ask"]).await?;
    // It was written for the attempt before.
    let closed = |e: &StoreError| matches!(e, StoreError::Answered { by: None, .. });
    require_refusal(store.post_message("questions", fail).await, "answer a question that is closed", closed)?;
    let done_by_hand: Value = [(InboxMessage::DONE, Value::from("by hand"))].into_iter().collect();
    let late = InboxMessage { value: done_by_hand.clone(), ..retry.clone() };
    require_refusal(store.post_message("questions", late).await, "answer a later question", closed)?;
    let entries = require_success(store.record("questions").await, "reading a record")?.entries;
    let now = InboxMessage { value: done_by_hand, as_of: entries, ..retry };
    require_success(store.post_message("questions", now).await, "answering the later question")?;
    // Whatever closes a question deletes its message.
    let closing = batch(&[entry(4, super::completed("ask", "nobody".into(), 0))])?;
    require_success(store.append_batch(&lease, closing).await, "appending")?;
    left("the answers after one of two questions was closed", &["pay"]).await
}

/// The end of a run is told to the open runs above it, but not to those of its own process.
async fn callers(store: &dyn Store) -> Result<(), String> {
    let called = async |run: &str, parent: &str, owner: &str| {
        let batch = batch(&[entry(0, started(run, "main", 1_000, "in".into()))])?;
        let (claim, parent) = (Some(claim(owner, 1_000, 11_000)), Some(parent.to_owned()));
        let new = NewRun { run: run.to_owned(), parent, claim, batch, now: 1_000, ..NewRun::default() };
        require_success(store.create_run(new).await, "creating a called run")?
            .ok_or_else(|| "it has no lease".to_owned())
    };
    let end = async |lease: &Lease| {
        require_success(store.append_batch(lease, batch(&[entry(1, finished(None))])?).await, "ending a run")
    };
    let told = async |run: &str| -> Result<Vec<InboxMessage>, String> {
        let inbox = require_success(store.read_inbox(run).await, "reading letters")?;
        Ok(inbox.into_iter().map(|posted| InboxMessage { at: 0, ..posted.message }).collect())
    };
    begin_run(store, "top", "main", 1_000).await?;
    called("middle", "top", "suite").await?;
    end(&called("own", "middle", "suite").await?).await?;
    equal(&told("middle").await?, &Vec::new(), "what a process is told that sees it itself")?;
    end(&called("deep", "middle", "another").await?).await?;
    equal(&told("middle").await?, &vec![InboxMessage::goes_on("deep".to_owned(), 0)], "what the calling run is told")?;
    equal(&told("top").await?, &vec![InboxMessage::goes_on("middle".to_owned(), 0)], "what the run above that is told")
}

/// Of several who answer at the same time, one does, and the others learn what was answered, and by whom.
async fn at_once(store: &Arc<dyn Store>) -> Result<(), String> {
    let lease = begin_run(&**store, "at once", "main", 1_000).await?;
    for n in 0..10u64 {
        let key = format!("ask{n}");
        require_success(store.append_batch(&lease, batch(&[entry(n + 1, scheduled(&key))])?).await, "appending")?;
        let answering = |name: &'static str| {
            let (key, value, sender) = (key.clone(), name.into(), Some(AnswerSender::new(name, "terminal")));
            let message = InboxMessage { kind: MessageKind::Answer, key, value, at: 7, as_of: n + 2, sender };
            let store = store.clone();
            tokio::spawn(async move { (name, store.post_message("at once", message).await) })
        };
        let tasks = ["ada", "bo", "cy", "di"].map(answering);
        let (mut winners, mut told) = (Vec::new(), Vec::new());
        for task in tasks {
            let (name, posted) = task.await.map_err(|error| format!("answering at the same time: {error}"))?;
            match posted {
                Ok(_) => winners.push(name.to_owned()),
                Err(StoreError::Answered { by: Some(by), .. }) => {
                    let receipt = by.receipt.ok_or_else(|| "nobody is named who answered first".to_owned())?;
                    told.push((by.text, receipt.sender.sender_name().to_owned()));
                }
                Err(error) => return Err(format!("answering at the same time: {error}")),
            }
        }
        equal(&winners.len(), &1, "the number of those who answered first")?;
        let first = winners.concat();
        equal(&told, &vec![(first.clone(), first); 3], "what the others are told")?;
    }
    equal(
        &require_success(store.read_inbox("at once").await, "reading letters")?.len(),
        &10,
        "the letters to ten questions",
    )
}
