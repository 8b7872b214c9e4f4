//! Real workflows: everything is understood, and what is reported is true.

use std::path::PathBuf;

use super::support::findings;

#[test]
fn dump() {
    let dir = std::env::var_os("TREFOIL_SHARED").map(PathBuf::from).unwrap().join("corpus/sirenspec");
    let mut names: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    for p in names {
        let t = std::fs::read_to_string(&p).unwrap();
        eprintln!("=== {}", p.file_name().unwrap().to_string_lossy());
        eprintln!("{}", findings(&[("a.yaml", &t)]));
    }
}
