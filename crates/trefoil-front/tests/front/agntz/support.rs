//! Manifests in, findings and IR out.

use trefoil_front::agntz::Agntz;
use trefoil_front::{Document, Findings, FrontEnd, Lowered, Project};
use trefoil_syntax::{Diagnostics, Files, Severity, SourceFile, yaml};

/// A folder of manifests, loaded.
pub struct Folder {
    pub project: Project,
    pub diagnostics: Diagnostics,
    /// The first document, lowered.
    pub lowered: Option<Lowered>,
}

/// Loads a folder and lowers its first file.
pub fn load(manifests: &[(&str, &str)]) -> Folder {
    load_as(manifests, 0)
}

/// Loads a folder and lowers one of its files.
pub fn load_as(manifests: &[(&str, &str)], entry: usize) -> Folder {
    let mut project = Project::default();
    let mut found = Findings::default();
    for (name, text) in manifests {
        let file = SourceFile::new(*name, *text);
        let id = project.files.add(file.clone());
        let parsed = yaml::parse(id, &file, &yaml::Limits::default());
        found.diagnostics.extend(parsed.diagnostics);
        if let Some(root) = parsed.root {
            project.documents.push(Document { file: id, path: (*name).to_owned(), root, front: &Agntz });
        }
    }
    let broken = found.diagnostics.has_errors();
    let lowered = (!broken && !project.documents.is_empty()).then(|| Agntz.lower(&project, entry, &mut found));
    let lowered = lowered.flatten();
    if let Some(lowered) = &lowered {
        assert_eq!(trefoil_ir::validate::validate(&lowered.program), Vec::<String>::new());
    }
    Folder { project, diagnostics: found.diagnostics, lowered }
}

/// The findings, one a line: `error 3:5 rule: message (help) [label]`.
pub fn findings(manifests: &[(&str, &str)]) -> String {
    let folder = load(manifests);
    assert_eq!(
        folder.lowered.is_none(),
        folder.diagnostics.has_errors(),
        "a program comes back exactly when there is no error"
    );
    let several = manifests.len() > 1;
    show(&folder.project.files, folder.diagnostics, several)
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
        // advice on templates is the template crate's own
        let own = !d.rule.starts_with("template-") && !d.rule.starts_with("condition-");
        let help = d.help.filter(|_| own).map(|h| format!(" ({h})")).unwrap_or_default();
        let mut line = format!("{severity} {name}{}:{} {}: {}{help}", at.line, at.column, d.rule, d.message);
        for label in d.labels {
            let file = files.get(label.location.file).unwrap();
            let at = file.position(label.location.span.start);
            let name = if names { format!("{} ", file.name()) } else { String::new() };
            line.push_str(&format!(" [{name}{}:{} {}]", at.line, at.column, label.message));
        }
        lines.push(line);
    }
    lines.join("\n")
}

/// Asserts the findings of one manifest (or the first of several) against lines; white space around them is free.
#[track_caller]
pub fn expect(manifests: &[(&str, &str)], expected: &str) {
    let expected: Vec<_> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let found = findings(manifests);
    let found: Vec<_> = found.lines().collect();
    assert_eq!(found, expected, "\n{}", found.join("\n"));
}

/// The source with line numbers, then the findings and, where there is a program, its text: what snapshots show.
pub fn story(manifests: &[(&str, &str)]) -> String {
    let folder = load(manifests);
    let mut out = String::new();
    for (name, text) in manifests {
        out.push_str(&format!("--- {name}\n"));
        for (i, line) in text.lines().enumerate() {
            out.push_str(format!("{:>3} {line}", i + 1).trim_end());
            out.push('\n');
        }
    }
    out.push_str("--- findings\n");
    let found = show(&folder.project.files, folder.diagnostics, manifests.len() > 1);
    out.push_str(if found.is_empty() { "none" } else { &found });
    out.push('\n');
    if let Some(lowered) = &folder.lowered {
        out.push_str("--- program\n");
        out.push_str(&trefoil_ir::print::print(&lowered.program, &folder.project.files));
    }
    out
}
