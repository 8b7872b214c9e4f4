//! Properties of the facts of every manifest, tested with our own examples and the collected ones.

use std::path::{Path, PathBuf};

use trefoil_front::aegis::AegisFrontEnd;
use trefoil_front::agntz::AgntzFrontEnd;
use trefoil_front::sirenspec::SirenSpecFrontEnd;
use trefoil_front::{DialectDetection, FrontEnd, detect_dialect};

use trefoil_syntax::{FileId, SourceFile, yaml};

use super::support::learn_as;

/// The manifests of one dialect in a folder, by path.
fn manifests(front: &'static dyn FrontEnd, root: &Path, dir: &Path, files: &mut Vec<(String, String)>) {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            manifests(front, root, &path, files);
        } else if path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
            let text = std::fs::read_to_string(&path).unwrap();
            let parsed = yaml::parse(FileId(0), &SourceFile::new("", text.as_str()), &yaml::YamlLimits::default());
            let Some(root_node) = parsed.root.filter(|_| parsed.diagnostics.is_empty()) else { continue };
            if matches!(detect_dialect(&root_node), DialectDetection::One(f) if f.name() == front.name()) {
                files.push((path.strip_prefix(root).unwrap().to_string_lossy().into_owned(), text));
            }
        }
    }
}

fn folder(front: &'static dyn FrontEnd, dir: &Path) -> usize {
    let mut files = Vec::new();
    manifests(front, dir, dir, &mut files);
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
    for (front, name) in [
        (&AgntzFrontEnd as &'static dyn FrontEnd, "agntz"),
        (&AegisFrontEnd, "aegis"),
        (&SirenSpecFrontEnd, "sirenspec"),
    ] {
        assert!(folder(front, &examples.join(name)) > 20, "{name} has templates");
    }
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn the_same_holds_of_manifests_of_others() {
        let Some(corpus) = untested::shared_folder("corpus") else { return };
        for front in [&AgntzFrontEnd as &'static dyn FrontEnd, &AegisFrontEnd, &SirenSpecFrontEnd] {
            assert!(folder(front, &corpus) > 20, "{} has templates", front.name());
        }
    }
}
