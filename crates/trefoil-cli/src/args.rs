//! The command line, and the arguments that several commands share.

use std::error::Error as _;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, ValueEnum};
use trefoil::internals::settings::{self, Settings};
use trefoil::internals::target_settings;
use trefoil::internals::{Cache, LoadOptions, Target};
use trefoil_check::RULES;
use trefoil_front::{FRONT_ENDS, FrontEnd, front_end};
use trefoil_syntax::suggest::nearest;

use crate::commands::Command;
use crate::harmless::safe;
use crate::output;
use crate::run::words::wrap;

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

/// Whether words, of which the first is the name of the program, name a command.
#[cfg(test)]
pub fn is_command(words: &[String]) -> bool {
    words.get(1).is_some_and(|word| word.starts_with('-') || Cli::command().find_subcommand(word).is_some())
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

/// A target and how to read it.
#[derive(Args)]
pub struct TargetArgs {
    /// A manifest, a folder with one, or `FOLDER#ID`
    pub target: String,
    #[command(flatten)]
    pub dialect: DialectArg,
    #[command(flatten)]
    pub paths: PathArgs,
    /// Ignore `trefoil.toml`
    #[arg(long)]
    pub no_config: bool,
    /// The files of a folder are read to find its settings, and again with these.
    #[arg(skip)]
    cache: Cache,
}

impl TargetArgs {
    /// The target for the library.
    pub fn target(&self) -> Target {
        Target::parse(&self.target)
    }
    /// The settings in the operator's files, and the findings about them.
    pub fn settings(&self) -> settings::FoundSettings {
        target_settings(&self.target(), &self.options_with(&Settings::default()), self.no_config)
    }
    /// The options for loading.
    pub fn options(&self) -> LoadOptions {
        self.options_with(&self.settings().settings)
    }
    /// The options for loading, with settings that were already read.
    pub fn options_with(&self, settings: &Settings) -> LoadOptions {
        LoadOptions {
            dialect: self.dialect.dialect.map(|d| d.0),
            allowed: self.paths.allow_path.iter().chain(&settings.allowed).cloned().collect(),
            supplied: settings.supplied(),
            cache: Some(self.cache.clone()),
            ..LoadOptions::default()
        }
    }
}

/// A target, the current folder if none is named, and how to read it.
#[derive(Args)]
pub struct PlaceArgs {
    /// A manifest, a folder with manifests, or `FOLDER#ID`
    #[arg(default_value = ".")]
    pub target: String,
    #[command(flatten)]
    pub dialect: DialectArg,
    #[command(flatten)]
    pub paths: PathArgs,
    /// Ignore `trefoil.toml`
    #[arg(long)]
    pub no_config: bool,
}

impl PlaceArgs {
    /// The target for the library.
    pub fn target(&self) -> Target {
        Target::parse(&self.target)
    }
    /// The options for loading, without those of any settings.
    pub fn options(&self) -> LoadOptions {
        LoadOptions {
            dialect: self.dialect.dialect.map(|d| d.0),
            allowed: self.paths.allow_path.clone(),
            ..LoadOptions::default()
        }
    }
}

/// `--allow-path`
#[derive(Args)]
pub struct PathArgs {
    /// Allow paths in manifests (`ref`, `env_file`, `context`, links) to lead to this folder outside the project
    #[arg(long, value_name = "DIR", value_parser = folder)]
    pub allow_path: Vec<PathBuf>,
}

fn folder(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if trefoil::internals::door::is_folder(&path) { Ok(path) } else { Err("no such folder".to_owned()) }
}

/// `--dialect`
#[derive(Args)]
pub struct DialectArg {
    #[arg(long, value_name = "NAME", value_parser = dialect, help = format!(
        "Read the file, or every manifest in the folder, as this dialect instead of detecting it: {}", dialects()
    ))]
    pub dialect: Option<Dialect>,
}

/// A dialect.
#[derive(Clone, Copy)]
pub struct Dialect(pub &'static dyn FrontEnd);

/// Parses a dialect's name.
pub fn dialect(name: &str) -> Result<Dialect, String> {
    front_end(name).map(Dialect).ok_or_else(|| format!("available: {}", dialects()))
}

/// The names of all dialects.
pub fn dialects() -> String {
    FRONT_ENDS.iter().map(|f| f.name()).collect::<Vec<_>>().join(", ")
}

/// Files that stand in for what an AEGIS agent gets from its host.
#[derive(Args)]
pub struct TextArgs {
    /// AEGIS: text for `{{context}}`, instead of the manifest's attachments
    #[arg(long, value_name = "FILE")]
    pub context: Option<PathBuf>,
    /// AEGIS: text for `{{agentskills}}`
    #[arg(long, value_name = "FILE")]
    pub skills: Option<PathBuf>,
}

/// The message and the help for an unknown rule.
pub fn no_such_rule(name: &str) -> (String, String) {
    let near = nearest(name, RULES.iter().map(|r| r.name));
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`trefoil rules` lists them".to_owned(),
    };
    (format!("unknown rule `{name}`"), help)
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
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group_of_the_help() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = Cli::command();
        let mut all: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        grouped.retain(|name| cfg!(feature = "mcp") || *name != "mcp");
        grouped.sort_unstable();
        all.sort_unstable();
        assert_eq!(grouped, all);
    }
}
