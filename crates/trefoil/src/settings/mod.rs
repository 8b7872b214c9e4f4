//! What only the operator may say: models behind aliases, addresses of providers, folders that paths may lead into,
//! whether steps may run commands.
//!
//! It counts from the command line, the environment, the user's own `config.toml`, and a project's `trefoil.toml` once the
//! user has trusted it (`trefoil trust DIR`). Without trust a project file sets levels, exclusions and lower limits only
//! (`load/project.rs` reads those); what else it says is named and ignored, never followed.

mod read;
mod trust;

use std::path::{Path, PathBuf};

use trefoil_models::ModelOverride;
use trefoil_syntax::{Diagnostic, Files, SourceFile};

use crate::door;
use crate::load::project;

pub use read::TABLES;
pub use trust::{Standing, Trust, TrustError, config_folder};

/// The user's own file, in [`config_folder`].
pub const USER_FILE: &str = "config.toml";
/// The code of settings in a project file that nobody has trusted.
pub const UNTRUSTED: &str = "untrusted-project";
/// Bytes of a settings file.
const BYTES: u64 = 1 << 20;

/// What the operator's files say.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// `[models]`: the model for an alias, an agent or a step. What comes later wins.
    pub models: Vec<ModelOverride>,
    /// `[providers.NAME] base_url`: provider, address, and the file that says so.
    pub addresses: Vec<(String, String, String)>,
    /// `[paths] allow`: folders outside the project that paths in manifests may lead into.
    pub allowed: Vec<PathBuf>,
    /// `[run] allow-command`: whether steps may run commands.
    pub commands: bool,
}

/// What was found for a target.
#[derive(Default)]
pub struct Found {
    /// What counts.
    pub settings: Settings,
    /// Files named by the findings.
    pub files: Files,
    /// What is wrong in the files that count, and what is not trusted in the one that does not.
    pub findings: Vec<Diagnostic>,
}

/// The settings for a target: the user's, then the project's if it is trusted. `without_project`: the user's only.
pub fn find(target: &Path, without_project: bool) -> Found {
    let mut found = Found::default();
    let folder = config_folder();
    if let Some(path) = folder.as_ref().map(|folder| folder.join(USER_FILE)).filter(|path| door::is_there(path)) {
        found.take(&path, &path.display().to_string(), &Standing::Trusted);
    }
    if without_project {
        return found;
    }
    let start = if door::is_folder(target) { Some(target) } else { target.parent() };
    let Some(project) = start.and_then(door::folder_real).and_then(|folder| project::find(&folder)) else {
        return found;
    };
    let trust = Trust::open(folder);
    found.take(&project.path, &project.name, &trust.standing(&project.path));
    found
}

impl Found {
    fn take(&mut self, path: &Path, name: &str, standing: &Standing) {
        let bytes = match door::named(path, BYTES) {
            Ok(bytes) => bytes,
            // An unreadable project file is the checker's to report. The user's own is not looked at by anybody else.
            Err(why) => {
                let file = self.files.add(SourceFile::new(name, ""));
                self.findings.push(Diagnostic::nowhere(
                    project::RULE,
                    trefoil_syntax::Severity::Error,
                    Some(file),
                    format!("`{name}` cannot be read: {}", why.reason()),
                ));
                return;
            }
        };
        let source = SourceFile::from_bytes(name.to_owned(), bytes);
        let file = self.files.add(source.clone());
        let base = path.parent().unwrap_or(Path::new("")).to_owned();
        read::read(file, &source, &base, standing, self);
    }
}
