//! Manifests in, findings out.

use trefoil_check::{Group, Limits};
use trefoil_front::project::resolve_path;
use trefoil_front::{Detection, Document, Findings, FrontEnd, Project, detect};
use trefoil_ir::Detail;
use trefoil_syntax::{Diagnostic, Severity, SourceFile, yaml};

/// Files, parsed.
pub struct Folder {
    pub project: Project,
    parsing: Vec<Diagnostic>,
}

impl Folder {
    /// Of one dialect, or of whatever each is.
    pub fn new(front: Option<&str>, files: &[(&str, &str)]) -> Self {
        let mut project = Project::default();
        let mut parsing = Vec::new();
        let front = front.and_then(trefoil_front::front_end);
        for (name, text) in files {
            let file = SourceFile::new(*name, *text);
            let id = project.files.add(file.clone());
            let parsed = yaml::parse(id, &file, &yaml::Limits::default());
            parsing.extend(parsed.diagnostics);
            let Some(root) = parsed.root else { continue };
            let dialect: &'static dyn FrontEnd = match (front, detect(&root)) {
                (Some(front), _) | (None, Detection::One(front)) => front,
                _ => continue,
            };
            project.documents.push(Document { file: id, path: (*name).to_owned(), root, front: dialect });
        }
        for document in project.documents.clone() {
            for need in document.front.needs(&document) {
                let path = resolve_path(&document.path, &need.path);
                if let Some((_, text)) = files.iter().find(|(name, _)| *name == path) {
                    project.attachments.insert(path, (*text).to_owned());
                }
            }
        }
        Self { project, parsing }
    }
    /// Everything that loading and the rules say about a file.
    pub fn check(&self, name: &str, limits: &Limits) -> Vec<Diagnostic> {
        let Some(at) = self.project.documents.iter().position(|d| d.path == name) else { return self.parsing.clone() };
        let document = &self.project.documents[at];
        let mut found = Findings::with_facts(Detail::Names);
        let lowered = document.front.lower(&self.project, at, &mut found);
        let mut all = self.parsing.clone();
        all.extend(trefoil_check::check_tree(&document.root, document.file));
        let said = found.diagnostics.into_sorted();
        if let Some(lowered) = lowered {
            all.extend(trefoil_check::unsaid(trefoil_check::check(&lowered.program, &found.facts, limits), &said));
        }
        all.extend(said);
        all
    }
}

/// Everything that is said about the first of some files.
pub fn check(front: Option<&str>, files: &[(&str, &str)]) -> (Project, Vec<Diagnostic>) {
    check_within(front, files, &Limits::default())
}

/// The same, with limits.
pub fn check_within(front: Option<&str>, files: &[(&str, &str)], limits: &Limits) -> (Project, Vec<Diagnostic>) {
    let folder = Folder::new(front, files);
    let all = folder.check(files[0].0, limits);
    (folder.project, all)
}

/// The findings of the rules of this crate, one a line: `3:5 rule: message`; none of them, nor of loading, is about a
/// manifest that does not load.
pub fn found(front: &str, files: &[(&str, &str)]) -> Vec<String> {
    let (project, all) = check(Some(front), files);
    let loading: Vec<_> = all.iter().filter(|d| d.severity == Severity::Error && !ours(d.rule)).collect();
    assert!(loading.is_empty(), "{loading:#?}");
    let mut lines: Vec<String> =
        all.iter().filter(|d| ours(d.rule)).map(|d| format!("{} {}", d.rule, line(&project, d))).collect();
    lines.sort();
    lines.dedup();
    lines
}

/// Whether a rule is one of this crate.
pub fn ours(rule: &str) -> bool {
    // Loading finds it too, in branches; what it finds in nodes is asked of the program.
    let beyond = rule == "write-conflict";
    trefoil_check::rule(rule)
        .is_some_and(|r| (beyond || !matches!(r.run, trefoil_check::Run::Load)) && r.level.is_some())
}

/// Asserts the findings of the rules of one group against lines.
#[track_caller]
pub fn expect(group: Group, front: &str, files: &[(&str, &str)], expected: &[&str]) {
    let of_group = |l: &String| {
        let name = l.split(' ').next().unwrap_or_default();
        trefoil_check::rule(name).is_some_and(|r| r.group == group)
    };
    let found: Vec<String> = found(front, files).into_iter().filter(of_group).collect();
    assert_eq!(found, expected, "\n{}", found.join("\n"));
}

/// One finding as a line.
pub fn line(project: &Project, d: &Diagnostic) -> String {
    let severity = match d.severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Error => "error",
    };
    let file = d.file.and_then(|f| project.files.get(f));
    let at = file.zip(d.span).map(|(f, s)| f.position(s.start));
    let at = at.map(|p| format!("{}:{} ", p.line, p.column)).unwrap_or_default();
    format!("{severity} {at}{}", d.message)
}
