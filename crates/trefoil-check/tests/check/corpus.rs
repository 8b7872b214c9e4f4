//! Real manifests: no rule reports an error in one that loads.

use std::path::{Path, PathBuf};

use trefoil_check::RunCostLimits;
use trefoil_syntax::FindingSeverity;

use super::support::{Folder, ours, shown};

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|e| e.path()) {
        if path.is_dir() {
            files(&path, into);
        } else if path.extension().is_some_and(|e| e == "yaml" || e == "yml") {
            into.push(path);
        }
    }
}

/// Manifests that the original system also rejects, and the rule.
const REJECTED: [(&str, &str); 1] = [("test-validate-023.yaml", "unordered-read")];

/// Each manifest of a folder, together with the others in it.
fn each(root: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    files(root, &mut paths);
    paths.sort();
    let mut all = Vec::new();
    let mut folders: Vec<&Path> = paths.iter().filter_map(|p| p.parent()).collect();
    folders.sort();
    folders.dedup();
    for folder in folders {
        let near: Vec<(String, String)> = paths
            .iter()
            .filter_map(|p| Some((p.strip_prefix(folder).ok()?.to_string_lossy().into_owned(), p)))
            .map(|(name, path)| (name, std::fs::read_to_string(path).unwrap_or_default()))
            .collect();
        let named: Vec<(&str, &str)> = near.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
        let loaded = Folder::new(None, &named);
        for (name, _) in named.iter().filter(|(n, _)| !n.contains('/')) {
            let found = loaded.check(name, &RunCostLimits::default());
            let rejected = |rule: &str| REJECTED.contains(&(name, rule));
            let found: Vec<_> = found.iter().filter(|d| ours(d.rule) && !rejected(d.rule)).collect();
            let findings = shown(&loaded.project, found.iter().copied());
            let findings = format!("{}/{name}\n{findings}", folder.display());
            assert!(found.iter().all(|d| d.severity < FindingSeverity::Error), "{findings}");
            all.push(findings);
        }
    }
    all
}

#[test]
fn no_rule_puts_an_error_on_the_examples() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    println!("{}", each(&root).join("\n"));
}

#[test]
fn no_rule_puts_an_error_on_the_corpus() {
    let Some(root) = untested::shared_folder("corpus") else { return };
    println!("{}", each(&root).join("\n"));
}
