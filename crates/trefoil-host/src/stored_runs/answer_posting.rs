//! Answers to questions of stored runs, and decisions about steps whose outcome is unknown. What does not count is
//! refused here, because the run would find out only when it continues.

use std::fmt;
use std::sync::Arc;

use trefoil_machine::AnswerSender;
use trefoil_machine::event::{AwaitedActivity, QuestionClosure};
use trefoil_store::{InboxMessage, MessageKind, Store, StoreError};
use trefoil_template::Value;

use super::{UnreadableRun, earlier_answer, waiting_steps};
use crate::answers::accepted_word;
use crate::durable::{AnswerEffect, StoredRun, try_answer};

/// The decisions about a step whose outcome is unknown.
const DECISIONS: [&str; 3] = ["retry", "fail", InboxMessage::DONE];

/// Why an answer does not count.
#[derive(Debug)]
pub enum AnswerRefusal {
    /// It is a run that has stopped before its end, and asks nothing.
    RunStopped,
    /// Somebody answered first, or its time has ended; `None`: the run does not ask it any more.
    Settled(Option<QuestionClosure>),
    /// The run that asked has ended, for example because somebody cancelled it.
    RunEnded,
    /// The step does not accept it. The words that it accepts; empty: those that its transitions match.
    NotAccepted(Vec<String>),
    /// A result is given with something else than the decision that the step was done.
    ResultWithoutDone,
    /// The run cannot be read.
    Unreadable(UnreadableRun),
}

impl<E: Into<UnreadableRun>> From<E> for AnswerRefusal {
    fn from(error: E) -> Self {
        Self::Unreadable(error.into())
    }
}

impl fmt::Display for AnswerRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RunStopped => f.write_str("the run has stopped before its end, and asks nothing"),
            Self::Settled(Some(QuestionClosure::Answered(given))) => write!(f, "it is {}", given.settled_text()),
            Self::Settled(Some(QuestionClosure::Late)) => f.write_str("its time has ended"),
            Self::Settled(None) => f.write_str("the run does not ask it any more"),
            Self::RunEnded => f.write_str("the run that asked has ended"),
            Self::NotAccepted(words) if words.is_empty() => f.write_str("no transition of the step matches it"),
            Self::NotAccepted(words) => write!(f, "the step accepts `{}`", words.join("`, `")),
            Self::ResultWithoutDone => f.write_str("only a step that was done has a result"),
            Self::Unreadable(UnreadableRun::Error(error)) => error.fmt(f),
            Self::Unreadable(UnreadableRun::Journal(error, _)) => write!(f, "{}: {}", error.code, error.message),
        }
    }
}

impl std::error::Error for AnswerRefusal {}

/// Sends an answer to a run, or to the run of one of its tools that asks, if that run accepts it. The answer is for the
/// question as it is asked now: if somebody else answers it first, it is refused. `result`: with the decision `done`,
/// the result of the step, as JSON or text. `sender`: who answers, and from where; the journal keeps it with the answer.
///
/// # Errors
///
/// Why it does not count.
pub async fn post_answer(
    store: &Arc<dyn Store>,
    run: &str,
    question: &AwaitedActivity,
    value: &str,
    result: Option<&str>,
    sender: Option<AnswerSender>,
) -> Result<(), AnswerRefusal> {
    if question.sort == "run" {
        return Err(AnswerRefusal::RunStopped);
    }
    let asks = question.run.as_deref().unwrap_or(run);
    // The record is read before the question, so that no later question of the same step is taken for it.
    let record = store.record(asks).await?;
    if record.status.is_end() {
        return Err(AnswerRefusal::RunEnded);
    }
    let now = waiting_steps(store, &record).await?;
    match now.into_iter().find(|now| now.run.is_none() && now.key == question.key) {
        Some(AwaitedActivity { settled: None, .. }) => {}
        Some(AwaitedActivity { settled: Some(settled), .. }) => return Err(AnswerRefusal::Settled(Some(settled))),
        // The run has gone on.
        None => {
            let earlier = earlier_answer(store, asks, question.key.as_str()).await?;
            return Err(AnswerRefusal::Settled(earlier.map(QuestionClosure::Answered)));
        }
    }
    let value = accepted_value(store, asks, question, value, result).await?;
    let kind = if question.prompt.is_some() { MessageKind::Answer } else { MessageKind::Signal };
    let at = store.clock().wall_ms();
    let message = InboxMessage { kind, key: question.key.to_string(), value, at, as_of: record.entries, sender };
    match store.post_message(asks, message).await {
        Ok(_) => Ok(call_back(store, asks, at).await?),
        // The first answer counts, and who gave another one must learn that.
        Err(StoreError::Answered { by, .. }) => Err(AnswerRefusal::Settled(by.map(QuestionClosure::Answered))),
        Err(StoreError::Ended { .. }) => Err(AnswerRefusal::RunEnded),
        Err(error) => Err(error.into()),
    }
}

/// Tells the calling runs that this run can continue: they wait for it, and resume it.
async fn call_back(store: &Arc<dyn Store>, run: &str, at: u64) -> Result<(), StoreError> {
    let mut called = run.to_owned();
    while let Some(caller) = store.record(&called).await?.parent {
        let message = InboxMessage::goes_on(called, at);
        // A run that has ended does not wait, nor do the runs above it.
        if store.post_message(&caller, message).await.is_err() {
            break;
        }
        called = caller;
    }
    Ok(())
}

/// The value of an answer, if the step accepts it.
async fn accepted_value(
    store: &Arc<dyn Store>,
    run: &str,
    question: &AwaitedActivity,
    given: &str,
    result: Option<&str>,
) -> Result<Value, AnswerRefusal> {
    let known: Vec<&str> = match &question.prompt {
        Some(_) => question.accepts.iter().map(String::as_str).collect(),
        None => DECISIONS.to_vec(),
    };
    let word = accepted_word(&known, given);
    let is_done = question.prompt.is_none() && word == Some(InboxMessage::DONE);
    if result.is_some() && !is_done {
        return Err(AnswerRefusal::ResultWithoutDone);
    }
    if is_done {
        let result = match result {
            Some(text) => step_result(question, text),
            None => Value::default(),
        };
        return Ok([(InboxMessage::DONE, result)].into_iter().collect());
    }
    if let Some(word) = word {
        return Ok(word.into());
    }
    if question.prompt.is_some() {
        let stored = StoredRun::read_run(&**store, run).await?;
        let trial = try_answer(store.clone(), &stored, &question.key, given.into()).await;
        if trial.map_err(|error| UnreadableRun::of_journal(error, &stored))? == AnswerEffect::LeadsOn {
            return Ok(given.into());
        }
    }
    Err(AnswerRefusal::NotAccepted(known.into_iter().map(str::to_owned).collect()))
}

/// The result of a step: JSON if it is valid, otherwise text. Commands return text.
fn step_result(step: &AwaitedActivity, text: &str) -> Value {
    if step.sort == "command" {
        return text.into();
    }
    Value::parse(text).unwrap_or_else(|_| text.into())
}
