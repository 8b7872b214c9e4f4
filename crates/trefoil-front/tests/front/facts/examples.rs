//! What must hold of the facts of every manifest, over our own examples and the collected ones.

use std::path::{Path, PathBuf};

use trefoil_front::FrontEnd;
use trefoil_front::aegis::Aegis;
use trefoil_front::agntz::Agntz;
use trefoil_front::sirenspec::SirenSpec;

use super::support::learn_as;

fn folder(front: &'static dyn FrontEnd, dir: &Path) -> usize {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let mut files = Vec::new();
    for path in paths.iter().filter(|p| p.extension().is_some_and(|e| e == "yaml" || e == "yml")) {
        files.push((path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap()));
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
    let mut scopes = 0;
    for entry in 0..files.len() {
        let learned = learn_as(front, &files, entry);
        learned.check();
        scopes += learned.facts.scopes.len();
    }
    scopes
}

#[test]
fn a_mention_is_the_name_of_what_it_names() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (front, name) in [(&Agntz as &'static dyn FrontEnd, "agntz"), (&Aegis, "aegis"), (&SirenSpec, "sirenspec")] {
        assert!(folder(front, &examples.join(name)) > 20, "{name} has templates");
    }
}
