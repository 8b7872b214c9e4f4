//! Real manifests, each by itself: those that the original system runs have no errors; broken ones have an error at the
//! right line.

use std::path::PathBuf;

use trefoil_syntax::FindingSeverity;

use super::support::{load, show};

fn corpus() -> Option<PathBuf> {
    untested::shared_folder("corpus/aegis")
}

/// The files with errors, and the lines of the errors.
const BROKEN: &[(&str, &[u32])] = &[
    // No `task`; the format has no `spec.prompt`.
    ("docs-agent-guides-configuring-security-contexts-1-my-research-agent.yaml", &[5]),
    // Arithmetic in a template.
    ("docs-wf-reference-workflow-manifest-1-dev-pipeline.yaml", &[134]),
    // `target: ~`, which used to mean the end.
    ("hist-orchestrator-examples-workflows-100monkeys-classic.yaml", &[92, 95]),
    // The same, and a template instead of the list of agents.
    ("hist-orchestrator-examples-workflows-the-forge.yaml", &[110, 138, 150, 207]),
];

#[test]
fn every_manifest_loads_or_is_reported_where_it_is_broken() {
    let Some(dir) = corpus() else { return };
    let mut names: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().path()).collect();
    names.retain(|p| p.extension().is_some_and(|e| e == "yaml"));
    names.sort();
    assert!(names.len() > 40, "the corpus is there");
    for path in names {
        let name = path.file_name().unwrap().to_str().unwrap();
        // Pieces of documentation without a header are not manifests of any format.
        if name.starts_with("docs-frag-") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let folder = load(&[(name, &text)]);
        let file = folder.project.files.iter().next().unwrap().1.clone();
        let errors: Vec<u32> = folder
            .diagnostics
            .iter()
            .filter(|d| d.severity == FindingSeverity::Error)
            .map(|d| file.line_column(d.span.unwrap().start).line)
            .collect();
        let expected = BROKEN.iter().find(|(broken, _)| *broken == name).map_or(&[][..], |(_, lines)| lines);
        assert_eq!(errors, expected, "{name}\n{}", show(&folder.project.files, folder.diagnostics, false));
    }
}
