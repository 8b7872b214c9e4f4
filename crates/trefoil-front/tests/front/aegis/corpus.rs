//! Real manifests, each alone: what the original runs has no error, what is broken has one at the right line.

use std::path::PathBuf;

use super::support::{load, show};

fn corpus() -> Option<PathBuf> {
    let shared = std::env::var_os("TREFOIL_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared"));
    let dir = shared.join("corpus/aegis");
    if !dir.is_dir() {
        eprintln!("skipped: no corpus at {}", dir.display());
        return None;
    }
    Some(dir)
}

#[test]
fn every_manifest_loads_or_is_reported_where_it_is_broken() {
    let Some(dir) = corpus() else { return };
    let mut names: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    for path in names.iter().filter(|p| p.extension().is_some_and(|e| e == "yaml")) {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let folder = load(&[(name, &text)]);
        println!("== {name} {}", folder.lowered.is_some());
        println!("{}", show(&folder.project.files, folder.diagnostics, false));
    }
}
