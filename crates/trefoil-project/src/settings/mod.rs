//! Settings that only the operator may make: models for aliases, URLs of providers, folders that paths may lead into,
//! whether steps may run commands, how long runs are kept.
//!
//! They come from the command line, the environment, the user's own `config.toml`, and a project's `trefoil.toml` after
//! the user has trusted it (`trefoil trust DIR`). Without trust, a project file only sets levels, exclusions and lower
//! limits (read by `load/project.rs`); its other settings are reported and ignored.

mod argv;
mod keep;
mod providers;
mod read;
mod tools;
mod trust;
mod values;

use std::path::{Path, PathBuf};

use trefoil_check::{Prices, Supplied};
use trefoil_ir::prices::Price;
use trefoil_machine::Reserve;
use trefoil_models::{Api, ModelOverride, Registry};
use trefoil_runtime::{HostLimits, Recovery};
use trefoil_syntax::{Diagnostic, Files, SourceFile};
#[cfg(feature = "mcp")]
use trefoil_tools::McpServer;
use trefoil_tools::guard::Rules;
use trefoil_tools::{CommandTool, Python};

use crate::door::{self, Door};
use crate::folders::config_folder;
use crate::project_file::{ProjectPath, RULE, find_project, manifest_folder, project_bytes};
use crate::secrets::SecretSources;
use crate::shell::CommandShell;
use crate::target::LoadTarget;

pub use keep::{KeepRule, keep_size, keep_time};
pub use providers::DeclaredProvider;
pub use read::{TABLES, TrustedTable, asked};
pub(crate) use tools::{supplied, supplied_servers};
pub use trust::{Trust, TrustError, TrustStanding};

/// The user's own file, in [`config_folder`].
pub const USER_FILE: &str = "config.toml";
/// The rule for settings in a project file that is not trusted.
pub const UNTRUSTED: &str = "untrusted-project";
/// The maximum size of a settings file in bytes.
const BYTES: u64 = 1 << 20;

/// A flow that is a tool.
#[derive(Debug, Clone)]
pub struct FlowTool {
    /// The tool's name.
    pub name: String,
    /// Its description; `None`: the flow's own.
    pub description: Option<String>,
    /// The flow.
    pub flow: LoadTarget,
}

/// The settings in the operator's files.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// `[models]`: the model for an alias, an agent or a step. Later entries take precedence.
    pub models: Vec<ModelOverride>,
    /// `[providers.NAME] base_url`: provider, URL, and the file that sets it.
    pub addresses: Vec<(String, String, String)>,
    /// `[providers.NAME] api`: the API of a provider.
    pub apis: Vec<(String, Api)>,
    /// `[providers.NAME]` of providers that are not known.
    pub providers: Vec<DeclaredProvider>,
    /// `[prices]`: the price of a model, by `PROVIDER:NAME`. Later entries take precedence.
    pub prices: Vec<(String, Price)>,
    /// `[paths] allow`: folders outside the project that paths in manifests may lead into.
    pub allowed: Vec<PathBuf>,
    /// `[http]`: hosts and ports that HTTP tools may call in addition to public ones.
    pub http: Rules,
    /// `[secrets]`: the sources of secrets.
    pub secrets: SecretSources,
    /// `[tools]`: programs that are tools.
    pub tools: Vec<CommandTool>,
    /// `[tools]`: flows that are tools.
    pub flows: Vec<FlowTool>,
    /// `[mcp]`: MCP servers.
    #[cfg(feature = "mcp")]
    pub mcp: Vec<McpServer>,
    /// `[python]`: the interpreter for Python functions.
    pub python: Python,
    /// `[run] allow-command`: whether steps may run commands.
    pub commands: bool,
    /// `[run] env`: the variables that commands get in addition to the usual ones.
    pub command_env: Vec<String>,
    /// `[limits]`: the number of concurrent model calls, and their rate.
    pub limits: Option<HostLimits>,
    /// `[run] reserve`: the amount that cost limits reserve for a call.
    pub reserve: Option<Reserve>,
    /// `[store]`: how long runs that have ended are kept.
    pub keep: KeepRule,
    /// `[recovery]`: what to do about tools and commands with an unknown outcome.
    pub recovery: Recovery,
    /// Whether those of a trusted project are among them.
    pub of_project: bool,
}

/// A program of a tool or of an MCP server.
#[derive(Debug)]
pub struct DeclaredProgram {
    /// The table that declares it: `tools.NAME`, `mcp.NAME`.
    pub table: String,
    /// Its name or path.
    pub program: String,
    /// Why it cannot be started.
    pub missing: Option<String>,
}

impl Settings {
    /// A registry with the URLs and APIs of providers in these files.
    pub fn registry(&self, registry: Registry) -> Registry {
        let registry = self.providers.iter().fold(registry, |registry, own| {
            let registry = registry.with_provider(&own.name, &own.base_url, own.key_env.as_deref(), &own.file);
            own.api.into_iter().fold(registry, |registry, api| registry.with_api(&own.name, api))
        });
        let addresses = self.addresses.iter();
        let registry = addresses.fold(registry, |r, (provider, address, file)| r.with_address(provider, address, file));
        self.apis.iter().fold(registry, |r, (provider, api)| r.with_api(provider, *api))
    }

    /// Whether tools start processes without further permission.
    pub fn starts_processes(&self) -> bool {
        #[cfg(feature = "mcp")]
        if self.mcp.iter().any(|server| matches!(server.place, trefoil_tools::McpPlace::Process(_))) {
            return true;
        }
        !self.tools.is_empty()
    }

    /// The programs of tools and MCP servers, in this order, and whether they can be found. Those that get their own `PATH` are
    /// skipped.
    pub fn programs(&self) -> Vec<DeclaredProgram> {
        let all = self.tools.iter().map(|tool| (format!("tools.{}", tool.spec().name), tool.program()));
        #[cfg(feature = "mcp")]
        let all = all.chain(self.mcp.iter().filter_map(|server| match &server.place {
            trefoil_tools::McpPlace::Process(program) => Some((format!("mcp.{}", server.name), program)),
            trefoil_tools::McpPlace::Http { .. } => None,
        }));
        let found = all.filter(|(_, own)| own.environment.set.iter().all(|(name, _)| name != "PATH"));
        let found = found.filter_map(|(table, own)| {
            let program = own.command.first()?.clone();
            let missing = door::missing_program(&program, own.folder.as_deref());
            Some(DeclaredProgram { table, program, missing })
        });
        found.collect()
    }

    /// What is declared, for checks.
    pub fn supplied(&self) -> Supplied {
        #[cfg(feature = "mcp")]
        let servers = self.mcp.iter().map(tools::described_server).collect();
        #[cfg(not(feature = "mcp"))]
        let servers = Vec::new();
        let flow = |tool: &FlowTool| tools::of_flow(tool.name.clone(), tool.flow.to_string());
        let tools = self.tools.iter().map(tools::described).chain(self.flows.iter().map(flow));
        let providers = self.providers.iter().map(|declared| declared.name.clone()).collect();
        let prices = Prices { own: self.prices.clone(), day: None };
        Supplied { tools: tools.collect(), servers, providers, prices }
    }

    /// The shell of commands, if they may run.
    pub fn shell(&self) -> CommandShell {
        CommandShell { pass: self.command_env.clone(), ..CommandShell::default() }
    }
}

/// The settings for a target.
#[derive(Default)]
pub struct FoundSettings {
    /// The effective settings.
    pub settings: Settings,
    /// The files of the findings.
    pub files: Files,
    /// Mistakes in the files that are used, and untrusted settings in a file that is not.
    pub findings: Vec<Diagnostic>,
}

/// The project file that applies to a manifest or a folder.
pub fn project_file(target: &Path) -> Option<PathBuf> {
    project_of(target).map(|project| project.path)
}

fn project_of(target: &Path) -> Option<ProjectPath> {
    find_project(&Door::Disk, &folder_of(target)?)
}

fn folder_of(target: &Path) -> Option<PathBuf> {
    let door = Door::Disk;
    if door::is_folder(target) { door::folder_real(target) } else { manifest_folder(&door, target) }
}

/// The settings for a manifest, or for a folder itself: the user's, then the project's if it is trusted.
/// `without_project`: only the user's.
pub fn find(target: &Path, without_project: bool) -> FoundSettings {
    let mut found = FoundSettings::default();
    let folder = config_folder();
    if let Some(path) = folder.as_ref().map(|folder| folder.join(USER_FILE)).filter(|path| door::is_there(path)) {
        let name = path.display().to_string();
        match door::named(&path, BYTES) {
            Ok(bytes) => found.take(&path, &name, bytes, &TrustStanding::Trusted),
            Err(why) => found.unreadable(&name, &why),
        }
    }
    if without_project {
        return found;
    }
    let Some(project) = project_of(target) else {
        found.exposed(target, &Trust::open(folder));
        return found;
    };
    // The bytes that are checked for trust are the ones that are parsed, because the file may change in between. The
    // checker also reports an unreadable file, but it must not count as trusted here.
    match project_bytes(&Door::Disk, &project.path) {
        Ok(bytes) => {
            let standing = Trust::open(folder).standing(&project.path, &bytes);
            found.settings.of_project = standing == TrustStanding::Trusted;
            found.take(&project.path, &project.name, bytes, &standing);
        }
        Err(why) => found.unreadable(&project.name, &why),
    }
    found
}

/// The user's own files that settings depend on, whether or not they exist.
pub fn files() -> Vec<PathBuf> {
    config_folder().map(|folder| vec![folder.join(USER_FILE), folder.join(trust::LIST)]).unwrap_or_default()
}

/// The user's own settings, without those of any project.
pub fn own() -> Settings {
    find(Path::new(""), true).settings
}

impl FoundSettings {
    /// Reports a file that was trusted, and whose folder is world-writable now. Others are not reported: anybody could put a file into such a
    /// folder.
    fn exposed(&mut self, target: &Path, trust: &Trust) {
        let path = folder_of(target).and_then(|folder| door::exposed(&folder, door::PROJECT_FILE));
        let Some(path) = path.filter(|path| trust.is_listed(path)) else { return };
        let file = self.files.add(SourceFile::new(path.display().to_string(), ""));
        let error = trefoil_syntax::Severity::Error;
        let message = "anybody can write to the folder of this file, so it is not trusted";
        let found = Diagnostic::nowhere(UNTRUSTED, error, Some(file), message);
        self.findings.push(found.help("remove that permission: `chmod o-w`"));
    }

    fn unreadable(&mut self, name: &str, why: &door::AccessRefusal) {
        let file = self.files.add(SourceFile::new(name, ""));
        let message = format!("`{name}` cannot be read: {}", why.reason());
        let error = trefoil_syntax::Severity::Error;
        self.findings.push(Diagnostic::nowhere(RULE, error, Some(file), message));
    }

    fn take(&mut self, path: &Path, name: &str, bytes: Vec<u8>, standing: &TrustStanding) {
        let source = SourceFile::from_bytes(name.to_owned(), bytes);
        let file = self.files.add(source.clone());
        let base = path.parent().unwrap_or(Path::new("")).to_owned();
        read::read(file, &source, &base, standing, self);
    }
}
