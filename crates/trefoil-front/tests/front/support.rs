//! Manifests in, findings and IR out: what the tests of every front end share.

use trefoil_front::project::resolve_path;
use trefoil_front::{Document, Findings, FrontEnd, Lowered, Project};
use trefoil_syntax::{Diagnostic, Diagnostics, Files, Location, Severity, SourceFile, yaml};

/// A folder, loaded, with one of its files lowered.
pub struct Folder {
    pub project: Project,
    pub diagnostics: Diagnostics,
    pub lowered: Option<Lowered>,
}

impl Folder {
    /// Loads a folder, does something to the project, and lowers one of its files. Files that are not YAML are attachments.
    pub fn load(
        front: &'static dyn FrontEnd,
        files: &[(&str, &str)],
        entry: usize,
        change: impl FnOnce(&mut Project),
    ) -> Self {
        let mut project = Project::default();
        let mut found = Findings::default();
        for (name, text) in files.iter().filter(|(name, _)| name.ends_with(".yaml")) {
            let file = SourceFile::new(*name, *text);
            let id = project.files.add(file.clone());
            let parsed = yaml::parse(id, &file, &yaml::Limits::default());
            found.diagnostics.extend(parsed.diagnostics);
            if let Some(root) = parsed.root {
                project.documents.push(Document { file: id, path: (*name).to_owned(), root, front });
            }
        }
        for document in project.documents.clone() {
            for need in front.needs(&document) {
                let path = resolve_path(&document.path, &need.path);
                let attachment = files.iter().find(|(name, _)| *name == path && !name.ends_with(".yaml"));
                if let Some((_, text)) = attachment {
                    project.attachments.insert(path, (*text).to_owned());
                }
            }
        }
        change(&mut project);
        let usable = !found.diagnostics.has_errors() && !project.documents.is_empty();
        let lowered = if usable { front.lower(&project, entry, &mut found) } else { None };
        if let Some(lowered) = &lowered {
            assert_eq!(trefoil_ir::validate::validate(&lowered.program), Vec::<String>::new());
        }
        Self { project, diagnostics: found.diagnostics, lowered }
    }
    /// Asserts that there is a program or an error.
    #[track_caller]
    pub fn consistent(self) -> Self {
        assert_eq!(
            self.lowered.is_none(),
            self.diagnostics.has_errors(),
            "a program comes back exactly when there is no error"
        );
        self
    }
    /// The source with line numbers, then the findings and, where there is a program, its text: what snapshots show.
    pub fn story(&self, files: &[(&str, &str)], show: impl Fn(&Files, Diagnostics, bool) -> String) -> String {
        let mut out = String::new();
        for (name, text) in files {
            out.push_str(&format!("--- {name}\n"));
            for (i, line) in text.lines().enumerate() {
                out.push_str(format!("{:>3} {line}", i + 1).trim_end());
                out.push('\n');
            }
        }
        out.push_str("--- findings\n");
        let found = show(&self.project.files, self.diagnostics.clone(), files.len() > 1);
        out.push_str(if found.is_empty() { "none" } else { &found });
        out.push('\n');
        if let Some(lowered) = &self.lowered {
            out.push_str("--- program\n");
            out.push_str(&trefoil_ir::print::print(&lowered.program, &self.project.files));
        }
        out
    }
}

/// The findings, one a line: `error 3:5 rule: message (help)`.
pub fn show(files: &Files, diagnostics: Diagnostics, names: bool) -> String {
    let all = diagnostics.into_sorted();
    all.iter().map(|d| line(files, d, names)).collect::<Vec<_>>().join("\n")
}

/// One finding.
pub fn line(files: &Files, d: &Diagnostic, names: bool) -> String {
    let severity = match d.severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let at = place(files, Location::new(d.file.unwrap(), d.span.unwrap()), names);
    let help = d.help.as_ref().map(|h| format!(" ({h})")).unwrap_or_default();
    format!("{severity} {at} {}: {}{help}", d.rule, d.message)
}

/// `3:5`, after the file's name where there are several.
pub fn place(files: &Files, location: Location, names: bool) -> String {
    let file = files.get(location.file).unwrap();
    let at = file.position(location.span.start);
    let name = if names { format!("{} ", file.name()) } else { String::new() };
    format!("{name}{}:{}", at.line, at.column)
}

/// Asserts lines; white space around them is free.
#[track_caller]
pub fn same(found: &str, expected: &str) {
    let expected: Vec<_> = expected.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let found: Vec<_> = found.lines().collect();
    assert_eq!(found, expected, "\n{}", found.join("\n"));
}
