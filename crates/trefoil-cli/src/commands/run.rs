//! `trefoil run TARGET`: runs it, shows how it goes, prints the result.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use trefoil::internals::engine::{Engine, MODEL, Ready};
use trefoil::internals::trace::{About, Tracer};
use trefoil::internals::{Checks, LoadOptions, Loaded, Report};
use trefoil::ports::Shell;
use trefoil::{AnswersFrom, Error, Findings, Flow};
use trefoil_check::semantic::cost::Costs;
use trefoil_models::Limits;
use trefoil_runtime::RunOutcome;
use trefoil_syntax::Severity;
use trefoil_template::limits;

use crate::args::{TargetArgs, TextArgs};
use crate::model::{ModelArgs, unasked};
use crate::run::{Jsonl, Recording, Shown, SignalStop, Terminal, ask, input, next, report, result};
use crate::{exit, output, overwrite};

/// Run a workflow or an agent
#[derive(Args)]
pub struct Run {
    #[command(flatten)]
    target: TargetArgs,
    /// Input: text, or `key=value` (the schema decides the type; repeatable)
    #[arg(long = "input", short, value_name = "TEXT|KEY=VALUE", allow_hyphen_values = true)]
    inputs: Vec<String>,
    /// Input as JSON; `@FILE` reads a file, `-` reads stdin
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    input_json: Option<String>,
    #[command(flatten)]
    models: ModelArgs,
    /// Time limit of each model call, in seconds (a manifest's own limit may be shorter)
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: Option<u64>,
    /// Seed for the embedded model and retry jitter
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Answer for a human step; STEP is its name, or its key if the name is not unique (`outer/inner`)
    #[arg(long = "answer", value_name = "STEP=VALUE", value_parser = answer)]
    answers: Vec<(String, String)>,
    /// Skip the checks (load errors still stop the run)
    #[arg(long)]
    no_check: bool,
    /// Maximum number of model calls; refuses to start if the run could exceed it
    #[arg(long, value_name = "N")]
    max_calls: Option<u64>,
    /// Allow steps to run shell commands on this machine
    #[arg(long)]
    allow_command: bool,
    #[command(flatten)]
    texts: TextArgs,
    /// Write a trace to a JSON file: every step with its prompts, answers, usage and timing
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Stream events to stdout as JSON Lines instead of the result (the last event holds the output)
    #[arg(long, value_name = "FORMAT")]
    events: Option<Events>,
    /// Output format of the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output: Output,
    /// Print only errors and the result (the embedded-model notice is always shown)
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Events {
    Jsonl,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
}

fn answer(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((step, value)) if !step.is_empty() => Ok((step.to_owned(), value.to_owned())),
        _ => Err("write STEP=VALUE".to_owned()),
    }
}

/// Exit code 0: success; 1: the run failed, or its result could not be written; 2: it did not start; 130: cancelled.
pub fn run(args: &Run) -> u8 {
    match start(args) {
        Ok(code) | Err(code) => code,
    }
}

/// Texts that nothing reads.
fn warn_of_texts(args: &Run, dialect: &str) {
    let given = [("--context", args.texts.context.is_some()), ("--skills", args.texts.skills.is_some())];
    if trefoil_front::front_end(dialect).is_some_and(|front| !front.reads_texts()) {
        for (option, _) in given.iter().filter(|(_, given)| *given) {
            output::say(&format!("warning: `{option}` has no effect, because {dialect} manifests do not use it"));
        }
    }
}

fn start(args: &Run) -> Result<u8, u8> {
    let operator = args.target.settings();
    // What a stranger's project file asks for is not followed, and not passed over in silence either.
    if !operator.findings.is_empty() {
        output::say(output::diagnostics(&operator.findings, &operator.files).trim_end());
        return Err(exit::NOT_STARTED);
    }
    let settings = operator.settings;
    let options = LoadOptions {
        context: args.texts.context.clone(),
        skills: args.texts.skills.clone(),
        checks: (!args.no_check).then(Checks::default),
        ..args.target.options_with(&settings)
    };
    let loaded = trefoil::internals::load(&args.target.target(), &options);
    let flow = Flow::from(loaded.map_err(|report| not_started(args, &options, &report))?);
    let loaded = flow.loaded();
    count_calls(args, loaded)?;
    if !args.quiet {
        warn_of_texts(args, loaded.dialect);
        count_warnings(args, loaded);
    }
    let input = input::read(loaded, &args.inputs, args.input_json.as_deref());
    let input = input.map_err(|why| refuse_input(loaded, why))?;
    let interactive = output::interactive() && args.events.is_none();
    let input = ask::complete(loaded, input, interactive, args.quiet)?;
    let tracer = Arc::new(Tracer::default());
    // Events on a terminal and a picture that is drawn again and again would be in each other's way.
    let events_shown = args.events.is_some() && std::io::stdout().is_terminal();
    let shown = Arc::new(Shown::new(args.quiet || events_shown));
    let mut engine = Engine::new().events(shown.clone());
    if args.trace.is_some() {
        engine = engine.events(tracer.clone());
    }
    let lines = args.events.map(|Events::Jsonl| Arc::new(Jsonl::new(loaded.files.clone())));
    if let Some(lines) = &lines {
        engine = engine.events(lines.clone());
    }
    engine = args.models.apply(engine, &settings);
    let call_ms = args.timeout.map(|seconds| seconds.saturating_mul(1000));
    engine = engine.limits(Limits { call_ms, ..Limits::default() });
    if let Some(seed) = args.seed {
        engine = engine.seed(seed);
    }
    if let Some(calls) = args.max_calls {
        engine = engine.max_calls(calls);
    }
    for (step, value) in &args.answers {
        engine = engine.answer(step.clone(), value.clone());
    }
    if args.allow_command || settings.commands {
        trefoil::internals::shell::adopt();
        engine = engine.commands(Shell::default());
    }
    if output::interactive() {
        engine = engine.humans(Terminal::new(shown.clone()));
    }
    let ready = engine.ready(&flow).map_err(|error| did_not_start(&error))?;
    ready.check_input(&input).map_err(|error| did_not_start(&error))?;
    overwrite::spare_sources(args.trace.as_deref(), &loaded.files)?;
    let record = |path| Recording::new(path, About::new(loaded, ready.answers_from()), tracer);
    let recording = args.trace.clone().map(record).transpose()?;
    if let Some(script) = ready.script()
        && !args.quiet
    {
        script.unknown_names(&loaded.program).iter().for_each(|line| output::warning(line));
    }
    label(args, &ready);

    shown.begin(loaded, &ready.answers_from().to_string(), args.seed);
    let script = ready.script().cloned();
    let placeholders = *ready.answers_from() == AnswersFrom::Embedded;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| cannot_start(&error))?;
    let started = {
        let _inside = runtime.enter();
        ready.start(&input).map_err(|error| did_not_start(&error))?
    };
    let stop =
        SignalStop::listen(started.canceller(), recording.map(Arc::new)).map_err(|error| cannot_start(&error))?;
    let outcome = runtime.block_on(started.outcome());
    runtime.shutdown_background();
    // First of all: what is shown may have to wait for a reader.
    let saved = stop.save();
    shown.end(&outcome);
    if let Some(script) = script.filter(|_| !args.quiet && outcome.result.is_ok()) {
        script.unused().iter().for_each(|line| output::warning(line));
    }
    let mut code = finish(args, loaded, &shown, placeholders, &outcome);
    if let Some(lines) = lines {
        code = code.max(output::written(lines.written()));
    }
    if let Err(message) = saved {
        output::refuse(&message, None);
        code = code.max(exit::FAILED);
    }
    Ok(code)
}

/// Made-up answers are never taken for real ones, however quiet it is to be.
fn label(args: &Run, ready: &Ready) {
    let asked_for = args.models.embedded();
    if *ready.answers_from() == AnswersFrom::Embedded {
        let why = if asked_for { "" } else { "no API key is set for any provider: " };
        output::loud(&format!("{why}answers are placeholders from the offline embedded model"));
    }
    // Whoever runs this sees where prompts and keys go before they do.
    ready.elsewhere().iter().for_each(|elsewhere| output::note(&elsewhere.to_string()));
}

fn did_not_start(error: &Error) -> u8 {
    match error {
        Error::NotStarted(why) => refuse(why),
        other => cannot_start(other),
    }
}

fn cannot_start(error: &dyn std::error::Error) -> u8 {
    output::refuse(&format!("the run could not start: {error}"), None);
    exit::NOT_STARTED
}

/// Why nothing was started, and whether somebody who knows better may start it anyway.
fn not_started(args: &Run, options: &LoadOptions, report: &Report) -> u8 {
    let found = &report.diagnostics;
    output::say(&output::diagnostics(found, &report.files));
    let errors = found.iter().filter(|d| d.severity == Severity::Error).count();
    let of = if errors == 1 { "an error".to_owned() } else { format!("{errors} errors") };
    let unchecked = LoadOptions { checks: None, ..options.clone() };
    let only_rules = !args.no_check && trefoil::internals::load(&args.target.target(), &unchecked).is_ok();
    let help = match args.no_check {
        true => Some("`--no-check` cannot skip these errors: the file cannot be loaded"),
        false => only_rules.then_some("to run it anyway, add `--no-check`"),
    };
    output::refuse(&format!("the run did not start because of {of}"), help);
    exit::NOT_STARTED
}

/// Says how many model calls a program may need: one that surely may need more than it was allowed is refused, and one that
/// may need very many starts with a word about it. The run ends before it makes one call too many.
fn count_calls(args: &Run, loaded: &Loaded) -> Result<(), u8> {
    let calls = Costs::new(&loaded.program).flow(loaded.program.entry).model;
    let most = args.max_calls.unwrap_or(limits::RUN_CALLS);
    let breakdown = "see `trefoil plan` for the breakdown; raise `--max-calls` or lower an iteration limit";
    if args.max_calls.is_some() && (calls.endless || calls.fixed > most) {
        let one = if calls.number() == Some(1) { "1 model call".to_owned() } else { format!("{calls} model calls") };
        let message = format!("the run did not start: it may need {one}, but `--max-calls` allows only {most}");
        output::refuse(&message, Some(breakdown));
        return Err(exit::NOT_STARTED);
    }
    if args.max_calls.is_none() && (calls.endless || calls.fixed > limits::MANY_CALLS) && !args.quiet {
        let message = format!("this run may make {calls} model calls; it stops after {most} (see `trefoil plan`)");
        output::warning(&format!("{message}; change the limit with `--max-calls`"));
    }
    Ok(())
}

fn refuse_input(loaded: &Loaded, why: input::Refusal) -> u8 {
    match why {
        input::Refusal::Error(error) => {
            output::say(output::diagnostics(&[error.diagnostic()], &loaded.files).trim_end());
        }
        input::Refusal::Findings(files, found) => output::say(output::diagnostics(&found, &files).trim_end()),
    }
    exit::NOT_STARTED
}

fn refuse(why: &Findings) -> u8 {
    output::say(output::diagnostics(why.diagnostics(), why.files()).trim_end());
    if why.diagnostics().iter().any(|reason| reason.rule == MODEL) {
        output::say("");
        let help = format!("for placeholder answers, add `--model embedded`{}", unasked());
        output::refuse("the run did not start, and nothing was sent", Some(&help));
    }
    exit::NOT_STARTED
}

fn finish(args: &Run, loaded: &Loaded, shown: &Shown, placeholders: bool, outcome: &RunOutcome) -> u8 {
    // Where a person reads both, the result is set off, and there is a word about what to do next.
    let person = !args.quiet && args.events.is_none() && shown.live() && std::io::stdout().is_terminal();
    let trace = args.trace.as_ref().map(|path| path.display().to_string());
    match &outcome.result {
        Ok(_) if args.events.is_some() => exit::OK,
        Ok(value) => {
            if person {
                output::say("");
            }
            let code = output::answer(&match args.output {
                Output::Json => value.to_json().to_string(),
                Output::Text => result::text(value, std::io::stdout().is_terminal()),
            });
            if person || (placeholders && code == exit::OK && !args.quiet) {
                next::after_success(&args.target.target, trace.as_deref(), placeholders);
            }
            code
        }
        Err(error) => {
            let cancelled = error.code == "CANCELLED";
            match cancelled {
                true => output::note("cancelled"),
                false => output::say(report::failure(loaded, error, &args.answers).trim_end()),
            }
            if !args.quiet {
                let key = error.key.as_ref().filter(|_| !cancelled);
                let answer = key.and_then(|key| shown.answer(&key.0));
                report::spent(outcome, answer.as_deref()).iter().for_each(|line| output::say(line));
                // Whoever stopped a run knows how to run it again.
                if !cancelled || trace.is_some() {
                    next::after_failure(trace.as_deref(), (!cancelled).then_some(error.code.as_str()));
                }
            }
            if cancelled { exit::CANCELLED } else { exit::FAILED }
        }
    }
}

/// How many warnings there are; what they say is `check`'s to tell, and so is what is merely worth knowing.
fn count_warnings(args: &Run, loaded: &Loaded) {
    if args.no_check {
        return output::say("checks skipped (`--no-check`)");
    }
    let warnings = loaded.diagnostics.iter().filter(|d| d.severity > Severity::Info).count();
    let said = match warnings {
        0 => return,
        1 => "1 warning".to_owned(),
        n => format!("{n} warnings"),
    };
    output::say(&format!(
        "check: {said} (run `trefoil check {}` to see {})",
        args.target.target,
        if warnings == 1 { "it" } else { "them" }
    ));
}
