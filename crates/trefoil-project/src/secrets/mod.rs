//! The sources of `secrets.NAME`. The first source with the name is used:
//!
//! 1. the environment: `TREFOIL_SECRET_NAME`, in upper case, with `_` for what a variable cannot have;
//! 2. a file of the operator's with `NAME=value` lines: `TREFOIL_SECRETS_FILE`, else `[secrets] env_file` in `config.toml`;
//! 3. a folder with a file for each secret, as containers and systemd mount them: `TREFOIL_SECRETS_DIR`, or
//!    `CREDENTIALS_DIRECTORY`;
//! 4. a command of the operator, for password managers: `[secrets] command` in `config.toml`, with `{name}` in it;
//! 5. the [`SecretVault`]: an encrypted file that `trefoil secrets` writes.
//!
//! A source that cannot be read ends the search, because a value from another source would be a surprise.
//!
//! A value is read when it is first needed, and never stored: the machine knows only its name.

mod command;
mod file_lock;
mod input_secrets;
pub mod passphrase;
mod vault;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use trefoil_ir::{Program, Step, StepId, StepKind, ToolCall, ToolKind, walk};
use trefoil_runtime::ports::{EnvFile, EnvSecrets, Secret, Secrets};
use trefoil_syntax::{Diagnostic, Location};
use trefoil_template::HoleKind;

use crate::file_access;

pub use input_secrets::{IN_INPUT, by_value, in_answers, in_input};
pub use vault::{SecretVault, VaultError, is_name};

/// The maximum size of a secret in bytes.
const LARGEST: u64 = 64 << 10;
/// The maximum size in bytes of a file with several secrets.
const LARGEST_FILE: u64 = 1 << 20;

/// The operator's settings for sources.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretSources {
    /// A file with `NAME=value` lines.
    pub env_file: Option<PathBuf>,
    /// A program and its arguments; empty if there is none.
    pub command: Vec<String>,
}

/// Variables of the environment that flows may read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedVariables {
    /// Their names.
    pub names: Vec<String>,
    /// Who may read no others.
    pub who: String,
    /// The setting that names them.
    pub setting: String,
}

/// `env.NAME` from the environment, and `secrets.NAME` from the sources of this module.
pub struct OperatorSecrets {
    env: AllowedEnvironment,
    sources: SecretSources,
    vault: Option<SecretVault>,
    /// The results of lookups, so that a command asks the user only once.
    known: Mutex<HashMap<String, FoundSecret>>,
}

/// The variables of the environment that flows may read, and no secrets: those that all of these allow.
pub struct AllowedEnvironment {
    env: EnvSecrets,
    allowed: Vec<AllowedVariables>,
}

impl AllowedEnvironment {
    /// What all of these allow.
    pub fn new(env: EnvSecrets, allowed: Vec<AllowedVariables>) -> Self {
        Self { env, allowed }
    }

    /// What does not allow flows to read a variable.
    fn find_refusal(&self, name: &str) -> Option<&AllowedVariables> {
        self.allowed.iter().find(|allowed| !allowed.names.iter().any(|known| known == name))
    }
}

impl Secrets for AllowedEnvironment {
    fn get(&self, kind: HoleKind, name: &str) -> Option<Secret> {
        if kind == HoleKind::Env && self.find_refusal(name).is_some() { None } else { self.env.get(kind, name) }
    }

    fn find_problem(&self, kind: HoleKind, name: &str) -> Option<String> {
        match self.find_refusal(name) {
            Some(AllowedVariables { who, setting, .. }) if kind == HoleKind::Env => {
                Some(format!("on this server, {who} may not read it; the operator allows it with {setting}"))
            }
            _ => self.env.find_problem(kind, name),
        }
    }
}

/// A value, no value, or why a source that may have it cannot be read.
type FoundSecret = Result<Option<Secret>, String>;

impl OperatorSecrets {
    /// Adds these sources to those named by the environment.
    pub fn new(env: EnvSecrets, sources: SecretSources) -> Self {
        let env = AllowedEnvironment { env, allowed: Vec::new() };
        Self { env, sources, vault: SecretVault::of_user(), known: Mutex::default() }
    }

    /// Lets flows read only the variables of the environment that all of these allow (A18: on a server, only what the operator allows).
    #[must_use]
    pub fn with_allowed_env(self, allowed_env: Vec<AllowedVariables>) -> Self {
        Self { env: AllowedEnvironment { env: self.env.env, allowed: allowed_env }, ..self }
    }

    fn find(&self, name: &str) -> FoundSecret {
        if !is_name(name) {
            return Ok(None);
        }
        if let Some(value) = of_environment(name)? {
            return Ok(Some(value));
        }
        if let Some(file) = env_file(&self.sources)
            && let Some(value) = of_file(&file, name)?
        {
            return Ok(Some(value));
        }
        for folder in folders() {
            if let Some(value) = of_folder(&folder, name)? {
                return Ok(Some(value));
            }
        }
        if let Some(value) = command::run_secret_command(&self.sources.command, name)? {
            return Ok(Some(value));
        }
        let Some(vault) = &self.vault else { return Ok(None) };
        vault.get(name).map_err(|why| why.to_string())
    }

    fn cached_secret(&self, name: &str) -> FoundSecret {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(name.to_owned()).or_insert_with(|| self.find(name)).clone()
    }
}

impl Secrets for OperatorSecrets {
    fn get(&self, kind: HoleKind, name: &str) -> Option<Secret> {
        if kind == HoleKind::Env {
            return self.env.get(kind, name);
        }
        self.cached_secret(name).ok().flatten()
    }

    fn find_problem(&self, kind: HoleKind, name: &str) -> Option<String> {
        match kind {
            HoleKind::Env => self.env.find_problem(kind, name),
            HoleKind::Secret => self.cached_secret(name).err(),
        }
    }
}

/// The state of a source.
pub struct SourceState {
    /// A short name.
    pub name: &'static str,
    /// What it contains, or why it cannot be read.
    pub says: Result<String, String>,
}

/// Tries all configured sources, in order. A command is not called, because it may ask the user something.
#[allow(clippy::disallowed_methods, reason = "this is where secrets come from")]
pub fn probe_sources(sources: &SecretSources) -> Vec<SourceState> {
    let mut all = Vec::new();
    let count = |n: usize| if n == 1 { "1 secret".to_owned() } else { format!("{n} secrets") };
    let own = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with(VARIABLE_START)).count();
    if own > 0 {
        all.push(SourceState { name: "environment", says: Ok(format!("{} in `{VARIABLE_START}*`", count(own))) });
    }
    if let Some(file) = env_file(sources) {
        let says = in_file(&file).map(|all| format!("{} in `{}`", count(all.len()), file.display()));
        all.push(SourceState { name: "env file", says });
    }
    for folder in folders() {
        let shown = format!("`{}`", folder.display());
        let says = if file_access::is_folder(&folder) { Ok(shown) } else { Err(format!("{shown} is not a folder")) };
        all.push(SourceState { name: "folder", says });
    }
    if let Some(program) = sources.command.first() {
        let says = match file_access::missing_program(program, None) {
            None => Ok(format!("`{program}` is called for names that are not listed above")),
            Some(why) => Err(why),
        };
        all.push(SourceState { name: "command", says });
    }
    if let Some(vault) = SecretVault::of_user()
        && file_access::path_exists(vault.file_path())
    {
        let says = match vault.count_decryptable() {
            Ok(names) => Ok(format!("{} in `{}`", count(names), vault.file_path().display())),
            Err(why) => Err(why.to_string()),
        };
        all.push(SourceState { name: "encrypted file", says });
    }
    all
}

/// The rule for a secret that no source has.
pub const MISSING: &str = "missing-secret";
/// The rule for an environment variable that is not set.
pub const MISSING_ENV: &str = "missing-env";

/// An environment variable or a secret that is read: its kind and its name.
type SecretRead = (HoleKind, Arc<str>);

/// The secrets that a run can read but no source has, each at the first place that reads it. `settings`: what the settings of a
/// tool read for a call, environment variables too. `sends`: whether a step sends its secrets anywhere.
pub fn find_missing_secrets(
    program: &Program,
    secrets: &dyn Secrets,
    sends: &dyn Fn(StepId, &Step) -> bool,
    settings: &dyn Fn(&ToolCall) -> Vec<SecretRead>,
) -> Vec<Diagnostic> {
    let mut asked = HashSet::new();
    let mut found = Vec::new();
    for (_, id) in walk::reachable_steps(program, program.entry) {
        let step = &program.steps[id];
        if !sends(id, step) {
            continue;
        }
        for (kind, name, at) in walk::holes_of(step) {
            if kind == HoleKind::Secret
                && asked.insert((kind, name.clone()))
                && let Some((message, help)) = explain_unset(secrets, kind, &name)
            {
                found.push(error(kind, at, message, help));
            }
        }
        let StepKind::Tool(call) = &step.kind else { continue };
        for (kind, name) in settings(call) {
            if asked.insert((kind, name.clone()))
                && let Some((why, help)) = explain_unset(secrets, kind, &name)
            {
                let message = format!("{why} (the settings of the {} use it)", of_settings(call));
                found.push(error(kind, step.origin, message, help));
            }
        }
    }
    found
}

fn error(kind: HoleKind, at: Location, message: String, help: String) -> Diagnostic {
    let rule = if kind == HoleKind::Env { MISSING_ENV } else { MISSING };
    Diagnostic::new_error(rule, at, message).with_help(help)
}

/// What the settings call a tool.
fn of_settings(call: &ToolCall) -> String {
    match &call.kind {
        ToolKind::Mcp { server, .. } => format!("MCP server `{server}`"),
        _ => format!("tool `{}`", call.name),
    }
}

/// Why there is no value, and what to do.
pub fn explain_unset(secrets: &dyn Secrets, kind: HoleKind, name: &str) -> Option<(String, String)> {
    let problem = secrets.find_problem(kind, name);
    if kind == HoleKind::Secret
        && let Some(why) = &problem
    {
        let message = format!("the secret `{name}` cannot be read: {why}");
        return Some((message, "run `trefoil doctor` to test all sources".to_owned()));
    }
    if secrets.get(kind, name).is_some() {
        return None;
    }
    Some(match kind {
        HoleKind::Secret => (
            format!("the secret `{name}` is not set"),
            format!("set it with `trefoil secrets set {name}`, or in the environment as `{}`", variable_name(name)),
        ),
        HoleKind::Env => match &problem {
            // It may be set, and to set it changes nothing.
            Some(why) => {
                let (why, help) = why.split_once("; ").unwrap_or((why, "set it to another value"));
                (format!("the environment variable `{name}` cannot be read: {why}"), help.to_owned())
            }
            None => (
                format!("the environment variable `{name}` is not set"),
                format!("set it, for example: `export {name}=...`"),
            ),
        },
    })
}

/// The prefix of environment variables with secrets.
const VARIABLE_START: &str = "TREFOIL_SECRET_";

/// The environment variable of a secret.
pub fn variable_name(name: &str) -> String {
    format!("{VARIABLE_START}{}", name.to_ascii_uppercase().replace('-', "_"))
}

#[allow(clippy::disallowed_methods, reason = "this is where secrets come from")]
fn of_environment(name: &str) -> FoundSecret {
    match std::env::var(variable_name(name)) {
        Ok(value) => Ok(Secret::new(&value)),
        Err(std::env::VarError::NotPresent) => Ok(None),
        Err(std::env::VarError::NotUnicode(_)) => Err(format!("`{}` is not UTF-8", variable_name(name))),
    }
}

#[allow(clippy::disallowed_methods, reason = "this is where secrets come from")]
fn env_file(sources: &SecretSources) -> Option<PathBuf> {
    match std::env::var_os("TREFOIL_SECRETS_FILE") {
        Some(path) if !path.is_empty() => Some(path.into()),
        _ => sources.env_file.clone(),
    }
}

#[allow(clippy::disallowed_methods, reason = "this is where secrets come from")]
fn folders() -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for variable in ["TREFOIL_SECRETS_DIR", "CREDENTIALS_DIRECTORY"] {
        // An empty variable must not mean the current folder.
        if let Some(folder) = std::env::var_os(variable)
            && !folder.is_empty()
        {
            folders.push(PathBuf::from(folder));
        }
    }
    folders
}

/// The last line with this name is used.
fn of_file(path: &Path, name: &str) -> FoundSecret {
    match in_file(path)?.into_iter().rfind(|(known, _)| known == name) {
        Some((_, value)) => Ok(value),
        None => Ok(None),
    }
}

fn in_file(path: &Path) -> Result<Vec<(String, Option<Secret>)>, String> {
    let failed = |why: &dyn std::fmt::Display| format!("`{}`: {why}", path.display());
    let bytes = file_access::read_named_file(path, LARGEST_FILE).map_err(|why| failed(&why.reason_text()))?;
    let text = String::from_utf8(bytes).map_err(|_| failed(&"not UTF-8"))?;
    let file = EnvFile::from_text(&text);
    // Part of a value is worse than none.
    if let Some(line) = file.unread.iter().find(|line| line.is_open) {
        return Err(line.describe_fault(&path.display().to_string()));
    }
    Ok(file.values.into_iter().map(|(name, value)| (name, Secret::new(&value))).collect())
}

/// A file's text without the final line break. Only a file that does not exist, in a folder that does, means that the
/// folder does not have the secret.
fn of_folder(folder: &Path, name: &str) -> FoundSecret {
    if !file_access::is_folder(folder) {
        return Err(format!("`{}` is not a folder", folder.display()));
    }
    let path = folder.join(name);
    let failed = |why: &dyn std::fmt::Display| format!("`{}`: {why}", path.display());
    let bytes = match file_access::read_named_file(&path, LARGEST) {
        Ok(bytes) => bytes,
        Err(file_access::AccessRefusal::NotThere) => return Ok(None),
        Err(why) => return Err(failed(&why.reason_text())),
    };
    let text = String::from_utf8(bytes).map_err(|_| failed(&"not UTF-8"))?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Ok(Secret::new(text.strip_suffix('\r').unwrap_or(text)))
}
