//! The command line: all commands, their help, and what is said about wrong arguments.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};
use trefoil_syntax::suggestions::nearest_name;

use crate::terminal_text::escape_line;
use crate::words::wrap_text;
use crate::{commands, dev, output};

/// Check and run agent workflows written in YAML.
#[derive(Parser)]
#[command(name = "trefoil", version, max_term_width = 100, propagate_version = false)]
#[command(after_help = "Results go to stdout, everything else to stderr.\n\
                  Exit codes: 0 success; 1 the run failed, `check` found errors, or the result\n\
                  could not be written; 2 the command did not start; 75 the run is waiting\n\
                  for a person or a decision; 130 stopped by a signal.")]
pub struct CliArguments {
    /// Whether to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    pub color: ColorArg,
    /// What to do.
    #[command(subcommand)]
    pub command: CliCommand,
}

/// What to do.
#[derive(clap::Subcommand)]
pub enum CliCommand {
    Run(commands::run::RunCommandArgs),
    Dev(dev::DevCommandArgs),
    Resume(commands::resume::ResumeCommandArgs),
    Replay(commands::replay::ReplayCommandArgs),
    Runs(commands::runs::RunsCommandArgs),
    Worker(commands::worker::WorkerCommandArgs),
    #[cfg(feature = "server")]
    Serve(commands::serve::ServeCommandArgs),
    #[cfg(feature = "server")]
    Keys(commands::keys::KeysCommandArgs),
    Store(commands::store::StoreCommandArgs),
    Secrets(commands::secrets::SecretsCommandArgs),
    Models(commands::models::ModelsCommandArgs),
    Doctor(commands::doctor::DoctorCommandArgs),
    Check(commands::check::CheckCommandArgs),
    Explain(commands::explain::ExplainCommandArgs),
    Rules(commands::rules::RulesCommandArgs),
    Plan(commands::plan::PlanCommandArgs),
    Graph(commands::graph::GraphCommandArgs),
    Trace(commands::trace::TraceCommandArgs),
    Ir(commands::ir::IrCommandArgs),
    Render(commands::render::RenderCommandArgs),
    Init(commands::init::InitCommandArgs),
    Lsp(commands::lsp::LspCommandArgs),
    #[cfg(feature = "mcp")]
    Mcp(commands::mcp::McpCommandArgs),
    Schema(commands::schema::SchemaCommandArgs),
    Trust(commands::trust::TrustCommandArgs),
    Completions(commands::completions::CompletionsCommandArgs),
}

/// Runs a command and returns its exit code.
pub fn run_command(command: CliCommand) -> u8 {
    let done = match command {
        CliCommand::Run(args) => commands::run::run(&args),
        CliCommand::Dev(args) => dev::run(&args),
        CliCommand::Resume(args) => commands::resume::run(&args),
        CliCommand::Replay(args) => commands::replay::run(&args),
        CliCommand::Runs(args) => commands::runs::run(&args),
        CliCommand::Worker(args) => commands::worker::run(&args),
        #[cfg(feature = "server")]
        CliCommand::Serve(args) => commands::serve::run(&args),
        #[cfg(feature = "server")]
        CliCommand::Keys(args) => commands::keys::run(&args),
        CliCommand::Store(args) => commands::store::run(&args),
        CliCommand::Secrets(args) => Ok(commands::secrets::run(&args)),
        CliCommand::Models(args) => commands::models::run(&args),
        CliCommand::Doctor(args) => commands::doctor::run(&args),
        CliCommand::Check(args) => commands::check::run(&args),
        CliCommand::Explain(args) => Ok(commands::explain::run(&args)),
        CliCommand::Rules(args) => Ok(commands::rules::run(&args)),
        CliCommand::Plan(args) => commands::plan::run(&args),
        CliCommand::Graph(args) => commands::graph::run(&args),
        CliCommand::Trace(args) => commands::trace::run(&args),
        CliCommand::Ir(args) => commands::ir::run(&args),
        CliCommand::Render(args) => commands::render::run(&args),
        CliCommand::Init(args) => Ok(commands::init::run(&args)),
        CliCommand::Lsp(args) => Ok(commands::lsp::run(&args)),
        #[cfg(feature = "mcp")]
        CliCommand::Mcp(args) => commands::mcp::run(&args),
        CliCommand::Schema(args) => Ok(commands::schema::run(&args)),
        CliCommand::Trust(args) => Ok(commands::trust::run(&args)),
        CliCommand::Completions(args) => Ok(commands::completions::run(&args, CliArguments::command())),
    };
    match done {
        Ok(code) | Err(code) => code,
    }
}

/// The commands by what one wants to do.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Write a workflow", &["init", "check", "explain", "rules", "plan", "graph", "render"]),
    ("Run it", &["run", "dev", "resume", "replay"]),
    ("Look at runs", &["trace", "runs", "store"]),
    ("Set up a computer", &["doctor", "models", "secrets", "trust", "completions"]),
    ("Connect other programs", &["serve", "keys", "worker", "mcp", "lsp", "schema", "ir"]),
];

/// Reads the arguments. Also returns what was given on the command line.
pub fn read_arguments() -> clap::error::Result<(CliArguments, ArgMatches)> {
    let matches = grouped(CliArguments::command()).try_get_matches_from(std::env::args_os())?;
    Ok((CliArguments::from_arg_matches(&matches)?, matches))
}

/// Refuses options that have no effect with a server, and says where a command does not ask it. Returns the exit code.
pub fn refuse_arguments(matches: &ArgMatches) -> Option<u8> {
    #[cfg(feature = "server")]
    {
        let refused = crate::remote::refuse_local_options(&CliArguments::command(), matches);
        if refused.is_none() {
            crate::remote::note_local_store(matches);
        }
        refused
    }
    #[cfg(not(feature = "server"))]
    {
        let _ = matches;
        None
    }
}

/// Reads these words, of which the first is the name of the program.
#[cfg(test)]
pub fn read_from<T: Into<OsString> + Clone>(words: impl IntoIterator<Item = T>) -> clap::error::Result<CliArguments> {
    CliArguments::from_arg_matches(&grouped(CliArguments::command()).try_get_matches_from(words)?)
}

/// The command line, whose help lists the commands in their groups.
fn grouped(command: clap::Command) -> clap::Command {
    let width = output::terminal_width().min(100);
    let mut all = String::new();
    for (title, names) in GROUPS {
        all.push_str(&format!("\n\n{title}:"));
        for name in names {
            let Some(own) = command.find_subcommand(name) else { continue };
            let about = match own.get_about() {
                Some(about) => about.to_string(),
                None => String::new(),
            };
            let lines = wrap_text(&about, width.saturating_sub(16)).join(&format!("\n{:16}", ""));
            all.push_str(&format!("\n  {:<12}  {lines}", own.get_name()));
        }
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}{all}\n\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// Whether to use colours.
#[derive(Clone, Copy, ValueEnum)]
pub enum ColorArg {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColorArg {
    /// Applies the choice to every stream that is opened from now on.
    pub fn apply_globally(self) {
        match self {
            Self::Auto => anstream::ColorChoice::Auto,
            Self::Always => anstream::ColorChoice::AlwaysAnsi,
            Self::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// Adds a suggestion for an unknown command: of the most similar commands, the shortest one. `rn` suggests `run`. For the value of
/// `--reuse` as a separate word, suggests the right form.
pub fn nearest_command(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand).cloned() {
        let command = CliArguments::command();
        let mut names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        names.sort_by_key(|name| name.len());
        match nearest_name(&word, names) {
            Some(near) => error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near.to_owned()])),
            None => error.remove(ContextKind::SuggestedSubcommand),
        };
    }
    // The standard library says: invalid digit found in string.
    if matches!(error.source(), Some(source) if source.is::<std::num::ParseIntError>()) {
        let part = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
        let (value, option) = (part(ContextKind::InvalidValue), part(ContextKind::InvalidArg));
        let message = format!("invalid value '{value}' for '{option}': it is not a whole number");
        return CliArguments::command().error(ErrorKind::ValueValidation, message);
    }
    let mut words = std::env::args().skip_while(|word| word != "--reuse").skip(1);
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(run) = words.next()
        && !run.starts_with('-')
    {
        let tip = format!("to reuse answers of one run, write `--reuse={run}`");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Prints an error about the arguments, and ends the process. They may be names of files that a shell filled in, so text that a
/// terminal would obey is escaped.
pub fn exit_with_error(error: clap::Error) -> ! {
    let is_plain = |word: OsString| matches!(word.to_str(), Some(word) if escape_line(word) == word);
    if !error.use_stderr() || std::env::args_os().all(is_plain) {
        error.exit();
    }
    output::print_part(error.render().to_string());
    std::process::exit(error.exit_code());
}

#[cfg(test)]
mod tests;
