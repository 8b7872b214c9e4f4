//! Where `secrets.NAME` comes from. The first source that has the name counts:
//!
//! 1. the environment: `TREFOIL_SECRET_NAME`, in upper case, with `_` for what a variable cannot have;
//! 2. a folder with a file for each secret, as containers and systemd mount them: `TREFOIL_SECRETS_DIR`, or
//!    `CREDENTIALS_DIRECTORY`;
//! 3. a command of the operator, for password managers: `[secrets] command` in `config.toml`, with `{name}` in it;
//! 4. the [`Vault`]: an encrypted file that `trefoil secrets` writes.
//!
//! A value is read when it is first needed, and never written anywhere: the machine knows its name only (decision C8).

mod command;
mod vault;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use trefoil_ir::{Program, walk};
use trefoil_runtime::ports::{EnvSecrets, Secrets};
use trefoil_syntax::Diagnostic;
use trefoil_template::HoleKind;

use crate::door;

pub use vault::{Vault, VaultError, is_name};

/// Bytes of a secret.
const LARGEST: u64 = 64 << 10;

/// `env.NAME` from the environment, and `secrets.NAME` from the sources of this module.
pub struct OperatorSecrets {
    env: EnvSecrets,
    command: Vec<String>,
    vault: Option<Vault>,
    /// What was found, or not: a command asks somebody once only.
    known: Mutex<HashMap<String, Option<String>>>,
}

impl OperatorSecrets {
    /// `command`: the operator's program and its arguments, if any.
    pub fn new(env: EnvSecrets, command: Vec<String>) -> Self {
        Self { env, command, vault: Vault::of_user(), known: Mutex::default() }
    }

    fn find(&self, name: &str) -> Option<String> {
        if !is_name(name) {
            return None;
        }
        of_environment(name)
            .or_else(|| folders().iter().find_map(|folder| of_folder(folder, name)))
            .or_else(|| command::ask(&self.command, name))
            .or_else(|| self.vault.as_ref()?.get(name).ok()?)
    }
}

impl Secrets for OperatorSecrets {
    fn get(&self, kind: HoleKind, name: &str) -> Option<String> {
        if kind == HoleKind::Env {
            return self.env.get(kind, name);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(name.to_owned()).or_insert_with(|| self.find(name)).clone()
    }
}

/// The rule of a secret that no source has.
pub const MISSING: &str = "missing-secret";

/// Rule name and what it says.
pub const RULES: &[(&str, &str)] = &[(MISSING, "the run reads a secret that is not set")];

/// The secrets that a run can read and that nobody has, each at the first place that reads it.
pub fn missing(program: &Program, secrets: &dyn Secrets) -> Vec<Diagnostic> {
    let mut asked: Vec<Arc<str>> = Vec::new();
    let mut found = Vec::new();
    for (_, id) in walk::reachable(program, program.entry) {
        let Some(step) = program.step(id) else { continue };
        for (kind, name, at) in walk::holes_of(step) {
            if kind != HoleKind::Secret || asked.contains(&name) {
                continue;
            }
            if secrets.get(kind, &name).is_none() {
                let help =
                    format!("set it with `trefoil secrets set {name}`, or in the environment as `{}`", variable(&name));
                found.push(Diagnostic::error(MISSING, at, format!("the secret `{name}` is not set")).help(help));
            }
            asked.push(name);
        }
    }
    found
}

/// The variable of a secret.
pub fn variable(name: &str) -> String {
    format!("TREFOIL_SECRET_{}", name.to_ascii_uppercase().replace('-', "_"))
}

#[allow(clippy::disallowed_methods, reason = "this is where secrets come from")]
fn of_environment(name: &str) -> Option<String> {
    std::env::var(variable(name)).ok().filter(|value| !value.is_empty())
}

#[allow(clippy::disallowed_methods, reason = "this is where secrets come from")]
fn folders() -> Vec<PathBuf> {
    ["TREFOIL_SECRETS_DIR", "CREDENTIALS_DIRECTORY"].iter().filter_map(std::env::var_os).map(PathBuf::from).collect()
}

/// A file's text without the line break at its end.
fn of_folder(folder: &Path, name: &str) -> Option<String> {
    let bytes = door::named(&folder.join(name), LARGEST).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let text = text.strip_suffix('\n').unwrap_or(&text);
    Some(text.strip_suffix('\r').unwrap_or(text).to_owned()).filter(|text| !text.is_empty())
}
