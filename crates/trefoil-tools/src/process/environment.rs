//! The environment of a child process (a tool, an MCP server, an interpreter, a command): what every program needs, and
//! the operator's list.

use std::ffi::OsString;
use std::sync::Arc;

use trefoil_ir::credential::is_credential;
use trefoil_runtime::ToolError;
use trefoil_runtime::ports::Secrets;
use trefoil_template::{Hole, HoleKind, Value};

/// Variables that every program gets; none of them contains credentials. A list of what is secret could never be complete,
/// because everybody chooses names.
const USUAL: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "CI",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    // Where tool chains and certificates are.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "PYTHONPATH",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    // Windows cannot start programs without these.
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "USERPROFILE",
    "USERNAME",
];

/// The environment of a process.
#[derive(Debug, Clone, Default)]
pub struct ProcessEnvironment {
    /// Variables that are passed on.
    pub pass: Vec<String>,
    /// Variables with values, which may have holes for secrets.
    pub set: Vec<(String, Value)>,
}

impl ProcessEnvironment {
    /// The variables that are passed on from this process.
    #[allow(clippy::disallowed_methods, reason = "this is what decides what of the environment is passed on")]
    pub fn inherited_variables(&self) -> Vec<(OsString, OsString)> {
        let usual = |name: &str| USUAL.contains(&name.to_ascii_uppercase().as_str()) || name.starts_with("LC_");
        let passes = |name: &str| usual(name) || self.pass.iter().any(|pass| pass == name);
        std::env::vars_os().filter(|(name, _)| matches!(name.to_str(), Some(name) if passes(name))).collect()
    }

    /// Computes the variables for a process.
    pub fn resolve_variables(&self, secrets: &dyn Secrets) -> Result<Vec<(OsString, OsString)>, ToolError> {
        let mut all = self.inherited_variables();
        for (name, text) in &self.set {
            all.push((name.into(), fill_holes(text, secrets)?.into()));
        }
        Ok(all)
    }

    /// The environment values and secrets that it uses.
    pub fn list_holes(&self) -> Vec<(HoleKind, Arc<str>)> {
        let mut holes = Vec::new();
        for name in &self.pass {
            holes.push((HoleKind::Env, Arc::from(name.as_str())));
        }
        holes.extend(self.required_holes());
        holes
    }

    /// The environment variables among them that are passed on under the name of a credential.
    pub fn credential_variables(&self) -> Vec<Arc<str>> {
        let mut holes = Vec::new();
        for (name, text) in &self.set {
            if is_credential(name) {
                holes.extend(holes_in_text(text));
            }
        }
        environment_names(holes.into_iter())
    }

    /// Those without which no process is started. A variable that is only passed on may be unset.
    pub fn required_holes(&self) -> Vec<(HoleKind, Arc<str>)> {
        self.set.iter().flat_map(|(_, text)| holes_in_text(text)).collect()
    }
}

/// The names of the environment variables among holes.
pub fn environment_names(holes: impl Iterator<Item = (HoleKind, Arc<str>)>) -> Vec<Arc<str>> {
    let mut names = Vec::new();
    for (kind, name) in holes {
        if kind == HoleKind::Env {
            names.push(name);
        }
    }
    names
}

/// The holes in a text.
pub fn holes_in_text(text: &Value) -> Vec<(HoleKind, Arc<str>)> {
    let mut found = Vec::new();
    let _ = text.replace_holes(&mut |hole: &Hole| -> Result<_, std::convert::Infallible> {
        found.push((hole.kind, hole.name.clone()));
        Ok(None)
    });
    found
}

/// Fills in the holes of a text.
pub fn fill_holes(text: &Value, secrets: &dyn Secrets) -> Result<String, ToolError> {
    let filled = text.fill_holes(&mut |hole: &Hole| match secrets.get(hole.kind, &hole.name) {
        Some(value) => Ok(Some(value.expose_value().to_owned())),
        None => {
            let help = match hole.kind {
                HoleKind::Secret => "set it with `trefoil secrets set NAME`, or as the variable `TREFOIL_SECRET_NAME`",
                HoleKind::Env => "set the variable in the environment",
            };
            Err(ToolError::with_advice(format!("`{}.{}` is not set", hole.kind.template_namespace(), hole.name), help))
        }
    })?;
    Ok(filled.to_text().to_string())
}
