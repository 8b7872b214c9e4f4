//! The examples load without an error or a warning.

use std::path::Path;

use trefoil_front::sirenspec::SirenSpecFrontEnd;
use trefoil_front::{CompileFindings, FrontEnd, ManifestDocument, NeededFileKind, Project, project};
use trefoil_syntax::{DiagnosticList, FindingSeverity, SourceFile, yaml};

use super::support::show;

fn read(dir: &Path, below: &str, project: &mut Project, diagnostics: &mut DiagnosticList) {
    let mut entries: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        let name = format!("{below}{}", path.file_name().unwrap().to_string_lossy());
        if path.is_dir() {
            read(&path, &format!("{name}/"), project, diagnostics);
        } else if name.ends_with(".yaml") {
            let file = SourceFile::new(name.as_str(), std::fs::read_to_string(&path).unwrap());
            let id = project.files.add_file(file.clone());
            let parsed = yaml::parse(id, &file, &yaml::YamlLimits::default());
            diagnostics.extend(parsed.diagnostics);
            project.documents.push(ManifestDocument {
                file: id,
                path: name,
                root: parsed.root.unwrap(),
                front: &SirenSpecFrontEnd,
                project: 0,
            });
        }
    }
}

#[test]
fn every_example_is_clean() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sirenspec");
    let mut project = Project::default();
    let mut diagnostics = DiagnosticList::default();
    read(&dir, "", &mut project, &mut diagnostics);
    assert!(project.documents.len() > 8);
    for at in 0..project.documents.len() {
        let document = &project.documents[at];
        for need in SirenSpecFrontEnd.needed_files(document).iter().filter(|n| n.kind == NeededFileKind::Manifest) {
            let path = project::resolve_path(&document.path, &need.path);
            assert!(project.documents.iter().any(|d| d.path == path), "{path}");
        }
        let mut found = CompileFindings::default();
        let lowered = trefoil_lint::lower_document(&SirenSpecFrontEnd, &project, at, &mut found);
        diagnostics.extend(found.diagnostics.iter().cloned());
        assert!(lowered.is_some(), "{}", document.path);
    }
    let loud = diagnostics.iter().filter(|d| d.severity > FindingSeverity::Info).count();
    assert_eq!(loud, 0, "{}", show(&project.files, diagnostics, true));
}
