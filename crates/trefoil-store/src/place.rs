//! Where the store of a user is.

use std::ffi::OsString;
use std::path::PathBuf;

use etcetera::BaseStrategy as _;

use crate::error::{Result, StoreError};

/// The environment variable that names another store.
pub const VARIABLE: &str = "TREFOIL_STORE";

/// What `TREFOIL_STORE` names, or `trefoil/runs.db` in the platform's folder for data: `$XDG_DATA_HOME` or `~/.local/share`,
/// on Windows `%APPDATA%`. `env` reads a variable of the environment.
pub fn default_path(env: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    match env(VARIABLE) {
        Some(path) if !path.is_empty() => Ok(path.into()),
        _ => {
            let folders = etcetera::choose_base_strategy().map_err(|_| StoreError::NoHome)?;
            Ok(folders.data_dir().join("trefoil").join("runs.db"))
        }
    }
}
