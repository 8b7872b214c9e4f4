//! `trefoil runs answer RUN STEP VALUE`

use std::io::{IsTerminal as _, Read as _};
use std::sync::Arc;

use clap::Args;
use trefoil::AnswerRefusal;
use trefoil::store::Store;
use trefoil_host::command::{PrintedCommand, RunOptions};
use trefoil_host::stored_runs::{earlier_answer, post_answer};
use trefoil_host::waiting_messages::{TYPED, waiting_line};
use trefoil_machine::AnswerSender;
use trefoil_machine::event::{AwaitedActivity, QuestionClosure};
use trefoil_machine::key::label_path;
use trefoil_machine::step_path::{LISTED, RunPath, find_steps, is_marked, list_names};

use super::run_history;
#[cfg(feature = "server")]
use crate::args::ServerArg;
use crate::args::StoreArgs;
use crate::os_user::user_sender;
use crate::store::{await_store, block_on, full_id};
use crate::terminal_text::TerminalText;
use crate::{exit, output};

/// Answer a question of a run, or decide about a step with an unknown outcome
#[derive(Args)]
pub struct RunsAnswerArgs {
    /// The run's id, its first characters, or `last`
    pub run: String,
    /// The step's name, or its key if the name is not unique
    pub step: String,
    /// The answer; for a step with an unknown outcome: `retry` to run it again, `fail` to treat it as failed, or `done` to
    /// treat it as done. `-` reads it from standard input, or asks for it on a terminal
    #[arg(allow_hyphen_values = true)]
    pub value: String,
    /// With `done`: the result of the step, as JSON or text; for a command, its standard output (default: no result)
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    pub result: Option<String>,
    #[command(flatten)]
    pub store: StoreArgs,
    #[cfg(feature = "server")]
    #[command(flatten)]
    pub server: ServerArg,
}

pub fn run(args: &RunsAnswerArgs) -> Result<u8, u8> {
    let store = args.store.open_to_change()?;
    let run = await_store(full_id(&*store, &args.run))?;
    let record = await_store(store.record(&run))?;
    if record.status.is_end() {
        return Err(refuse_ended(&store, &args.step, &run, args.store.store_option()));
    }
    let all = run_history::list_waiting(&store, &record)?;
    let show = RunOptions::of_store(args.store.store_option()).render_command(PrintedCommand::Show(&run));
    let one = match find_question(&all, &args.step, &show) {
        Ok(one) => one,
        Err(why) => return Err(refuse_unasked(&store, &run, &args.step, why)?),
    };
    let value = match args.value.as_str() {
        TYPED if one.settled.is_none() => read_answer(one, &all)?,
        given => given.to_owned(),
    };
    let sender = user_sender(AnswerSender::COMMAND_LINE);
    send_answer(&store, &run, one, (&value, args.result.as_deref(), sender), args.store.store_option())?;
    let top = run_history::outermost_run(&store, await_store(store.record(&run))?)?;
    run_history::note_continues(&store, &top, args.store.store_option(), "answered");
    Ok(exit::OK)
}

/// Prints why a question is not open: if somebody was faster and the run has gone on, who that was.
fn refuse_unasked(store: &Arc<dyn Store>, run: &str, step: &str, why: UnknownQuestion) -> Result<u8, u8> {
    if why.is_unasked {
        let earlier = block_on(earlier_answer(store, run, step))?;
        let earlier = earlier.map_err(|error| run_history::refuse_unreadable(&error))?;
        if let Some(given) = earlier {
            output::print_error(&format!("`{step}` is {}", given.settled_text()), Some(&why.help));
            return Ok(exit::NOT_STARTED);
        }
    }
    Ok(why.print_reason())
}

/// The answer that is typed on a terminal, where it is asked for, or the text that comes from standard input.
pub fn read_answer(one: &AwaitedActivity, all: &[AwaitedActivity]) -> Result<String, u8> {
    let mut text = String::new();
    let stdin = std::io::stdin();
    let read = if stdin.is_terminal() {
        output::print_line(TerminalText::from_line(&waiting_line(one, all)));
        output::print_part(TerminalText::from("> "));
        stdin.read_line(&mut text)
    } else {
        stdin.lock().read_to_string(&mut text)
    };
    let text = text.trim_end_matches(['\n', '\r']);
    match read {
        Ok(_) if !text.trim().is_empty() => Ok(text.to_owned()),
        Ok(_) => Err(output::report_not_started(
            "the answer is empty",
            Some("write the answer to standard input, or type it on a terminal"),
        )),
        Err(error) => Err(output::report_not_started(&format!("the answer cannot be read: {error}"), None)),
    }
}

/// Sends an answer to a run, or to the run of one of its tools that asks, if that run accepts it. The answer is for the question as it
/// is asked now: if somebody else answers it first, it is refused.
pub fn send_answer(
    store: &Arc<dyn Store>,
    run: &str,
    one: &AwaitedActivity,
    (value, done, sender): (&str, Option<&str>, AnswerSender),
    named: String,
) -> Result<(), u8> {
    if one.sort == "run" {
        let called = one.run.as_deref().unwrap_or(run);
        let options = run_history::run_options(&**store, called, named);
        let help = match &one.why {
            Some(why) => {
                format!(
                    "it has {}; then resume it with `{}`",
                    why.stopped_before(),
                    options.resume_command(called, &[])
                )
            }
            None => format!("see why with `{}`, then resume it", options.render_command(PrintedCommand::Show(called))),
        };
        let why = format!("run {called} has stopped before its end, and asks nothing");
        return Err(output::report_not_started(&why, Some(&help)));
    }
    block_on(post_answer(store, run, one, value, done, Some(sender)))?
        .map_err(|why| refuse_answer(store, run, one, (value.trim(), &why), named))
}

/// Prints why an answer does not count.
fn refuse_answer(
    store: &Arc<dyn Store>,
    run: &str,
    one: &AwaitedActivity,
    (given, why): (&str, &AnswerRefusal),
    named: String,
) -> u8 {
    let options = || run_history::run_options(&**store, run, named.clone());
    let settled = |why: &str, help: String| output::print_error(&format!("`{}` {why}", one.step), Some(&help));
    match (why, &one.deadline) {
        (AnswerRefusal::Unreadable(why), _) => return run_history::refuse_unreadable(why),
        (AnswerRefusal::ResultWithoutDone, _) => {
            let help = "use it with the answer `done`, for a step that may or may not have been done";
            output::print_error("`--result` does not fit this answer", Some(help));
        }
        (AnswerRefusal::NotAccepted(known), _) => {
            let help = match known.as_slice() {
                [] => "no transition of the step matches it; see their conditions".to_owned(),
                known => format!("answer with one of `{}`", known.join("`, `")),
            };
            settled(&format!("does not accept `{given}`"), help);
        }
        (AnswerRefusal::Settled(Some(QuestionClosure::Answered(given))), _) => {
            settled(&format!("is {}", given.settled_text()), options().to_continue(run, &[]));
        }
        (AnswerRefusal::Settled(Some(QuestionClosure::Late)), Some(deadline)) => {
            let why = format!("cannot be answered any more: {}", deadline.missed_message());
            settled(&why, options().to_continue(run, &[]));
        }
        (AnswerRefusal::RunEnded, _) => {
            return refuse_ended(store, &one.step, one.run.as_deref().unwrap_or(run), named);
        }
        (AnswerRefusal::Settled(_) | AnswerRefusal::RunStopped, _) => {
            let show = options().render_command(PrintedCommand::Show(run));
            let help = format!("see what it waits for with `{show}`");
            settled("cannot be answered any more: the run does not ask it", help);
        }
    }
    exit::NOT_STARTED
}

/// Refuses an answer to a run that has ended, also if that was while the answer was on its way.
fn refuse_ended(store: &Arc<dyn Store>, step: &str, run: &str, named: String) -> u8 {
    let standing = match block_on(store.record(run)) {
        Ok(Ok(record)) => format!(": {}", record.status),
        _ => String::new(),
    };
    let show = RunOptions::of_store(named).render_command(PrintedCommand::Show(run));
    let help = format!("see how it ended with `{show}`");
    output::report_not_started(
        &format!("`{step}` is not asked any more, because run {run} has ended{standing}"),
        Some(&help),
    )
}

/// Why no question is meant by a name.
pub struct UnknownQuestion {
    /// Whether no step with this name asks anything.
    pub is_unasked: bool,
    message: String,
    help: String,
}

impl UnknownQuestion {
    /// Prints it. Returns the exit code.
    pub fn print_reason(&self) -> u8 {
        output::report_not_started(&self.message, Some(&self.help))
    }
}

/// The question of a step, by its name or key. `show`: the command that shows the run.
pub fn find_question<'w>(
    all: &'w [AwaitedActivity],
    step: &str,
    show: &str,
) -> Result<&'w AwaitedActivity, UnknownQuestion> {
    let paths: Vec<String> = all.iter().map(AwaitedActivity::step_path).collect();
    let paths: Vec<RunPath<'_>> = paths.iter().map(|path| RunPath::from_text(path)).collect();
    let found = find_steps(step, paths.iter().copied().zip(0_usize..));
    if let [one] = found.as_slice()
        && let Some(one) = all.get(*one)
    {
        return Ok(one);
    }
    match found.as_slice() {
        [] => {
            let marked = || find_steps(&label_path(step), paths.iter().map(|path| (*path, path.display_name())));
            let marked = if is_marked(step) { marked() } else { Vec::new() };
            let help = match all {
                _ if !marked.is_empty() => format!("it is waiting for {}", list_names(&marked, LISTED)),
                [] => format!("it does not wait for an answer; see `{show}`"),
                all => format!(
                    "it is waiting for: {}",
                    all.iter().map(|one| waiting_line(one, all)).collect::<Vec<_>>().join("; ")
                ),
            };
            Err(UnknownQuestion { is_unasked: true, message: format!("the run is not waiting for `{step}`"), help })
        }
        several => {
            let mut keys = Vec::new();
            for at in several {
                if let Some(path) = paths.get(*at) {
                    keys.push(format!("`{}`", path.display_name()));
                }
            }
            let help = format!("use a key instead: {}", keys.join(", "));
            Err(UnknownQuestion { is_unasked: false, message: format!("several steps are named `{step}`"), help })
        }
    }
}
