//! Our own examples: each loads without errors or warnings.

use std::path::{Path, PathBuf};

use trefoil_syntax::FindingSeverity;

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
        let bad = folder.diagnostics.iter().any(|d| d.severity > FindingSeverity::Info);
        assert!(!bad, "{}:\n{}", ordered[0].0, show(&folder.project.files, folder.diagnostics, true));
        assert!(folder.lowered.is_some(), "{} has a program", ordered[0].0);
    }
}

/// A line with its value replaced, if it has one.
fn with_value(line: &str, value: &str) -> Option<String> {
    let (key, _) = line.split_once(": ")?;
    Some(format!("{key}: {value}"))
}

/// What takes long: `.ci/hunt` runs it, the gate does not.
mod hunt {
    use super::*;

    #[test]
    fn a_mutilated_example_is_a_program_or_has_an_error() {
        let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/aegis");
        let mut all = Vec::new();
        files(&dir, "", &mut all);
        let mut tried = 0;
        for (entry, (_, text)) in all.iter().enumerate().filter(|(_, (name, _))| name.ends_with(".yaml")) {
            let lines: Vec<&str> = text.lines().collect();
            for (i, line) in lines.iter().enumerate() {
                // One of five changes for each line, with another one for the next line.
                let replacements = [
                    None,
                    with_value(line, "~"),
                    with_value(line, "[]"),
                    with_value(line, "{ x: [{}] }"),
                    with_value(line, "'{{x'"),
                ];
                for replacement in replacements.into_iter().skip(i % 5).take(1) {
                    let kept = lines.iter().enumerate().filter(|(j, _)| *j != i || replacement.is_some());
                    let text: Vec<&str> =
                        kept.map(|(j, l)| if j == i { replacement.as_deref().unwrap() } else { l }).collect();
                    let text = text.join("\n");
                    let mut ordered: Vec<(&str, &str)> = all.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
                    ordered[entry].1 = &text;
                    ordered.swap(0, entry);
                    let folder = load(&ordered);
                    let errors = folder.diagnostics.has_errors();
                    assert_eq!(folder.lowered.is_none(), errors, "{}:{}\n{text}", ordered[0].0, i + 1);
                    tried += 1;
                }
            }
        }
        assert!(tried > 300, "{tried}");
    }
}
