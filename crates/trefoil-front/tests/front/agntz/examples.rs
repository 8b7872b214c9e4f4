//! Our own examples load, and have the expected findings.

use super::support::{load_as, show};

pub fn folder() -> Vec<(String, String)> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/agntz");
    let mut files: Vec<_> = std::fs::read_dir(dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "yaml"))
        .map(|p| (p.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(&p).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn load_without_warnings() {
    let files = folder();
    let files: Vec<(&str, &str)> = files.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    let mut found = Vec::new();
    for i in 0..files.len() {
        let folder = load_as(&files, i);
        assert!(folder.lowered.is_some(), "{} makes a program", files[i].0);
        found.extend(show(&folder.project.files, folder.diagnostics, true).lines().map(str::to_owned));
    }
    found.sort();
    found.dedup();
    assert!(found.iter().all(|f| f.starts_with("info ")), "\n{}", found.join("\n"));
}
