//! Real workflows, each with exactly the expected findings.

use super::support::findings;

/// The findings of each file, by line and rule. Files that are not listed must have none.
const FOUND: &[(&str, &[&str])] = &[
    // The file that it calls is missing.
    ("_all-node-types", &["error 26 unknown-reference"]),
    ("content-moderation-pipeline", &["error 17 unknown-reference"]),
    ("codex-mini", &["warning 28 no-effect", "warning 80 unknown-key"]),
    ("persistent-memory-run2", &["warning 3 no-effect", "error 15 unresolved-name"]),
];

#[test]
fn every_file_of_the_corpus() {
    let Some(dir) = untested::shared_folder("corpus/sirenspec") else { return };
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let found = findings(&[("flow.yaml", &std::fs::read_to_string(&path).unwrap())]);
        let short: Vec<String> = found
            .lines()
            .map(|line| {
                let (severity, rest) = line.split_once(' ').unwrap();
                let (place, rest) = rest.split_once(' ').unwrap();
                let (rule, _) = rest.split_once(':').unwrap();
                format!("{severity} {} {rule}", place.split(':').next().unwrap())
            })
            .collect();
        let expected = FOUND.iter().find(|(file, _)| *file == name).map_or(&[][..], |(_, found)| found);
        assert_eq!(short, expected, "{name}\n{found}");
    }
}
