//! `trefoil dev TARGET`: runs the target, and after every save repeats what the save has changed.
//!
//! One loop waits for events (a save, a key, the end of a run) and handles them one by one. `turn` is one run of the target: `start` starts
//! it, `follow` waits for its end, and `said` prints what it did, of which `digest` is the part about the steps.

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
const QUIET: Duration = Duration::from_millis(40);
/// The maximum time to wait for changes to stop.
const PATIENCE: Duration = Duration::from_millis(400);
/// The keys after which something is prompted for.
const PROMPTS: [char; 4] = ['f', 'i', 'a', 'y'];
/// How often a waiting run is looked at for answers from elsewhere.
const POLL: Duration = Duration::from_millis(500);

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
    #[arg(long, value_name = "USD", value_parser = parse_dollars)]
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
    /// The end of a prompt.
    Line(PromptResult),
    /// A model call, a tool or a command of the run has ended.
    Ended,
    /// The last run was answered from elsewhere.
    Answered,
    /// A signal asked the process to stop.
    Stop,
}

/// Exit code 0: quit; 2: it did not start; 130: stopped by a signal.
pub fn run(args: &DevCommandArgs) -> Result<u8, u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    DevLoop::new(args, runtime.map_err(|error| cannot_start(&error))?)?.go()
}

/// The loop.
struct DevLoop<'a> {
    args: &'a DevCommandArgs,
    runtime: Runtime,
    happenings: UnboundedReceiver<DevEvent>,
    send: UnboundedSender<DevEvent>,
    /// Events that arrived while the loop waited for something else.
    later: VecDeque<DevEvent>,
    keyboard: KeyboardReader,
    watch: TargetWatcher,
    signals: StopSignals,
    store: Arc<dyn Store>,
    /// An engine with only the store configured.
    engine: Engine,
    last: Option<PreviousRun>,
    /// The runs that this process started. It does not end any others.
    started: BTreeSet<String>,
    /// An answer that no run has received yet, because the files were saved while it was typed.
    given: Option<PendingAnswer>,
    /// Whether the last run uses the texts that were read last.
    is_current: bool,
    /// The texts that were read last, and their findings.
    read: Option<TargetSnapshot>,
    /// The target as it loaded last.
    flow: Option<Flow>,
    /// The files whose last edit was shown.
    edited: BTreeSet<String>,
    /// The input of the command line, if it was used.
    passed: Option<Option<Value>>,
    /// What the last turn did.
    digest: Option<TurnDigest>,
    session: SessionFigures,
    /// For how long prompts have waited in this turn.
    thought: Duration,
    /// The number of the last message to the last run that was seen.
    letter: u64,
    /// The source of answers of the last run.
    answers_from: Option<AnswersFrom>,
    /// Whether the user was told that a cost limit cannot be enforced.
    is_unpriced: bool,
}

impl<'a> DevLoop<'a> {
    fn new(args: &'a DevCommandArgs, runtime: Runtime) -> Result<Self, u8> {
        let (send, happenings) = unbounded_channel();
        let keyboard = KeyboardReader::new(send.clone()).map_err(|error| cannot_start(&error))?;
        let watch =
            TargetWatcher::new(&args.target.parse_target().path, send.clone()).map_err(|error| cannot_start(&error))?;
        let signals = {
            let _inside = runtime.enter();
            StopSignals::new().map_err(|error| cannot_start(&error))?
        };
        let store = args.store.open_for_new_run(&args.durability)?;
        let engine = {
            let _inside = runtime.enter();
            args.content.configure_engine(Engine::new().store(store.clone()).remember_earlier_runs().leave_to_people())
        };
        Ok(Self {
            args,
            runtime,
            happenings,
            send,
            later: VecDeque::new(),
            keyboard,
            watch,
            signals,
            store,
            engine,
            last: None,
            started: BTreeSet::new(),
            given: None,
            is_current: false,
            read: None,
            flow: None,
            edited: BTreeSet::new(),
            passed: None,
            digest: None,
            session: SessionFigures::default(),
            thought: Duration::ZERO,
            letter: 0,
            answers_from: None,
            is_unpriced: false,
        })
    }

    fn go(mut self) -> Result<u8, u8> {
        let target = self.args.target.parse_target().path;
        let mut files = vec![target];
        if let Some(input) = turn::input_file(self.args.input_json.as_deref()) {
            files.push(input.into());
        }
        self.watch.add_files(files).map_err(|error| cannot_start(&error))?;
        self.last = self.begin_with()?;
        let mut next = Some(TurnRequest::default());
        let code = loop {
            if let Some(asked) = next.take() {
                match self.perform_turn(&asked)? {
                    TurnResult::Nothing => {}
                    TurnResult::Done => self.print_hint(),
                    TurnResult::Next(asked) => {
                        next = Some(asked);
                        continue;
                    }
                }
            }
            self.keyboard.want_key();
            match self.happening() {
                DevEvent::Stop => break exit::CANCELLED,
                DevEvent::Key('q') => break exit::OK,
                DevEvent::Key(key) => {
                    next = self.pressed(key);
                    // Nothing follows a prompt that was cancelled, or whose line was refused.
                    if next.is_none() && PROMPTS.contains(&key) {
                        self.print_keys();
                    }
                }
                DevEvent::Saved => {
                    self.settle();
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
        if let Some(last) = &self.last
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
        if let Some(total) = self.session.format_total() {
            output::print_dimmed(format!("this session: {total}"));
        }
        Ok(code)
    }

    /// The run to bring up to date first.
    fn begin_with(&self) -> Result<Option<PreviousRun>, u8> {
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

    /// Waits for the next event. While the last run waits, answers from elsewhere are events, too.
    fn happening(&mut self) -> DevEvent {
        let one = loop {
            if let Some(one) = self.later.pop_front() {
                break one;
            }
            let waits = matches!(&self.last, Some(last) if last.is_open && !last.waiting.is_empty());
            let most = if waits { POLL } else { Duration::MAX };
            let (happenings, signals) = (&mut self.happenings, &mut self.signals);
            let one = self.runtime.block_on(async { tokio::time::timeout(most, next(happenings, signals)).await.ok() });
            match one {
                Some(one) => break one,
                None if self.is_answered() => break DevEvent::Answered,
                None => {}
            }
        };
        if matches!(one, DevEvent::Key(_) | DevEvent::Line(_)) {
            self.keyboard.finish_request();
        }
        one
    }

    /// Whether the last run has a new message.
    fn is_answered(&mut self) -> bool {
        let Some(last) = &self.last else { return false };
        let letters = self.runtime.block_on(self.store.read_inbox(&last.run)).unwrap_or_default();
        let newest = letters.iter().map(|posted| posted.id).max().unwrap_or(0);
        let is_new = newest > self.letter;
        self.letter = self.letter.max(newest);
        is_new
    }

    /// Waits until the editor has finished saving.
    fn settle(&mut self) {
        let since = Instant::now();
        let happenings = &mut self.happenings;
        let later = &mut self.later;
        self.runtime.block_on(async {
            while since.elapsed() < PATIENCE {
                match tokio::time::timeout(QUIET, happenings.recv()).await {
                    Ok(Some(DevEvent::Saved)) => {}
                    Ok(Some(other)) => {
                        later.push_back(other);
                        break;
                    }
                    Ok(None) | Err(_) => break,
                }
            }
        });
    }

    /// The action of a key.
    fn pressed(&mut self, key: char) -> Option<TurnRequest> {
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

/// The next event.
async fn next(happenings: &mut UnboundedReceiver<DevEvent>, signals: &mut StopSignals) -> DevEvent {
    tokio::select! {
        () = signals.next() => DevEvent::Stop,
        one = happenings.recv() => one.unwrap_or(DevEvent::Stop),
    }
}

/// Parses a typed input.
fn typed(text: &str) -> Value {
    Value::parse(text).unwrap_or_else(|_| text.into())
}
