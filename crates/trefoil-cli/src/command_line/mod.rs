//! The command line: all commands, their help, and what is said about wrong arguments.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};
use trefoil_syntax::suggest::nearest;

use crate::harmless::safe;
use crate::words::wrap;
use crate::{commands, dev, output};

/// Check and run agent workflows written in YAML.
#[derive(Parser)]
#[command(name = "trefoil", version, max_term_width = 100, propagate_version = false)]
#[command(after_help = "Results go to stdout, everything else to stderr.\n\
                  Exit codes: 0 success; 1 the run failed, `check` found errors, or the result\n\
                  could not be written; 2 the command did not start; 75 the run is waiting\n\
                  for a person or a decision; 130 stopped by a signal.")]
pub struct Cli {
    /// Whether to use colours
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_possible_values = true)]
    pub color: Color,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(clap::Subcommand)]
pub enum Command {
    Run(commands::run::Run),
    Dev(dev::Dev),
    Resume(commands::resume::Resume),
    Replay(commands::replay::Replay),
    Runs(commands::runs::Runs),
    Worker(commands::worker::WorkerArgs),
    Store(commands::store::Store),
    Secrets(commands::secrets::Secrets),
    Models(commands::models::Models),
    Doctor(commands::doctor::Doctor),
    Check(commands::check::Check),
    Explain(commands::explain::Explain),
    Rules(commands::rules::Rules),
    Plan(commands::plan::Plan),
    Graph(commands::graph::Graph),
    Trace(commands::trace::Trace),
    Ir(commands::ir::Ir),
    Render(commands::render::Render),
    Init(commands::init::Init),
    Lsp(commands::lsp::Lsp),
    #[cfg(feature = "mcp")]
    Mcp(commands::mcp::Mcp),
    Schema(commands::schema::Schema),
    Trust(commands::trust::Trust),
    Completions(commands::completions::Completions),
}

/// Runs a command and returns its exit code.
pub fn dispatch(command: Command) -> u8 {
    let done = match command {
        Command::Run(args) => commands::run::run(&args),
        Command::Dev(args) => dev::run(&args),
        Command::Resume(args) => commands::resume::run(&args),
        Command::Replay(args) => commands::replay::run(&args),
        Command::Runs(args) => commands::runs::run(&args),
        Command::Worker(args) => commands::worker::run(&args),
        Command::Store(args) => commands::store::run(&args),
        Command::Secrets(args) => Ok(commands::secrets::run(&args)),
        Command::Models(args) => commands::models::run(&args),
        Command::Doctor(args) => commands::doctor::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::Explain(args) => Ok(commands::explain::run(&args)),
        Command::Rules(args) => Ok(commands::rules::run(&args)),
        Command::Plan(args) => commands::plan::run(&args),
        Command::Graph(args) => commands::graph::run(&args),
        Command::Trace(args) => commands::trace::run(&args),
        Command::Ir(args) => commands::ir::run(&args),
        Command::Render(args) => commands::render::run(&args),
        Command::Init(args) => Ok(commands::init::run(&args)),
        Command::Lsp(args) => Ok(commands::lsp::run(&args)),
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => commands::mcp::run(&args),
        Command::Schema(args) => Ok(commands::schema::run(&args)),
        Command::Trust(args) => Ok(commands::trust::run(&args)),
        Command::Completions(args) => Ok(commands::completions::run(&args, Cli::command())),
    };
    done.unwrap_or_else(|code| code)
}

/// The commands by what one wants to do.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Write a workflow", &["init", "check", "explain", "rules", "plan", "graph", "render"]),
    ("Run it", &["run", "dev", "resume", "replay"]),
    ("Look at runs", &["trace", "runs", "store"]),
    ("Set up a computer", &["doctor", "models", "secrets", "trust", "completions"]),
    ("Connect other programs", &["lsp", "mcp", "worker", "schema", "ir"]),
];

/// Reads the arguments.
pub fn read() -> clap::error::Result<Cli> {
    read_from(std::env::args_os())
}

/// Reads these words, of which the first is the name of the program.
pub fn read_from<T: Into<OsString> + Clone>(words: impl IntoIterator<Item = T>) -> clap::error::Result<Cli> {
    Cli::from_arg_matches(&grouped(Cli::command()).try_get_matches_from(words)?)
}

/// The command line, whose help lists the commands in their groups.
fn grouped(command: clap::Command) -> clap::Command {
    let width = output::width().min(100);
    let mut all = String::new();
    for (title, names) in GROUPS {
        all.push_str(&format!("\n\n{title}:"));
        for own in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = own.get_about().map(ToString::to_string).unwrap_or_default();
            let lines = wrap(&about, width.saturating_sub(16)).join(&format!("\n{:16}", ""));
            all.push_str(&format!("\n  {:<12}  {lines}", own.get_name()));
        }
    }
    command.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}{all}\n\nOptions:\n{{options}}{{after-help}}"
    ))
}

/// Whether to use colours.
#[derive(Clone, Copy, ValueEnum)]
pub enum Color {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Color {
    /// Applies the choice to every stream that is opened from now on.
    pub fn apply(self) {
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
        let command = Cli::command();
        let mut names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        names.sort_by_key(|name| name.len());
        match nearest(&word, names) {
            Some(near) => error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![near.to_owned()])),
            None => error.remove(ContextKind::SuggestedSubcommand),
        };
    }
    // The standard library says: invalid digit found in string.
    let of_number = |source: &(dyn std::error::Error + 'static)| source.is::<std::num::ParseIntError>();
    if error.source().is_some_and(of_number) {
        let part = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
        let (value, option) = (part(ContextKind::InvalidValue), part(ContextKind::InvalidArg));
        let message = format!("invalid value '{value}' for '{option}': it is not a whole number");
        return Cli::command().error(ErrorKind::ValueValidation, message);
    }
    let mut words = std::env::args().skip_while(|word| word != "--reuse").skip(1);
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(run) = words.next().filter(|word| !word.starts_with('-'))
    {
        let tip = format!("to reuse answers of one run, write `--reuse={run}`");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Prints an error about the arguments, and ends the process. They may be names of files that a shell filled in, so text that a
/// terminal would obey is escaped.
pub fn refuse(error: clap::Error) -> ! {
    let is_plain = |word: std::ffi::OsString| word.to_str().is_some_and(|word| safe(word) == word);
    if !error.use_stderr() || std::env::args_os().all(is_plain) {
        error.exit();
    }
    output::put(error.render().to_string());
    std::process::exit(error.exit_code());
}

#[cfg(test)]
mod tests;
