//! `trefoil dev TARGET`: runs the target, and after every save repeats what the save has changed.
//!
//! One loop waits for events (a save, a key, an answer) and handles them one by one. A *turn* (`turn`) is one run of the target:
//! `run_start` starts it, `run_follower` waits for its end, and `turn_output` prints what it did, with the part about the steps from
//! `digest`.

mod browser;
mod changes;
mod digest;
mod edits;
mod keyboard;
mod layout;
mod prompts;
mod run_follower;
mod run_start;
mod session;
mod step_outputs;
mod stop_reasons;
mod turn;
mod turn_output;
mod watcher;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::Args;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use trefoil::runs::last_of;
use trefoil::store::Store;
use trefoil::{AnswersFrom, Flow};
use trefoil_host::engine::Engine;
use trefoil_machine::key::own_step;
use trefoil_template::Value;

use crate::args::{ContentArg, DurabilityArg, HostArgs, StoreArgs, TargetArgs, TextArgs, parse_dollars};
use crate::refusal::cannot_start;
use crate::run::StopSignals;
use crate::store::{await_store, block_on, full_id};
use crate::{exit, output};
use digest::TurnDigest;
use keyboard::{KeyboardReader, PromptResult};
use session::SessionFigures;
use trefoil_host::command::PrintedCommand;
use turn::{PendingAnswer, PreviousRun, TargetSnapshot, TurnRequest, TurnResult};
use watcher::TargetWatcher;

/// Editors write a file in several steps, so files are read only after this time without changes.
const QUIET_TIME: Duration = Duration::from_millis(40);
/// The maximum time to wait for changes to stop.
const MAX_SAVE_TIME: Duration = Duration::from_millis(400);
/// The keys that start a prompt.
const PROMPT_KEYS: [char; 4] = ['f', 'i', 'a', 'y'];
/// How often the inbox of a waiting run is read, because another process may answer it.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Run a target and bring the run up to date after every save: only what the save changed is done again
#[derive(Args)]
pub struct DevCommandArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Input of the first run: text, or `key=value` (the schema decides the type; repeatable) [default: that of the last run]
    #[arg(long = "input", short, value_name = "TEXT|KEY=VALUE", allow_hyphen_values = true)]
    inputs: Vec<String>,
    /// Input as JSON; `@FILE` reads a file, and again when it is saved
    #[arg(long, value_name = "JSON|@FILE", allow_hyphen_values = true)]
    input_json: Option<String>,
    /// Start from this run (its id, its first characters, or `last`) [default: the last run of the target]
    #[arg(long, value_name = "RUN", conflicts_with = "fresh")]
    run: Option<String>,
    /// Start without results of earlier runs
    #[arg(long)]
    fresh: bool,
    #[command(flatten)]
    host: HostArgs,
    /// Seed for the embedded model and retry jitter
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Maximum number of model calls after each save
    #[arg(long, value_name = "N", default_value_t = 50)]
    max_calls: u64,
    /// Maximum cost in dollars after each save [default: 1, if the prices of all models are known]
    #[arg(long, value_name = "USD", value_parser = parse_dollars, allow_negative_numbers = true)]
    max_cost: Option<u64>,
    #[command(flatten)]
    texts: TextArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    durability: DurabilityArg,
    #[command(flatten)]
    content: ContentArg,
}

/// An event of the loop.
#[derive(Debug)]
pub enum DevEvent {
    /// A file of the target was written.
    Saved,
    /// A key was pressed.
    Key(char),
    /// A prompt has ended, with the typed line or without one.
    Line(PromptResult),
    /// A model call, a tool or a command of the run has ended.
    Ended,
    /// Another process has answered the last run.
    Answered,
    /// A signal asked the process to stop.
    Stop,
}

/// Exit code 0: quit; 2: it did not start; 130: stopped by a signal.
pub fn run(args: &DevCommandArgs) -> Result<u8, u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    DevLoop::new(args, runtime.map_err(|error| cannot_start(&error))?)?.run_loop()
}

/// The state of the loop.
struct DevLoop<'a> {
    args: &'a DevCommandArgs,
    runtime: Runtime,
    event_receiver: UnboundedReceiver<DevEvent>,
    /// For what sends events from other threads: the keyboard, the watcher, a run.
    event_sender: UnboundedSender<DevEvent>,
    /// Events that arrived while the loop waited for something else.
    pending_events: VecDeque<DevEvent>,
    keyboard: KeyboardReader,
    watcher: TargetWatcher,
    signals: StopSignals,
    store: Arc<dyn Store>,
    /// An engine with only the store configured.
    engine: Engine,
    /// The run to bring up to date next.
    last_run: Option<PreviousRun>,
    /// The runs that this process started. It does not end any others.
    started_runs: BTreeSet<String>,
    /// An answer that no run has received yet, because the files were saved while it was typed.
    pending_answer: Option<PendingAnswer>,
    /// Whether the last run uses the texts that were read last.
    is_current: bool,
    /// The texts that were read last, and their findings.
    snapshot: Option<TargetSnapshot>,
    /// The target as it loaded last.
    flow: Option<Flow>,
    /// The files whose last edit was printed in this turn.
    edited_files: BTreeSet<String>,
    /// The input of the command line when it was read last. `None`: not read yet. `Some(None)`: the command line has no input.
    argument_input: Option<Option<Value>>,
    /// What the last turn did.
    digest: Option<TurnDigest>,
    session: SessionFigures,
    /// For how long prompts of this turn have waited for the user. It does not count as time of the run.
    prompt_time: Duration,
    /// The id of the newest message to the last run that was seen.
    last_message_id: u64,
    /// The source of answers of the last run.
    answers_from: Option<AnswersFrom>,
    /// Whether the note was printed that the cost limit cannot be enforced, because not all prices are known.
    is_price_note_printed: bool,
}

impl<'a> DevLoop<'a> {
    fn new(args: &'a DevCommandArgs, runtime: Runtime) -> Result<Self, u8> {
        let (event_sender, event_receiver) = unbounded_channel();
        let keyboard = KeyboardReader::new(event_sender.clone()).map_err(|error| cannot_start(&error))?;
        let watcher = TargetWatcher::new(&args.target.parse_target().path, event_sender.clone())
            .map_err(|error| cannot_start(&error))?;
        let signals = {
            let _context = runtime.enter();
            StopSignals::new().map_err(|error| cannot_start(&error))?
        };
        let store = args.store.open_for_new_run(&args.durability)?;
        let engine = {
            let _context = runtime.enter();
            args.content.configure_engine(Engine::new().store(store.clone()).remember_earlier_runs().leave_to_people())
        };
        Ok(Self {
            args,
            runtime,
            event_receiver,
            event_sender,
            pending_events: VecDeque::new(),
            keyboard,
            watcher,
            signals,
            store,
            engine,
            last_run: None,
            started_runs: BTreeSet::new(),
            pending_answer: None,
            is_current: false,
            snapshot: None,
            flow: None,
            edited_files: BTreeSet::new(),
            argument_input: None,
            digest: None,
            session: SessionFigures::default(),
            prompt_time: Duration::ZERO,
            last_message_id: 0,
            answers_from: None,
            is_price_note_printed: false,
        })
    }

    /// Runs turns until the user quits. Returns the exit code.
    fn run_loop(mut self) -> Result<u8, u8> {
        let target = self.args.target.parse_target().path;
        let mut files = vec![target];
        if let Some(input) = turn::input_file(self.args.input_json.as_deref()) {
            files.push(input.into());
        }
        self.watcher.add_files(files).map_err(|error| cannot_start(&error))?;
        self.last_run = self.find_last_run()?;
        let mut next = Some(TurnRequest::default());
        let code = loop {
            if let Some(request) = next.take() {
                match self.perform_turn(&request)? {
                    TurnResult::Nothing => {}
                    TurnResult::Done => self.print_hint(),
                    TurnResult::Next(request) => {
                        next = Some(request);
                        continue;
                    }
                }
            }
            self.keyboard.want_key();
            match self.next_event() {
                DevEvent::Stop => break exit::CANCELLED,
                DevEvent::Key('q') => break exit::OK,
                DevEvent::Key(key) => {
                    next = self.handle_key(key);
                    // The prompt was cancelled, or its line was not accepted.
                    if next.is_none() && PROMPT_KEYS.contains(&key) {
                        self.print_keys();
                    }
                }
                DevEvent::Saved => {
                    self.wait_until_saved();
                    next = Some(TurnRequest::default());
                }
                DevEvent::Answered => next = Some(TurnRequest { resume: true, anyway: true, ..TurnRequest::default() }),
                DevEvent::Line(_) | DevEvent::Ended => {}
            }
        };
        let released = self.runtime.block_on(self.engine.release_runs());
        if let Err(error) = released {
            output::print_error(&error.to_string(), None);
        }
        self.print_resume_command();
        if let Some(total) = self.session.format_total() {
            output::print_dimmed(format!("this session: {total}"));
        }
        Ok(code)
    }

    /// If the last run has not ended, prints the command that continues it.
    fn print_resume_command(&self) {
        if let Some(last) = &self.last_run
            && last.is_open
        {
            let mut steps: Vec<&str> = Vec::new();
            if let Some(allowed) = &last.repeats {
                for step in &allowed.rerun {
                    steps.push(own_step(step));
                }
            }
            let options = self.args.host.run_options(&self.args.store, self.args.target.read.no_config);
            let why: Vec<_> = last.limit.iter().collect();
            let command = options.render_command(PrintedCommand::Resume { run: &last.run, steps: &steps, why: &why });
            output::print_line(format!("to continue: {command}"));
        }
    }

    /// The run to bring up to date first: the one that the command line names, otherwise the last one of the target.
    fn find_last_run(&self) -> Result<Option<PreviousRun>, u8> {
        let args = self.args;
        if let Some(run) = &args.run {
            let run = await_store(full_id(&self.store, run))?;
            return Ok(Some(self.read_last_run(&run)?));
        }
        if args.fresh {
            return Ok(None);
        }
        let loaded = self.read_target(&args.target.find_settings()).1;
        let last = block_on(last_of(&*self.store, &args.target.parse_target(), loaded.as_ref()))?;
        let Some(last) = last else { return Ok(None) };
        // A run that this version cannot replay cannot be brought up to date.
        Ok(self.read_last_run(&last.run).ok())
    }

    /// Waits for the next event. While the last run waits for an answer, also looks for one from another process.
    fn next_event(&mut self) -> DevEvent {
        let event = loop {
            if let Some(event) = self.pending_events.pop_front() {
                break event;
            }
            let is_waiting = matches!(&self.last_run, Some(last) if last.is_open && !last.waiting.is_empty());
            let max_wait = if is_waiting { POLL_INTERVAL } else { Duration::MAX };
            let (receiver, signals) = (&mut self.event_receiver, &mut self.signals);
            let received =
                self.runtime.block_on(async { tokio::time::timeout(max_wait, receive_event(receiver, signals)).await });
            match received {
                Ok(event) => break event,
                Err(_) if self.has_new_message() => break DevEvent::Answered,
                Err(_) => {}
            }
        };
        if matches!(event, DevEvent::Key(_) | DevEvent::Line(_)) {
            self.keyboard.finish_request();
        }
        event
    }

    /// Whether the last run has a message that was not seen before.
    fn has_new_message(&mut self) -> bool {
        let Some(last) = &self.last_run else { return false };
        let messages = self.runtime.block_on(self.store.read_inbox(&last.run)).unwrap_or_default();
        let newest = messages.iter().map(|posted| posted.id).max().unwrap_or(0);
        let is_new = newest > self.last_message_id;
        self.last_message_id = self.last_message_id.max(newest);
        is_new
    }

    /// Waits until the editor has finished saving.
    fn wait_until_saved(&mut self) {
        let start = Instant::now();
        let receiver = &mut self.event_receiver;
        let pending_events = &mut self.pending_events;
        self.runtime.block_on(async {
            while start.elapsed() < MAX_SAVE_TIME {
                match tokio::time::timeout(QUIET_TIME, receiver.recv()).await {
                    Ok(Some(DevEvent::Saved)) => {}
                    Ok(Some(other)) => {
                        pending_events.push_back(other);
                        break;
                    }
                    Ok(None) | Err(_) => break,
                }
            }
        });
    }

    /// Does what a key stands for. Returns the turn that follows, if any.
    fn handle_key(&mut self, key: char) -> Option<TurnRequest> {
        match key {
            '\n' | '\r' | ' ' => Some(TurnRequest { anyway: true, ..TurnRequest::default() }),
            'r' => Some(TurnRequest { all: true, anyway: true, ..TurnRequest::default() }),
            'f' => self.again_from(),
            'i' => self.other_input(),
            'a' => self.answer_question(),
            'y' => self.allow_repeat(),
            't' => {
                self.show_last_trace();
                None
            }
            'd' => {
                self.show_all();
                None
            }
            '?' | 'h' => {
                self.print_hint();
                None
            }
            _ => None,
        }
    }
}

/// Waits for the next event of the channel, or for a signal.
async fn receive_event(receiver: &mut UnboundedReceiver<DevEvent>, signals: &mut StopSignals) -> DevEvent {
    tokio::select! {
        () = signals.next() => DevEvent::Stop,
        event = receiver.recv() => event.unwrap_or(DevEvent::Stop),
    }
}

/// Parses a typed input: JSON, otherwise text.
fn parse_typed_value(text: &str) -> Value {
    Value::parse(text).unwrap_or_else(|_| text.into())
}
