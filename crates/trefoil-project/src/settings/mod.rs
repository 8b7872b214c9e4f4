//! Settings that only the operator may make: models for aliases, URLs of providers, folders that paths may lead into,
//! whether steps may run commands, how long runs are kept.
//!
//! They come from the command line, the environment, the user's own `config.toml`, and a project's `trefoil.toml` after
//! the user has trusted it (`trefoil trust DIR`). Without trust, a project file only sets levels, exclusions and lower
//! limits (read by `load/project.rs`); its other settings are reported and ignored.

mod argv;
mod flow_rules;
mod providers;
mod retention;
mod tools;
mod trust;
mod trusted_tables;
mod values;

use std::path::{Path, PathBuf};

use trefoil_check::{ModelPrices, ProjectDeclarations};
use trefoil_ir::prices::ModelPrice;
use trefoil_machine::Reserve;
use trefoil_models::{ModelOverride, Registry, VendorApi};
use trefoil_runtime::{HostLimits, RecoveryPolicy};
use trefoil_syntax::{Diagnostic, SourceFile, SourceFiles};
#[cfg(feature = "mcp")]
use trefoil_tools::McpServer;
use trefoil_tools::guard::GuardRules;
use trefoil_tools::process::OperatorProgram;
use trefoil_tools::{CommandTool, PythonSettings};

use crate::file_access::{self, FileAccess};
use crate::folders::config_folder;
use crate::project_file::{ProjectPath, RULE, find_project, manifest_folder, project_bytes};
use crate::secrets::SecretSources;
use crate::shell::CommandShell;
use crate::target::LoadTarget;

pub use flow_rules::ServedFlowRule;
pub use providers::DeclaredProvider;
pub use retention::{KeepRule, keep_size, keep_time};
pub(crate) use tools::{read_supplied_tools, supplied_servers};
pub use trust::{Trust, TrustError, TrustStanding};
pub use trusted_tables::{TABLES, TrustedTable, find_trusted_tables};

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
    pub apis: Vec<(String, VendorApi)>,
    /// `[providers.NAME]` of providers that are not known.
    pub providers: Vec<DeclaredProvider>,
    /// `[prices]`: the price of a model, by `PROVIDER:NAME`. Later entries take precedence.
    pub prices: Vec<(String, ModelPrice)>,
    /// `[paths] allow`: folders outside the project that paths in manifests may lead into.
    pub allowed: Vec<PathBuf>,
    /// `[http]`: hosts and ports that HTTP tools may call in addition to public ones.
    pub http: GuardRules,
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
    pub python: PythonSettings,
    /// `[run] allow-command`: whether steps may run commands.
    pub commands: bool,
    /// `[run] env`: the variables that commands get in addition to the usual ones.
    pub command_env: Vec<String>,
    /// `[serve] env`: the variables of the environment that flows may read on a server.
    pub served_env: Vec<String>,
    /// `[serve.flows]`: what single flows may do on a server.
    pub flow_rules: Vec<ServedFlowRule>,
    /// `[limits]`: the number of concurrent model calls, and their rate.
    pub limits: Option<HostLimits>,
    /// `[run] reserve`: the amount that cost limits reserve for a call.
    pub reserve: Option<Reserve>,
    /// `[store]`: how long runs that have ended are kept.
    pub keep: KeepRule,
    /// `[recovery]`: what to do about tools and commands with an unknown outcome.
    pub recovery: RecoveryPolicy,
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
    pub fn apply_to_registry(&self, mut registry: Registry) -> Registry {
        for declared in &self.providers {
            let key_env = declared.key_env.as_deref();
            registry = registry.with_provider(&declared.name, &declared.base_url, key_env, &declared.file);
            if let Some(api) = declared.api {
                registry = registry.with_api(&declared.name, api);
            }
        }
        for (provider, address, file) in &self.addresses {
            registry = registry.with_address(provider, address, file);
        }
        for (provider, api) in &self.apis {
            registry = registry.with_api(provider, *api);
        }
        registry
    }

    /// Whether tools start processes without further permission.
    pub fn starts_processes(&self) -> bool {
        #[cfg(feature = "mcp")]
        if self.mcp.iter().any(|server| matches!(server.transport, trefoil_tools::McpTransport::Process(_))) {
            return true;
        }
        !self.tools.is_empty()
    }

    /// The programs of tools and MCP servers, in this order, and whether they can be found. Those that get their own `PATH` are
    /// skipped.
    pub fn declared_programs(&self) -> Vec<DeclaredProgram> {
        let mut found = Vec::new();
        for tool in &self.tools {
            found.extend(declared_program(format!("tools.{}", tool.tool_spec().name), tool.operator_program()));
        }
        #[cfg(feature = "mcp")]
        for server in &self.mcp {
            if let trefoil_tools::McpTransport::Process(program) = &server.transport {
                found.extend(declared_program(format!("mcp.{}", server.name), program));
            }
        }
        found
    }

    /// What is declared, for checks.
    pub fn supplied_declarations(&self) -> ProjectDeclarations {
        #[cfg(feature = "mcp")]
        let servers = self.mcp.iter().map(tools::described_server).collect();
        #[cfg(not(feature = "mcp"))]
        let servers = Vec::new();
        let mut tools: Vec<_> = self.tools.iter().map(tools::describe_tool).collect();
        for tool in &self.flows {
            tools.push(tools::of_flow(tool.name.clone(), tool.flow.to_string()));
        }
        let providers = self.providers.iter().map(|declared| declared.name.clone()).collect();
        let prices = ModelPrices { own: self.prices.clone(), day: None };
        ProjectDeclarations { tools, servers, providers, prices }
    }

    /// The shell of commands, if they may run.
    pub fn command_shell(&self) -> CommandShell {
        CommandShell { pass: self.command_env.clone(), ..CommandShell::default() }
    }
}

/// A program, unless it gets its own `PATH`.
fn declared_program(table: String, declared: &OperatorProgram) -> Option<DeclaredProgram> {
    if declared.environment.set.iter().any(|(name, _)| name == "PATH") {
        return None;
    }
    let program = declared.command.first()?.clone();
    let missing = file_access::missing_program(&program, declared.folder.as_deref());
    Some(DeclaredProgram { table, program, missing })
}

/// The settings for a target.
#[derive(Default)]
pub struct FoundSettings {
    /// The effective settings.
    pub settings: Settings,
    /// The files of the findings.
    pub files: SourceFiles,
    /// Mistakes in the files that are used, and untrusted settings in a file that is not.
    pub findings: Vec<Diagnostic>,
}

/// The project file that applies to a manifest or a folder.
pub fn project_file(target: &Path) -> Option<PathBuf> {
    Some(project_of(target)?.path)
}

fn project_of(target: &Path) -> Option<ProjectPath> {
    find_project(&FileAccess::Disk, &folder_of(target)?)
}

fn folder_of(target: &Path) -> Option<PathBuf> {
    let file_access = FileAccess::Disk;
    if file_access::is_folder(target) {
        file_access::folder_real(target)
    } else {
        manifest_folder(&file_access, target)
    }
}

/// The settings for a manifest, or for a folder itself: the user's, then the project's if it is trusted.
/// `without_project`: only the user's.
pub fn find_settings(target: &Path, without_project: bool) -> FoundSettings {
    let mut found = FoundSettings::default();
    let folder = config_folder();
    if let Some(folder) = &folder {
        found.take_user_file(&folder.join(USER_FILE));
    }
    if without_project {
        return found;
    }
    let Some(project) = project_of(target) else {
        found.report_exposed_file(target, &Trust::open(folder));
        return found;
    };
    // The bytes that are checked for trust are the ones that are parsed, because the file may change in between. The
    // checker also reports an unreadable file, but it must not count as trusted here.
    match project_bytes(&FileAccess::Disk, &project.path) {
        Ok(bytes) => {
            let standing = Trust::open(folder).file_standing(&project.path, &bytes);
            found.settings.of_project = standing == TrustStanding::Trusted;
            found.take(&project.path, &project.name, bytes, &standing);
        }
        Err(why) => found.unreadable(&project.name, &why),
    }
    found
}

/// The user's own files that settings depend on, whether or not they exist.
pub fn user_settings_files() -> Vec<PathBuf> {
    let Some(folder) = config_folder() else { return Vec::new() };
    vec![folder.join(USER_FILE), folder.join(trust::LIST)]
}

/// The user's own settings, without those of any project.
pub fn load_user_settings() -> Settings {
    find_settings(Path::new(""), true).settings
}

impl FoundSettings {
    /// Reports a file that was trusted, and whose folder is world-writable now. Others are not reported: anybody could put a file into such a
    /// folder.
    fn report_exposed_file(&mut self, target: &Path, trust: &Trust) {
        let Some(folder) = folder_of(target) else { return };
        let Some(path) = file_access::find_exposed_file(&folder, file_access::PROJECT_FILE) else { return };
        if !trust.is_listed(&path) {
            return;
        }
        let file = self.files.add_file(SourceFile::new(path.display().to_string(), ""));
        let error = trefoil_syntax::FindingSeverity::Error;
        let message = "anybody can write to the folder of this file, so it is not trusted";
        let found = Diagnostic::without_location(UNTRUSTED, error, Some(file), message);
        self.findings.push(found.with_help("remove that permission: `chmod o-w`"));
    }

    fn unreadable(&mut self, name: &str, why: &file_access::AccessRefusal) {
        let file = self.files.add_file(SourceFile::new(name, ""));
        let message = format!("`{name}` cannot be read: {}", why.reason_text());
        let error = trefoil_syntax::FindingSeverity::Error;
        self.findings.push(Diagnostic::without_location(RULE, error, Some(file), message));
    }

    /// Reads the user's own file, if it exists.
    fn take_user_file(&mut self, path: &Path) {
        if !file_access::path_exists(path) {
            return;
        }
        let name = path.display().to_string();
        match file_access::read_named_file(path, BYTES) {
            Ok(bytes) => self.take(path, &name, bytes, &TrustStanding::Trusted),
            Err(why) => self.unreadable(&name, &why),
        }
    }

    fn take(&mut self, path: &Path, name: &str, bytes: Vec<u8>, standing: &TrustStanding) {
        let source = SourceFile::from_bytes(name.to_owned(), bytes);
        let file = self.files.add_file(source.clone());
        let base = path.parent().unwrap_or(Path::new("")).to_owned();
        trusted_tables::read_settings_file(file, &source, &base, standing, self);
    }
}
