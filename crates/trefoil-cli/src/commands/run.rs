//! `trefoil run TARGET`: runs a flow, shows its progress and prints its result.

use clap::Args;
use trefoil::Flow;
use trefoil::ports::CommandShell;
use trefoil_host::engine::{Engine, ReadyRun};
use trefoil_host::waiting_messages::EditableTarget;
use trefoil_machine::LimitKind;
use trefoil_project::load::{CheckOptions, LoadOptions, LoadReport, LoadedTarget};
use trefoil_project::settings::Settings;
use trefoil_syntax::FindingSeverity;
use trefoil_template::limits;

#[cfg(feature = "server")]
use crate::args::ServerArg;
use crate::args::{
    ContentArg, DurabilityArg, HostArgs, LabelArgs, ShowArgs, SpecArgs, StoreArgs, TargetArgs, TextArgs,
};
use crate::loading::accept_settings;
use crate::obstacles::{call_number, too_many_calls};
use crate::refusal::did_not_start;
#[cfg(feature = "server")]
use crate::remote::run::{RemoteStart, start_run};
use crate::run::{KeptRun, MARKS, RunEndOptions, TerminalSession, announce_source, input, missing_inputs, reuse};
use crate::store::{await_run, await_store, full_id, prune_expired};
use crate::words::count_of;
use crate::{output, overwrite_guard};
use trefoil_host::command::{PrintedCommand, RunOptions};

/// Run a workflow or an agent
#[derive(Args)]
#[command(after_help = MARKS)]
pub struct RunCommandArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Input: text, or `key=value` (the schema decides the type; repeatable)
    #[arg(long = "input", short, value_name = "TEXT|KEY=VALUE", allow_hyphen_values = true)]
    inputs: Vec<String>,
    /// Input as JSON; `@FILE` reads a file, `-` reads stdin
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    input_json: Option<String>,
    #[command(flatten)]
    host: HostArgs,
    /// Seed for the embedded model and retry jitter
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Reuse model answers to the same requests from earlier runs, newest first, or only from RUN; tools, commands and
    /// people are not affected
    #[arg(long, value_name = "RUN", num_args = 0..=1, require_equals = true, conflicts_with = "ephemeral")]
    reuse: Option<Option<String>>,
    /// Skip the checks (load errors still stop the run)
    #[arg(long)]
    no_check: bool,
    #[command(flatten)]
    spec: SpecArgs,
    #[command(flatten)]
    texts: TextArgs,
    #[command(flatten)]
    show: ShowArgs,
    #[command(flatten)]
    store: StoreArgs,
    #[cfg(feature = "server")]
    #[command(flatten)]
    server: ServerArg,
    #[command(flatten)]
    durability: DurabilityArg,
    /// Store nothing, so that the run cannot be resumed
    #[arg(long, env = "TREFOIL_EPHEMERAL", value_parser = clap::builder::FalseyValueParser::new())]
    ephemeral: bool,
    /// Put the run in the store for a `trefoil worker`, print its id, and exit. Keys, permissions and people are the worker's
    #[arg(long)]
    detach: bool,
    #[command(flatten)]
    content: ContentArg,
    #[command(flatten)]
    labels: LabelArgs,
}

/// Warns about text options that the flow does not use.
fn warn_of_texts(args: &RunCommandArgs, dialect: &str) {
    let given = [("--context", args.texts.context.is_some()), ("--skills", args.texts.skills.is_some())];
    if matches!(trefoil_front::front_end(dialect), Some(front) if !front.reads_texts()) {
        for (option, is_given) in given {
            if is_given {
                output::print_warning(format!("`{option}` has no effect, because {dialect} manifests do not use it"));
            }
        }
    }
}

/// Refuses options for a run of this process if a worker is to run it.
fn refuse_if_detached(args: &RunCommandArgs) -> Result<(), u8> {
    let HostArgs { allow_command, allow_host, answers, .. } = &args.host;
    let permission = |option: &str| {
        let worker = args.host.run_options(&args.store, false).render_command(PrintedCommand::Worker);
        let why =
            format!("`{option}` cannot be used with `--detach`: the permissions are those of the worker that runs it");
        (why, format!("remove `{option}` here, and start the worker with it: `{worker}`"))
    };
    let remove = |option: &str, why: &str, then: &str| {
        (format!("`{option}` cannot be used with `--detach`: {why}"), format!("remove `{option}`{then}"))
    };
    let found = if *allow_command {
        permission("--allow-command")
    } else if !allow_host.is_empty() {
        permission("--allow-host")
    } else if args.ephemeral {
        remove("--ephemeral", "a worker takes the run from the store", ", or unset `TREFOIL_EPHEMERAL`")
    } else if !answers.is_empty() {
        remove(
            "--answer",
            "the run waits for its answers in the store",
            "; the question is answered with `trefoil runs answer`",
        )
    } else if args.show.trace.is_some() {
        remove("--trace", "a worker runs it", "; `trefoil trace` shows the run later")
    } else if args.show.events.is_some() {
        remove("--events", "a worker runs it", "; `trefoil runs events` prints them later")
    } else {
        return Ok(());
    };
    Err(output::report_not_started(&found.0, Some(&found.1)))
}

/// Exit code 0: success; 1: the run failed, or its result could not be written; 2: the run did not start; 75: the run
/// is waiting for a person; 130: the run was stopped.
///
/// Starts the run. reason: one order of what is checked, asked and begun.
pub fn run(args: &RunCommandArgs) -> Result<u8, u8> {
    #[cfg(feature = "server")]
    if let Some(address) = args.server.chosen_address(&args.store) {
        return start_at_server(args, &address);
    }
    if args.detach {
        refuse_if_detached(args)?;
    }
    if args.ephemeral {
        args.labels.refuse_unless_empty()?;
    }
    let settings = accept_settings(args.target.find_settings())?;
    let options = LoadOptions {
        context: args.texts.context.clone(),
        skills: args.texts.skills.clone(),
        checks: if args.no_check { None } else { Some(CheckOptions::default()) },
        ..args.target.load_options_with(&settings)
    };
    let loaded = trefoil_project::load::load_target(&args.target.parse_target(), &options);
    let flow = Flow::from(loaded.map_err(|report| not_started(args, &options, &report))?);
    let loaded = flow.loaded_target();
    let many = count_calls(args, loaded, &settings)?;
    if !args.show.quiet {
        warn_of_texts(args, loaded.dialect);
        count_warnings(args, loaded);
    }
    let input = input::read_input(loaded, &args.inputs, args.input_json.as_deref());
    let input = input.map_err(|why| input::reject_input(loaded, why))?;
    let interactive = output::is_interactive() && args.show.events.is_none();
    let session = TerminalSession::new(&args.show, loaded);
    let mut engine = session.build_engine(&args.host, &settings, !args.ephemeral);
    if let Some(seed) = args.seed {
        engine = engine.random_seed(seed);
    }
    engine = engine.run_spec(args.spec.run_spec());
    engine = engine.permissions(args.host.permissions(args.target.read.no_config));
    if !args.ephemeral {
        let store = args.store.open_for_new_run(&args.durability)?;
        prune_expired(&*store, settings.keep, args.show.quiet)?;
        if let Some(run) = &args.reuse {
            let run = match run {
                Some(run) => Some(await_store(full_id(&*store, run))?),
                None => None,
            };
            engine = engine.reuse_answers(run);
        }
        engine = engine.store(store);
    }
    engine = args.labels.configure_engine(args.content.configure_engine(engine))?;
    if args.detach {
        engine = engine.commands(CommandShell::default()).for_others();
    }
    // At a terminal, what is missing in the input is asked for, but first what nobody could answer.
    let judged = if interactive { None } else { Some(&input) };
    let ready = await_run(engine.ready_for(&flow, judged))?;
    let mut warnings: Vec<String> = Vec::new();
    warnings.extend(many);
    // What is asked for is not missing, so there are no warnings.
    if !interactive {
        warnings.extend(missing_inputs::input_warnings(loaded, input.as_ref()));
    }
    let ready = ready.with_warnings(warnings);
    let input = if interactive { missing_inputs::prompt_missing(loaded, input)? } else { input };
    ready.check_input(&input).map_err(|error| did_not_start(&error))?;
    if args.detach {
        return submit(args, ready, &input);
    }
    overwrite_guard::refuse_source_overwrite(args.show.trace.as_deref(), &loaded.files)?;
    announce_source(args.host.models.is_embedded(), &ready);
    let run = if args.ephemeral { None } else { Some(ready.run_id()) };
    session.announce_start(&ready, args.seed, run);
    let answers_from = ready.answers_from().clone();
    let reused = ready.step_decisions();
    let options = args.host.run_options(&args.store, args.target.read.no_config);
    let options = args.target.with_read_options(options);
    let target = args.target.target.as_str();
    let keeps_prompts = !args.ephemeral && args.content.keeps_prompts();
    let kept = KeptRun { options: &options, edited: Some(EditableTarget { target, has_changed: false }) };
    let kept = if args.ephemeral { None } else { Some(kept) };
    let end = session.run_to_end(&engine, &answers_from, kept, async || ready.start_run(&input))?;
    if args.reuse.is_some() && !args.show.quiet {
        reuse::report_reused_answers(&reused);
    }
    Ok(end.print_end(&RunEndOptions {
        target: Some(target),
        answers: &args.host.answers,
        is_kept: !args.ephemeral,
        keeps_prompts,
        options,
    }))
}

/// Starts the run at a server.
#[cfg(feature = "server")]
fn start_at_server(args: &RunCommandArgs, address: &str) -> Result<u8, u8> {
    let start = RemoteStart {
        flow: &args.target.target,
        inputs: &args.inputs,
        input_json: args.input_json.as_deref(),
        labels: args.labels.given_labels(),
        limits: args.spec.limits.run_limits(),
        detach: args.detach,
        show: &args.show,
    };
    start_run(address, &start)
}

/// Puts a run in the store and says how to follow it.
fn submit(args: &RunCommandArgs, ready: ReadyRun, input: &Option<trefoil::Value>) -> Result<u8, u8> {
    if args.host.models.is_embedded() {
        announce_source(true, &ready);
    }
    let run = await_run(ready.submit_run(input))?;
    if !args.show.quiet {
        let show = RunOptions::of_store(args.store.store_option()).render_command(PrintedCommand::Show(&run));
        output::print_note(format!("a worker runs it (`trefoil worker` starts one); to see how it goes: {show}"));
    }
    Ok(output::write_result(format!("{run}\n")))
}

/// Reports why the run did not start, and whether `--no-check` would start it.
fn not_started(args: &RunCommandArgs, options: &LoadOptions, report: &LoadReport) -> u8 {
    let found = &report.diagnostics;
    output::print_line(output::format_message_findings(found, &report.files));
    let errors = found.iter().filter(|d| d.severity == FindingSeverity::Error).count();
    let of = if errors == 1 { "an error".to_owned() } else { format!("{errors} errors") };
    let unchecked = LoadOptions { checks: None, ..options.clone() };
    let only_rules =
        !args.no_check && trefoil_project::load::load_target(&args.target.parse_target(), &unchecked).is_ok();
    let help = match args.no_check {
        true => Some("`--no-check` cannot skip these errors: the file cannot be loaded"),
        false if only_rules => Some("to run it anyway, add `--no-check`"),
        false => None,
    };
    output::report_not_started(&format!("the run did not start because of {of}"), help)
}

/// Compares the program's model calls with its limit: a run that certainly may need more does not start, and one that
/// may need very many starts with a warning, which is returned. The run itself ends before it exceeds the limit.
fn count_calls(args: &RunCommandArgs, loaded: &LoadedTarget, settings: &Settings) -> Result<Option<String>, u8> {
    let calls = args.host.models.configure_engine(Engine::new(), settings).model_calls(&loaded.program);
    let most = args.spec.limits.max_calls.unwrap_or(LimitKind::Calls.of_default());
    let plan =
        args.target.with_read_options(RunOptions::default()).render_command(PrintedCommand::Plan(&args.target.target));
    let breakdown = format!("see `{plan}` for the breakdown; raise `--max-calls`, or lower an iteration limit");
    // Answers that are reused are no calls: how many there are is known when the run comes to them.
    if let Some(why) = too_many_calls(&calls, args.spec.limits.max_calls)
        && args.reuse.is_none()
    {
        return Err(output::report_not_started(&format!("the run did not start: {why}"), Some(&breakdown)));
    }
    let is_many = args.spec.limits.max_calls.is_none() && (calls.endless || calls.fixed > limits::MANY_CALLS);
    if !is_many {
        return Ok(None);
    }
    let calls = call_number(&calls);
    Ok(Some(format!(
        "this run may make {calls}; it stops after {most} (see `{plan}`); change the limit with `--max-calls`"
    )))
}

/// Reports the number of warnings; `check` shows their texts, and less severe findings.
fn count_warnings(args: &RunCommandArgs, loaded: &LoadedTarget) {
    if args.no_check {
        return output::print_line("checks skipped (`--no-check`)");
    }
    let warnings = loaded.diagnostics.iter().filter(|d| d.severity > FindingSeverity::Info).count();
    if warnings == 0 {
        return;
    }
    let count = count_of(warnings as u64, "warning");
    output::print_line(format!(
        "check: {count} (run `{}` to see {})",
        args.target.with_read_options(RunOptions::default()).render_command(PrintedCommand::Check(&args.target.target)),
        if warnings == 1 { "it" } else { "them" }
    ));
}
