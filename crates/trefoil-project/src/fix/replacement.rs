//! Replaces a file by its new text, as a whole or not at all, and only if it has not changed since the check.

use std::path::Path;

use super::FileChange;
use crate::file_access;
use crate::private_files;

/// Replaces a file by its new text, if it has not changed since it was read.
pub(super) fn replace_file(path: &Path, change: &FileChange) -> Result<(), String> {
    let now = file_access::read_named_file(path, change.before.len() as u64);
    if now.ok().as_deref() != Some(change.before.as_bytes()) {
        return Err("it was changed during the check".to_owned());
    }
    write(path, &change.after).map_err(|e| file_access::io_error_reason(&e))
}

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let permissions = std::fs::metadata(path)?.permissions();
    if permissions.readonly() {
        return Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, "it is read-only"));
    }
    private_files::write_whole(path, text.as_bytes(), Some(permissions))
}
