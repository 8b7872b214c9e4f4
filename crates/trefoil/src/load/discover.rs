//! Finding the manifests of a folder (decision C10).

use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Folders within folders.
const DEPTH: usize = 32;
/// Entries looked at.
const ENTRIES: usize = 100_000;

/// What a folder holds.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// YAML files with their path relative to the folder, `/`-separated; in the order of those paths.
    pub files: Vec<(String, PathBuf)>,
    /// What could not be looked at, and why.
    pub problems: Vec<(PathBuf, String)>,
    /// There was more than the limits allow; the rest was not looked at.
    pub cut: bool,
}

impl Found {
    /// Adds the YAML files below `root` that are only in an editor yet; `overlay` has the paths of its buffers.
    pub fn with_unsaved<'p>(&mut self, root: &Path, overlay: impl Iterator<Item = &'p PathBuf>) {
        let mut real = None;
        for path in overlay {
            let real: &PathBuf =
                real.get_or_insert_with(|| readable(root).canonicalize().unwrap_or_else(|_| root.to_owned()));
            let Ok(relative) = path.strip_prefix(real) else { continue };
            let names: Option<Vec<&str>> = relative.iter().map(|n| n.to_str()).collect();
            let Some((name, folders)) = names.as_deref().and_then(<[&str]>::split_last) else { continue };
            let unseen = |n: &&str| n.starts_with('.') || *n == "node_modules" || *n == "target";
            if is_yaml(name) && !folders.iter().any(unseen) && !path.exists() {
                let relative = [folders, &[*name]].concat().join("/");
                self.files.push((relative.clone(), root.join(relative)));
            }
        }
        self.files.sort();
    }
}

/// Every `.yaml` and `.yml` file below `root`, without those in dot-folders, `node_modules` and `target`. Links are
/// followed, each folder once.
pub(super) fn manifests(root: &Path) -> Found {
    let mut found = Found::default();
    let mut seen = HashSet::new();
    let mut left = ENTRIES;
    let mut stack = vec![(root.to_owned(), String::new(), 0)];
    while let Some((dir, prefix, depth)) = stack.pop() {
        if depth > DEPTH {
            found.cut = true;
            continue;
        }
        if !readable(&dir).canonicalize().is_ok_and(|real| seen.insert(real)) && depth > 0 {
            continue;
        }
        let entries = match std::fs::read_dir(readable(&dir)) {
            Ok(entries) => entries,
            Err(error) => {
                found.problems.push((dir, super::read::reason(&error)));
                continue;
            }
        };
        for entry in entries.flatten() {
            if left == 0 {
                found.cut = true;
                break;
            }
            left -= 1;
            let name = match entry.file_name().into_string() {
                Ok(name) => name,
                Err(name) => {
                    if is_yaml(&name.to_string_lossy()) || entry.path().is_dir() {
                        found.problems.push((dir.join(name), "its name is not UTF-8 text".to_owned()));
                    }
                    continue;
                }
            };
            // Joined here and not taken from the entry, so that names stay as they were given.
            let path = dir.join(&name);
            // `metadata` follows links.
            let meta = match std::fs::metadata(&path) {
                Ok(meta) => meta,
                Err(error) => {
                    // The lock of an editor leads nowhere and means nothing.
                    if is_yaml(&name) && !name.starts_with(".#") {
                        found.problems.push((path, super::read::reason(&error)));
                    }
                    continue;
                }
            };
            if meta.is_dir() {
                if !name.starts_with('.') && name != "node_modules" && name != "target" {
                    stack.push((path, format!("{prefix}{name}/"), depth + 1));
                }
            } else if meta.is_file() && is_yaml(&name) {
                found.files.push((format!("{prefix}{name}"), path));
            }
        }
    }
    found.files.sort();
    found
}

/// The folder as the system wants it: the empty path is the current folder.
pub(super) fn readable(dir: &Path) -> &Path {
    if dir.as_os_str().is_empty() { Path::new(".") } else { dir }
}

fn is_yaml(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|e| e.to_str()).unwrap_or_default();
    extension.eq_ignore_ascii_case("yaml") || extension.eq_ignore_ascii_case("yml")
}
