//! `trefoil runs answer RUN STEP VALUE`

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Read as _};
use std::sync::Arc;

use clap::Args;
use trefoil::store::{Letter, LetterKind, Record, Store, StoreError};
use trefoil_host::answers::word;
use trefoil_host::durable::{Trial, try_answer};
use trefoil_machine::event::{Settled, Waiting};
use trefoil_template::Value;

use super::past;
use crate::args::StoreArgs;
use crate::harmless::TerminalText;
use crate::refusal::refuse_store;
use crate::store::{await_store, block_on, full_id};
use crate::{exit, output};
use trefoil_host::command::{PrintedCommand, RunOptions};
use trefoil_host::waiting::{TYPED, waiting_line};

/// Answer a question of a run, or decide about a step with an unknown outcome
#[derive(Args)]
pub struct Answer {
    /// The run's id, its first characters, or `last`
    run: String,
    /// The step's name, or its key if the name is not unique
    step: String,
    /// The answer; for a step with an unknown outcome: `retry` to run it again, `fail` to treat it as failed, or `done` to
    /// treat it as done. `-` reads it from standard input, or asks for it on a terminal
    #[arg(allow_hyphen_values = true)]
    value: String,
    /// With `done`: the result of the step, as JSON or text; for a command, its standard output (default: no result)
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    result: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

pub fn run(args: &Answer) -> Result<u8, u8> {
    let store = args.store.change()?;
    let run = await_store(full_id(&*store, &args.run))?;
    let all = past::waiting(&store, &await_store(store.record(&run))?)?;
    let show = RunOptions::of_store(args.store.option()).text(PrintedCommand::Show(&run));
    let one = find(&all, &args.step, &show)?;
    let value = match args.value.as_str() {
        TYPED if one.settled.is_none() => typed(one, &all)?,
        given => given.to_owned(),
    };
    post(&store, &run, one, (&value, args.result.as_deref()), args.store.option())?;
    let Record { run, owner, .. } = outermost(&store, await_store(store.record(&run))?)?;
    match owner {
        Some(_) => output::note(format!("answered; the process that is running {run} continues with it")),
        None => {
            let options = past::options(&*store, &run, args.store.option());
            output::note(format!("answered; {}", options.to_continue(&run, None)));
        }
    }
    Ok(exit::OK)
}

/// The answer that is typed on a terminal, where it is asked for, or the text that comes from standard input.
fn typed(one: &Waiting, all: &[Waiting]) -> Result<String, u8> {
    let mut text = String::new();
    let stdin = std::io::stdin();
    let read = if stdin.is_terminal() {
        output::say(TerminalText::line(&waiting_line(one, all)));
        output::put(TerminalText::from("> "));
        stdin.read_line(&mut text)
    } else {
        stdin.lock().read_to_string(&mut text)
    };
    let text = text.trim_end_matches(['\n', '\r']);
    match read {
        Ok(_) if !text.trim().is_empty() => Ok(text.to_owned()),
        Ok(_) => {
            output::refuse("the answer is empty", Some("write the answer to standard input, or type it on a terminal"));
            Err(exit::NOT_STARTED)
        }
        Err(error) => {
            output::refuse(&format!("the answer cannot be read: {error}"), None);
            Err(exit::NOT_STARTED)
        }
    }
}

/// Sends an answer to a run, or to the run of one of its tools that asks, if that run accepts it. The answer is for the question as it
/// is asked now: if somebody else answers it first, it is refused.
pub fn post(
    store: &Arc<dyn Store>,
    run: &str,
    one: &Waiting,
    (value, done): (&str, Option<&str>),
    named: String,
) -> Result<(), u8> {
    if one.sort == "run" {
        let called = one.run.as_deref().unwrap_or(run);
        let options = past::options(&**store, called, named);
        let help = match &one.why {
            Some(why) => {
                format!("it has {}; then resume it with `{}`", why.stopped_before(), options.resume(called, None))
            }
            None => format!("see why with `{}`, then resume it", options.text(PrintedCommand::Show(called))),
        };
        output::refuse(&format!("run {called} has stopped before its end, and asks nothing"), Some(&help));
        return Err(exit::NOT_STARTED);
    }
    let asks = one.run.as_deref().unwrap_or(run);
    // The record is read before the question, so that no later question of the same step is taken for it.
    let record = await_store(store.record(asks))?;
    let refuse_settled = |by: Option<&Settled>| {
        let options = past::options(&**store, run, named.clone());
        let (why, help) = match (by, &one.deadline) {
            (Some(Settled::Answered(said)), _) => {
                (format!("is already answered with `{said}`"), options.to_continue(run, None))
            }
            (Some(Settled::Late), Some(deadline)) => {
                (format!("cannot be answered any more: {}", deadline.missed()), options.to_continue(run, None))
            }
            (Some(Settled::Late), None) | (None, _) => {
                let show = options.text(PrintedCommand::Show(run));
                let help = format!("see what it waits for with `{show}`");
                ("is already answered: the run does not ask it any more".to_owned(), help)
            }
        };
        output::refuse(&format!("`{}` {why}", one.step), Some(&help));
        exit::NOT_STARTED
    };
    match past::waiting(store, &record)?.into_iter().find(|now| now.run.is_none() && now.key == one.key) {
        Some(Waiting { settled: None, .. }) => {}
        now => return Err(refuse_settled(now.and_then(|now| now.settled).as_ref())),
    }
    let value = accepted(store, asks, one, value, done)?;
    let kind = if one.prompt.is_some() { LetterKind::Answer } else { LetterKind::Signal };
    let at = store.clock().wall_ms();
    match block_on(store.post(asks, Letter { kind, key: one.key.to_string(), value, at, as_of: record.entries }))? {
        Ok(_) => call_back(store, asks, at),
        // The first answer counts, and who gave another one must learn that.
        Err(StoreError::Answered { by, .. }) => Err(refuse_settled(by.map(Settled::Answered).as_ref())),
        Err(StoreError::Ended { .. }) => Err(refuse_settled(None)),
        Err(error) => Err(refuse_store(&error)),
    }
}

/// Tells the calling runs that this run can continue: they wait for it, and resume it.
fn call_back(store: &Arc<dyn Store>, run: &str, at: u64) -> Result<(), u8> {
    let mut called = run.to_owned();
    while let Some(caller) = await_store(store.record(&called))?.parent {
        let letter = Letter { kind: LetterKind::Signal, key: called, value: Letter::CONTINUE.into(), at, as_of: 0 };
        // A run that has ended does not await_store, nor do the runs above it.
        if block_on(store.post(&caller, letter))?.is_err() {
            break;
        }
        called = caller;
    }
    Ok(())
}

/// The run to resume: the outermost calling run that has not ended, or the run itself.
fn outermost(store: &Arc<dyn Store>, mut record: Record) -> Result<Record, u8> {
    while let Some(caller) = &record.parent {
        match block_on(store.record(caller))? {
            Ok(above) if !above.status.is_end() => record = above,
            _ => break,
        }
    }
    Ok(record)
}

/// Validates an answer. An invalid one is rejected here, because the run would ask again only when it is resumed.
fn accepted(store: &Arc<dyn Store>, run: &str, one: &Waiting, given: &str, done: Option<&str>) -> Result<Value, u8> {
    let known: Vec<&str> = match &one.prompt {
        Some(_) => one.accepts.iter().map(String::as_str).collect(),
        None => vec!["retry", "fail", Letter::DONE],
    };
    let word = word(&known, given);
    let is_done = one.prompt.is_none() && word == Some(Letter::DONE);
    if done.is_some() && !is_done {
        let help = "use it with the answer `done`, for a step that may or may not have been done";
        output::refuse("`--result` does not fit this answer", Some(help));
        return Err(exit::NOT_STARTED);
    }
    if is_done {
        let result = done.map(|text| result(one, text)).unwrap_or_default();
        return Ok([(Letter::DONE, result)].into_iter().collect());
    }
    if let Some(word) = word {
        return Ok(word.into());
    }
    let leads_on = one.prompt.is_some() && {
        let stored = past::read(&**store, run)?;
        let trial = block_on(try_answer(store.clone(), &stored, &one.key, given.into()))?;
        trial.map_err(|error| past::unreadable(&error))? == Trial::LeadsOn
    };
    if leads_on {
        return Ok(given.into());
    }
    let help = match known.as_slice() {
        [] => "no transition of the step matches it; see their conditions".to_owned(),
        known => format!("answer with one of `{}`", known.join("`, `")),
    };
    output::refuse(&format!("`{}` does not accept `{}`", one.step, given.trim()), Some(&help));
    Err(exit::NOT_STARTED)
}

/// Parses the result of a step: JSON if it is valid, otherwise text. Commands return text.
fn result(one: &Waiting, text: &str) -> Value {
    let json = (one.sort != "command").then(|| Value::parse(text).ok()).flatten();
    json.unwrap_or_else(|| text.into())
}

fn find<'w>(all: &'w [Waiting], step: &str, show: &str) -> Result<&'w Waiting, u8> {
    let mut by_key = all.iter().filter(|one| one.key.as_str() == step);
    let same = all.iter().filter(|one| one.step == step || one.key.as_str() == step);
    let runs: BTreeSet<Option<&str>> = same.map(|one| one.run.as_deref()).collect();
    if runs.len() > 1 {
        let runs: Vec<String> = runs.into_iter().map(|run| format!("`{}`", run.unwrap_or("this run"))).collect();
        let help = format!("name the run that asks instead: {}", runs.join(", "));
        output::refuse(&format!("several runs ask `{step}`"), Some(&help));
        return Err(exit::NOT_STARTED);
    }
    let by_key = by_key.next();
    let mut by_name = all.iter().filter(|one| one.step == step);
    match (by_key, by_name.next(), by_name.next()) {
        (Some(one), ..) | (None, Some(one), None) => Ok(one),
        (None, Some(_), Some(_)) => {
            let keys: Vec<String> =
                all.iter().filter(|one| one.step == step).map(|one| format!("`{}`", one.key)).collect();
            output::refuse(
                &format!("several steps are named `{step}`"),
                Some(&format!("use a key instead: {}", keys.join(", "))),
            );
            Err(exit::NOT_STARTED)
        }
        (None, None, _) => {
            let help = match all {
                [] => format!("the run is not waiting for an answer; see `{show}`"),
                all => format!(
                    "it is waiting for: {}",
                    all.iter().map(|one| waiting_line(one, all)).collect::<Vec<_>>().join("; ")
                ),
            };
            output::refuse(&format!("the run is not waiting for `{step}`"), Some(&help));
            Err(exit::NOT_STARTED)
        }
    }
}
