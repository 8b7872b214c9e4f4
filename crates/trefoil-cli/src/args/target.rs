//! What is read: a manifest or a folder, and how.

use std::path::PathBuf;

use clap::Args;
use trefoil_front::{FRONT_ENDS, FrontEnd, front_end};
use trefoil_host::command::RunOptions;
use trefoil_project::load::{LoadOptions, ParseCache};
use trefoil_project::settings::{self, Settings};
use trefoil_project::target::LoadTarget;
use trefoil_project::target_settings::target_settings;

/// A target and how to read it.
#[derive(Args)]
pub struct TargetArgs {
    /// A manifest, a folder with one, or `FOLDER#ID`
    pub target: String,
    #[command(flatten)]
    pub read: ReadArgs,
    /// The files of a folder are read to find its settings, and again with these.
    #[arg(skip)]
    cache: ParseCache,
}

impl TargetArgs {
    /// The target for the library.
    pub fn parse_target(&self) -> LoadTarget {
        LoadTarget::parse(&self.target)
    }
    /// The settings in the operator's files, and the findings about them.
    pub fn find_settings(&self) -> settings::FoundSettings {
        target_settings(&self.parse_target(), &self.load_options_with(&Settings::default()), self.read.no_config)
    }
    /// The options for loading.
    pub fn load_options(&self) -> LoadOptions {
        self.load_options_with(&self.find_settings().settings)
    }
    /// The options for loading, with settings that were already read.
    pub fn load_options_with(&self, settings: &Settings) -> LoadOptions {
        LoadOptions {
            allowed: self.read.paths.allow_path.iter().chain(&settings.allowed).cloned().collect(),
            supplied: settings.supplied_declarations(),
            cache: Some(self.cache.clone()),
            ..self.read.load_options()
        }
    }
    /// The options of printed commands, with those that say how the target is read.
    pub fn with_read_options(&self, options: RunOptions) -> RunOptions {
        let dialect = self.read.dialect.dialect.as_ref().map(|dialect| dialect.0.name());
        options.with_target_options(dialect, &self.read.paths.allow_path, self.read.no_config)
    }
}

/// A target, the current folder if none is named, and how to read it.
#[derive(Args)]
pub struct OptionalTargetArgs {
    /// A manifest, a folder with manifests, or `FOLDER#ID`
    #[arg(default_value = ".")]
    pub target: String,
    #[command(flatten)]
    pub read: ReadArgs,
}

impl OptionalTargetArgs {
    /// The target for the library.
    pub fn parse_target(&self) -> LoadTarget {
        LoadTarget::parse(&self.target)
    }
    /// The options for loading, without those of any settings.
    pub fn load_options(&self) -> LoadOptions {
        self.read.load_options()
    }
}

/// How a target is read.
#[derive(Args)]
pub struct ReadArgs {
    #[command(flatten)]
    pub dialect: DialectArg,
    #[command(flatten)]
    pub paths: PathArgs,
    /// Ignore `trefoil.toml`
    #[arg(long)]
    pub no_config: bool,
}

impl ReadArgs {
    /// The options for loading, without those of any settings.
    pub fn load_options(&self) -> LoadOptions {
        let (dialect, allowed) = (self.dialect.dialect.map(|d| d.0), self.paths.allow_path.clone());
        LoadOptions { dialect, allowed, ..LoadOptions::default() }
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
    if trefoil_project::file_access::is_folder(&path) { Ok(path) } else { Err("no such folder".to_owned()) }
}

/// `--dialect`
#[derive(Args)]
pub struct DialectArg {
    #[arg(long, value_name = "NAME", value_parser = parse_dialect, help = format!(
        "Read the file, or every manifest in the folder, as this dialect instead of detecting it: {}", dialect_names()
    ))]
    pub dialect: Option<NamedDialect>,
}

/// A dialect.
#[derive(Clone, Copy)]
pub struct NamedDialect(pub &'static dyn FrontEnd);

/// Parses a dialect's name.
pub fn parse_dialect(name: &str) -> Result<NamedDialect, String> {
    match front_end(name) {
        Some(front) => Ok(NamedDialect(front)),
        None => Err(format!("available: {}", dialect_names())),
    }
}

/// The names of all dialects.
pub fn dialect_names() -> String {
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
