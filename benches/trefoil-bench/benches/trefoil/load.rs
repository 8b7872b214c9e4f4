//! Parsing and loading manifests of 10, 100 and 1,000 steps.

use std::hint::black_box;

use trefoil_front::{CompileFindings, DialectDetection, ManifestDocument, Project, detect_dialect};
use trefoil_syntax::yaml::{self, YamlLimits};
use trefoil_syntax::{FileId, SourceFile};

use super::manifests::{aegis, agntz, sirenspec};
use super::{long, short};
use crate::race::{Race, Standing};

pub fn races(out: &mut Vec<Standing>) {
    for steps in [10, 100, 1000] {
        for (dialect, text) in [("agntz", agntz(steps)), ("aegis", aegis(steps)), ("sirenspec", sirenspec(steps))] {
            out.push(load(dialect, steps, &text));
        }
    }
    let text = agntz(1000);
    let json = json_of_same_size(text.len());
    out.push(short(
        Race::new(format!("YAML tree of {} KB", text.len() / 1024), "parse", 1)
            .lane("trefoil", || parse(black_box(&text)))
            .lane("serde_json, as much JSON", || {
                serde_json::from_str::<serde_json::Value>(black_box(&json)).expect("parses")
            }),
    ));
}

fn load(dialect: &str, steps: usize, text: &str) -> Standing {
    let mut race = Race::new(format!("load {dialect}, {steps} steps ({} KB)", text.len() / 1024), "file", 1);
    if steps == 1000 {
        race = race.goal("<= 30 ms");
    }
    long(race.lane("parse and lower", || lower(black_box(text))).lane("of that: parse", || parse(black_box(text))))
}

fn parse(text: &str) -> yaml::YamlDocument {
    yaml::parse(FileId(0), &SourceFile::new("bench.yaml", text), &YamlLimits::default())
}

/// All stages of loading a single file.
fn lower(text: &str) -> usize {
    let mut project = Project::default();
    let file = project.files.add_file(SourceFile::new("bench.yaml", text));
    let source = project.files.get(file).expect("was added");
    let root = yaml::parse(file, source, &YamlLimits::default()).root.expect("parses");
    let DialectDetection::One(front) = detect_dialect(&root) else { panic!("one dialect") };
    project.documents.push(ManifestDocument { file, path: "bench.yaml".to_owned(), root, front, project: 0 });
    let mut found = CompileFindings::default();
    let lowered = trefoil_lint::lower_document(front, &project, 0, &mut found);
    assert!(lowered.is_some(), "{:?}", found.diagnostics.iter().next());
    lowered.map_or(0, |l| l.program.steps.len())
}

fn json_of_same_size(bytes: usize) -> String {
    let item = r#"{"id": "step", "kind": "llm", "instruction": "You are a step. Keep to the draft."}"#;
    let items = vec![item; bytes / item.len() + 1];
    format!("[{}]", items.join(","))
}
