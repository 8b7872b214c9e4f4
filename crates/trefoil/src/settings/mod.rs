//! What only the operator may say: models behind aliases, addresses of providers, folders that paths may lead into,
//! whether steps may run commands, how long runs are kept.
//!
//! It counts from the command line, the environment, the user's own `config.toml`, and a project's `trefoil.toml` once the
//! user has trusted it (`trefoil trust DIR`). Without trust a project file sets levels, exclusions and lower limits only
//! (`load/project.rs` reads those); what else it says is named and ignored, never followed.

mod keep;
mod read;
mod tools;
mod trust;

use std::path::{Path, PathBuf};

use trefoil_check::Supplied;
use trefoil_machine::Reserve;
use trefoil_models::{Api, ModelOverride, Registry};
use trefoil_prices::Price;
use trefoil_runtime::{HostLimits, Recovery};
use trefoil_syntax::{Diagnostic, Files, SourceFile};
#[cfg(feature = "mcp")]
use trefoil_tools::McpServer;
use trefoil_tools::guard::Rules;
use trefoil_tools::{CommandTool, Python};

use crate::door::{self, Door};
use crate::load::{Target, project};
use crate::secrets::SecretSources;

pub use keep::{Keep, keep_size, keep_time};
pub use read::{TABLES, TrustedTable, asked};
pub(crate) use tools::supplied;
pub use trust::{Standing, Trust, TrustError, config_folder};

/// The user's own file, in [`config_folder`].
pub const USER_FILE: &str = "config.toml";
/// The code of settings in a project file that are not trusted.
pub const UNTRUSTED: &str = "untrusted-project";
/// Bytes of a settings file.
const BYTES: u64 = 1 << 20;

/// A flow that is a tool.
#[derive(Debug, Clone)]
pub struct FlowTool {
    /// The tool's name.
    pub name: String,
    /// What it is for; none: what the flow says.
    pub description: Option<String>,
    /// The flow.
    pub flow: Target,
}

/// What the operator's files say.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// `[models]`: the model for an alias, an agent or a step. What comes later wins.
    pub models: Vec<ModelOverride>,
    /// `[providers.NAME] base_url`: provider, address, and the file that says so.
    pub addresses: Vec<(String, String, String)>,
    /// `[providers.NAME] api`: the interface that a provider is called through.
    pub apis: Vec<(String, Api)>,
    /// `[prices]`: what a model costs, by `PROVIDER:NAME`. What comes later wins.
    pub prices: Vec<(String, Price)>,
    /// `[paths] allow`: folders outside the project that paths in manifests may lead into.
    pub allowed: Vec<PathBuf>,
    /// `[http]`: which hosts and ports HTTP tools may call beyond the public ones.
    pub http: Rules,
    /// `[secrets]`: where secrets are.
    pub secrets: SecretSources,
    /// `[tools]`: programs that are tools.
    pub tools: Vec<CommandTool>,
    /// `[tools]`: flows that are tools.
    pub flows: Vec<FlowTool>,
    /// `[mcp]`: servers with tools.
    #[cfg(feature = "mcp")]
    pub mcp: Vec<McpServer>,
    /// `[python]`: what runs Python functions.
    pub python: Python,
    /// `[run] allow-command`: whether steps may run commands.
    pub commands: bool,
    /// `[limits]`: how many model calls may be in progress, and how fast they may follow each other.
    pub limits: Option<HostLimits>,
    /// `[run] reserve`: what cost limits set aside for a call.
    pub reserve: Option<Reserve>,
    /// `[store]`: what is kept of runs that have ended.
    pub keep: Keep,
    /// `[recovery]`: what becomes of tools and commands of which nobody knows whether they were done.
    pub recovery: Recovery,
}

impl Settings {
    /// A registry with the addresses and interfaces that these files give providers.
    pub fn registry(&self, registry: Registry) -> Registry {
        let addresses = self.addresses.iter();
        let registry = addresses.fold(registry, |r, (provider, address, file)| r.with_address(provider, address, file));
        self.apis.iter().fold(registry, |r, (provider, api)| r.with_api(provider, *api))
    }

    /// Whether tools start processes that nothing else has to allow.
    pub fn starts_processes(&self) -> bool {
        #[cfg(feature = "mcp")]
        if self.mcp.iter().any(|server| matches!(server.place, trefoil_tools::McpPlace::Process(_))) {
            return true;
        }
        !self.tools.is_empty()
    }

    /// The names of the tools and servers that are declared.
    pub fn supplied(&self) -> Supplied {
        #[cfg(feature = "mcp")]
        let servers = self.mcp.iter().map(|server| server.name.clone()).collect();
        #[cfg(not(feature = "mcp"))]
        let servers = Vec::new();
        let flow = |tool: &FlowTool| tools::of_flow(tool.name.clone(), tool.flow.to_string());
        let tools = self.tools.iter().map(tools::described).chain(self.flows.iter().map(flow));
        Supplied { tools: tools.collect(), servers }
    }

    /// What runs Python functions, where commands may run: as those, without keys in its environment that are not passed on.
    pub fn interpreter(&self) -> Python {
        let mut python = self.python.clone();
        python.environment.harmless = Some(|name| !crate::shell::is_kept_back(name));
        python
    }
}

/// What was found for a target.
#[derive(Default)]
pub struct FoundSettings {
    /// What counts.
    pub settings: Settings,
    /// Files named by the findings.
    pub files: Files,
    /// What is wrong in the files that count, and what is not trusted in the one that does not.
    pub findings: Vec<Diagnostic>,
}

/// The settings for a target: the user's, then the project's if it is trusted. `without_project`: the user's only.
pub fn find(target: &Path, without_project: bool) -> FoundSettings {
    let mut found = FoundSettings::default();
    let folder = config_folder();
    if let Some(path) = folder.as_ref().map(|folder| folder.join(USER_FILE)).filter(|path| door::is_there(path)) {
        let name = path.display().to_string();
        match door::named(&path, BYTES) {
            Ok(bytes) => found.take(&path, &name, bytes, &Standing::Trusted),
            Err(why) => found.unreadable(&name, &why),
        }
    }
    if without_project {
        return found;
    }
    let start = if door::is_folder(target) { Some(target) } else { target.parent() };
    let Some(project) = start.and_then(door::folder_real).and_then(|folder| project::find(&Door::Disk, &folder)) else {
        return found;
    };
    // What is judged is what is read: the file may be another one a moment later. An unreadable one is the checker's to
    // report, too, but nobody may take its word for granted meanwhile.
    match project::bytes(&Door::Disk, &project.path) {
        Ok(bytes) => {
            let standing = Trust::open(folder).standing(&project.path, &bytes);
            found.take(&project.path, &project.name, bytes, &standing);
        }
        Err(why) => found.unreadable(&project.name, &why),
    }
    found
}

impl FoundSettings {
    fn unreadable(&mut self, name: &str, why: &door::Shut) {
        let file = self.files.add(SourceFile::new(name, ""));
        let message = format!("`{name}` cannot be read: {}", why.reason());
        let error = trefoil_syntax::Severity::Error;
        self.findings.push(Diagnostic::nowhere(project::RULE, error, Some(file), message));
    }

    fn take(&mut self, path: &Path, name: &str, bytes: Vec<u8>, standing: &Standing) {
        let source = SourceFile::from_bytes(name.to_owned(), bytes);
        let file = self.files.add(source.clone());
        let base = path.parent().unwrap_or(Path::new("")).to_owned();
        read::read(file, &source, &base, standing, self);
    }
}
