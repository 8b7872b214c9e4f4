//! Paths without `.` and `..`.

use std::path::{Component, Path, PathBuf};

/// A path without `.` and `..`, resolved as text only.
pub fn clean_path(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                // The root's parent is the root.
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
