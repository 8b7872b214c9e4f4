//! Manifests in, findings and IR out.

use trefoil_front::sirenspec::SirenSpec;
use trefoil_front::{Document, Findings, FrontEnd, Lowered, Project};
use trefoil_syntax::{Diagnostics, Files, Severity, SourceFile, yaml};

/// A folder of workflows; the first one lowered.
pub struct Folder {
    pub project: Project,
    pub diagnostics: Diagnostics,
    pub lowered: Option<Lowered>,
}

/// Loads a folder and lowers its first file.
pub fn load(manifests: &[(&str, &str)]) -> Folder {
    let mut project = Project::default();
    let mut found = Findings::default();
    for (name, text) in manifests {
        let file = SourceFile::new(*name, *text);
        let id = project.files.add(file.clone());
        let parsed = yaml::parse(id, &file, &yaml::Limits::default());
        found.diagnostics.extend(parsed.diagnostics);
        if let Some(root) = parsed.root {
            project.documents.push(Document { file: id, path: (*name).to_owned(), root, front: &SirenSpec });
        }
    }
    let sound = !found.diagnostics.has_errors() && !project.documents.is_empty();
    let lowered = if sound { SirenSpec.lower(&project, 0, &mut found) } else { None };
    assert_eq!(
        lowered.is_none(),
        found.diagnostics.has_errors(),
        "a program comes back exactly when there is no error"
    );
    Folder { project, diagnostics: found.diagnostics, lowered }
}

/// The findings, one a line: `error 3:5 rule: message (help)`.
pub fn findings(manifests: &[(&str, &str)]) -> String {
    let folder = load(manifests);
    show(&folder.project.files, folder.diagnostics, manifests.len() > 1)
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

/// Asserts the findings of the first of some manifests against lines; white space around them is free.
#[track_caller]
pub fn expect(manifests: &[(&str, &str)], expected: &str) {
    let expected: Vec<_> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let found = findings(manifests);
    let found: Vec<_> = found.lines().collect();
    assert_eq!(found, expected, "\n{}", found.join("\n"));
}

/// The same for one manifest.
#[track_caller]
pub fn expect_one(manifest: &str, expected: &str) {
    expect(&[("flow.yaml", manifest)], expected);
}

/// The source with line numbers, then the findings and, where there is one, the program: what snapshots show.
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

/// A workflow with one agent `a` (this system prompt) and these nodes and edges, one a line.
pub fn flow(system: &str, body: &str) -> String {
    format!("version: \"0.1\"\nagents: {{a: {{model: \"openai:m\", system: \"{system}\"}}}}\n{body}")
}

/// The lines of a program's text that hold one of these words, without what surrounds them.
pub fn lines_with(manifests: &[(&str, &str)], words: &[&str]) -> Vec<String> {
    let folder = load(manifests);
    let Some(lowered) = &folder.lowered else {
        panic!("{}", show(&folder.project.files, folder.diagnostics, true));
    };
    let text = trefoil_ir::print::print(&lowered.program, &folder.project.files);
    text.lines().filter(|line| words.iter().any(|word| line.contains(word))).map(|l| l.trim().to_owned()).collect()
}
