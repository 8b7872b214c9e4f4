//! Replaces a file by its new text, as a whole or not at all, and only if it has not changed since the check.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::Change;
use crate::door;

/// Replaces a file by its new text, if it has not changed since it was read.
pub(super) fn replace(path: &Path, change: &Change) -> Result<(), String> {
    let now = door::named(path, change.before.len() as u64).map_err(|why| why.reason());
    if now.ok().as_deref() != Some(change.before.as_bytes()) {
        return Err("it was changed during the check".to_owned());
    }
    let beside = beside(path);
    let done = write(path, &beside, &change.after);
    if done.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    done.map_err(|e| door::reason(&e))
}

/// A temporary file name in the same folder, because renaming only works within a file system.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn write(path: &Path, beside: &Path, text: &str) -> std::io::Result<()> {
    let permissions = std::fs::metadata(path)?.permissions();
    if permissions.readonly() {
        return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    let mut file = std::fs::File::options().write(true).create_new(true).open(beside)?;
    file.write_all(text.as_bytes())?;
    file.set_permissions(permissions)?;
    file.sync_all()?;
    drop(file);
    std::fs::rename(beside, path)
}
