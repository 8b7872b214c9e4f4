//! Our own examples: every one loads without error or warning.

use std::path::{Path, PathBuf};

use trefoil_syntax::Severity;

use super::support::{load, show};

pub fn files(dir: &Path, prefix: &str, out: &mut Vec<(String, String)>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = format!("{prefix}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            files(&path, &format!("{name}/"), out);
        } else {
            out.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn every_example_loads_without_error_or_warning() {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/aegis");
    let mut all = Vec::new();
    files(&dir, "", &mut all);
    let all: Vec<(&str, &str)> = all.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    let manifests: Vec<usize> = (0..all.len()).filter(|i| all[*i].0.ends_with(".yaml")).collect();
    assert!(manifests.len() > 10, "the examples were found");
    for entry in manifests {
        let mut ordered = all.clone();
        ordered.swap(0, entry);
        let folder = load(&ordered);
        let bad = folder.diagnostics.iter().any(|d| d.severity > Severity::Info);
        assert!(!bad, "{}:\n{}", ordered[0].0, show(&folder.project.files, folder.diagnostics, true));
        assert!(folder.lowered.is_some(), "{} has a program", ordered[0].0);
    }
}
