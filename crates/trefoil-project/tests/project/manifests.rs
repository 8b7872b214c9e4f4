//! The manifests used by tests: the examples, and the shared corpus if it is available.

use std::path::{Path, PathBuf};

/// The workspace root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every manifest of a dialect in the examples and in the corpus.
pub fn manifests(dialect: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    collect(&root().join("examples").join(dialect), &mut files);
    if let Some(corpus) = untested::shared_folder(&format!("corpus/{dialect}")) {
        collect(&corpus, &mut files);
    }
    assert!(!files.is_empty());
    files.sort();
    files
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "yaml") {
            files.push(path);
        }
    }
}
