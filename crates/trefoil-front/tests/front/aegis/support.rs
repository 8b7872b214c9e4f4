//! Manifests in, findings and IR out.

use trefoil_front::aegis::Aegis;
use trefoil_front::project::resolve_path;
use trefoil_front::{Document, Findings, FrontEnd, Lowered, Project};
use trefoil_syntax::{Diagnostics, Files, Severity, SourceFile, yaml};

/// A folder, loaded, with one of its files lowered.
pub struct Folder {
    pub project: Project,
    pub diagnostics: Diagnostics,
    pub lowered: Option<Lowered>,
}

/// Loads a folder and lowers its first file. Files that are not YAML are attachments.
pub fn load(files: &[(&str, &str)]) -> Folder {
    load_with(files, |_| {})
}

/// The same, with something done to the project before it is lowered.
pub fn load_with(files: &[(&str, &str)], change: impl FnOnce(&mut Project)) -> Folder {
    let mut project = Project::default();
    let mut found = Findings::default();
    for (name, text) in files.iter().filter(|(name, _)| name.ends_with(".yaml")) {
        let file = SourceFile::new(*name, *text);
        let id = project.files.add(file.clone());
        let parsed = yaml::parse(id, &file, &yaml::Limits::default());
        found.diagnostics.extend(parsed.diagnostics);
        if let Some(root) = parsed.root {
            project.documents.push(Document { file: id, path: (*name).to_owned(), root, front: &Aegis });
        }
    }
    for document in project.documents.clone() {
        for need in Aegis.needs(&document) {
            let path = resolve_path(&document.path, &need.path);
            if let Some((_, text)) = files.iter().find(|(name, _)| *name == path) {
                project.attachments.insert(path, (*text).to_owned());
            }
        }
    }
    change(&mut project);
    let usable = !found.diagnostics.has_errors() && !project.documents.is_empty();
    let lowered = if usable { Aegis.lower(&project, 0, &mut found) } else { None };
    Folder { project, diagnostics: found.diagnostics, lowered }
}

/// The findings, one a line: `error 3:5 rule: message (help)`.
pub fn findings(files: &[(&str, &str)]) -> String {
    let folder = load(files);
    assert_eq!(
        folder.lowered.is_none(),
        folder.diagnostics.has_errors(),
        "a program comes back exactly when there is no error"
    );
    show(&folder.project.files, folder.diagnostics, files.len() > 1)
}

pub fn show(files: &Files, diagnostics: Diagnostics, names: bool) -> String {
    let mut lines = Vec::new();
    for d in diagnostics.into_sorted() {
        let severity = match d.severity {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let file = d.file.and_then(|f| files.get(f)).unwrap();
        let at = file.position(d.span.unwrap().start);
        let name = if names { format!("{} ", file.name()) } else { String::new() };
        let help = d.help.map(|h| format!(" ({h})")).unwrap_or_default();
        lines.push(format!("{severity} {name}{}:{} {}: {}{help}", at.line, at.column, d.rule, d.message));
    }
    lines.join("\n")
}

/// Asserts the findings against lines; white space around them is free.
#[track_caller]
pub fn expect(files: &[(&str, &str)], expected: &str) {
    let expected: Vec<_> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let found = findings(files);
    let found: Vec<_> = found.lines().collect();
    assert_eq!(found, expected, "\n{}", found.join("\n"));
}

/// Asserts the findings of one manifest.
#[track_caller]
pub fn expect_one(manifest: &str, expected: &str) {
    expect(&[("manifest.yaml", manifest)], expected);
}

/// The text form of a program.
pub fn ir(folder: &Folder) -> String {
    let Some(lowered) = &folder.lowered else {
        panic!("no program:\n{}", show(&folder.project.files, folder.diagnostics.clone(), true))
    };
    trefoil_ir::print::print(&lowered.program, &folder.project.files)
}
