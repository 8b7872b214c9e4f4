//! Patterns of files to ignore, in the syntax of `.gitignore`.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The maximum number of ignore patterns, in all files of a folder and those above it.
pub const PATTERNS: usize = 5_000;

/// Patterns in the syntax of `.gitignore`; invalid ones are skipped.
pub fn ignore_patterns<'l>(folder: &Path, lines: impl Iterator<Item = &'l str>) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    for line in lines {
        let _ = builder.add_line(None, line);
    }
    match builder.build() {
        Ok(built) if !built.is_empty() => Some(built),
        _ => None,
    }
}
