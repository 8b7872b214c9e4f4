//! The user's own folders.

use std::path::PathBuf;

use etcetera::BaseStrategy as _;

/// The user's configuration folder: `TREFOIL_CONFIG_DIR`, otherwise `trefoil` in the platform's folder
/// (`$XDG_CONFIG_HOME` or `~/.config`; `%APPDATA%` on Windows). `None`: there is no home folder.
pub fn config_folder() -> Option<PathBuf> {
    match std::env::var_os("TREFOIL_CONFIG_DIR").filter(|dir| !dir.is_empty()) {
        Some(dir) => Some(dir.into()),
        None => Some(etcetera::choose_base_strategy().ok()?.config_dir().join("trefoil")),
    }
}
