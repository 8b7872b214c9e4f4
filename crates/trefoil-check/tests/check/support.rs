//! Manifests in, findings out.

use expect_test::Expect;
use trefoil_check::{CheckRoot, RuleGroup, RunCostLimits};
use trefoil_front::project::resolve_path;
use trefoil_front::{DialectDetection, FrontEnd, ManifestDocument, Project, detect_dialect};
use trefoil_ir::FactDetail;
use trefoil_syntax::hash::HashSet;
use trefoil_syntax::{Diagnostic, DiagnosticList, FileId, FindingSeverity, Location, SourceFile, Span, yaml};

/// Files, parsed.
pub struct Folder {
    pub project: Project,
    parsing: Vec<Diagnostic>,
}

impl Folder {
    /// With one dialect, or with the detected one of each file.
    pub fn new(front: Option<&str>, files: &[(&str, &str)]) -> Self {
        let mut project = Project::default();
        let mut parsing = Vec::new();
        let front = front.and_then(trefoil_front::front_end);
        for (name, text) in files {
            let file = SourceFile::new(*name, *text);
            let id = project.files.add_file(file.clone());
            let parsed = yaml::parse(id, &file, &yaml::YamlLimits::default());
            parsing.extend(parsed.diagnostics);
            let Some(root) = parsed.root else { continue };
            let dialect: &'static dyn FrontEnd = match (front, detect_dialect(&root)) {
                (Some(front), _) | (None, DialectDetection::One(front)) => front,
                _ => continue,
            };
            project.documents.push(ManifestDocument {
                file: id,
                path: (*name).to_owned(),
                root,
                front: dialect,
                project: 0,
            });
        }
        for document in project.documents.clone() {
            for need in document.front.needed_files(&document) {
                let path = resolve_path(&document.path, &need.path);
                if let Some((_, text)) = files.iter().find(|(name, _)| *name == path) {
                    project.attachments.insert(path, (*text).to_owned());
                }
            }
        }
        Self { project, parsing }
    }
    /// All findings of loading and rules about a file.
    pub fn check(&self, name: &str, limits: &RunCostLimits) -> Vec<Diagnostic> {
        let Some(at) = self.project.documents.iter().position(|d| d.path == name) else { return self.parsing.clone() };
        let document = &self.project.documents[at];
        let linked =
            trefoil_lint::link_with_findings(document.front.compile_documents(&self.project, &[at], FactDetail::Names));
        let mut all = self.parsing.clone();
        all.extend(trefoil_check::check_tree(&document.root, document.file, &|_| true));
        let mut said = DiagnosticList::default();
        said.extend(linked.found.iter().cloned());
        let said = said.into_sorted();
        let errors = said.iter().filter(|d| d.severity == FindingSeverity::Error);
        let mut files: HashSet<FileId> = errors.filter_map(|d| d.file).collect();
        if !files.is_empty() {
            // Everything that the file reaches is in the same program.
            files.insert(document.file);
        }
        let mistakes = trefoil_check::collect_load_errors(&said, files);
        if let Some(program) = &linked.program {
            let roots = [CheckRoot { flow: program.entry, limits: *limits, supplied: Default::default() }];
            all.extend(trefoil_check::check_for(program, &linked.facts, &mistakes, &roots, &|_| true));
        }
        all.extend(said);
        all
    }
}

/// All findings about the first of several files.
pub fn check(front: Option<&str>, files: &[(&str, &str)]) -> (Project, Vec<Diagnostic>) {
    check_within(front, files, &RunCostLimits::default())
}

/// The same, with limits.
pub fn check_within(front: Option<&str>, files: &[(&str, &str)], limits: &RunCostLimits) -> (Project, Vec<Diagnostic>) {
    let folder = Folder::new(front, files);
    let all = folder.check(files[0].0, limits);
    (folder.project, all)
}

/// The findings of the rules of this crate. Rules of this crate and load errors never report the same manifest.
fn found(front: &str, files: &[(&str, &str)]) -> (Project, Vec<Diagnostic>) {
    let (project, mut all) = check(Some(front), files);
    let loading: Vec<_> = all.iter().filter(|d| d.severity == FindingSeverity::Error && !ours(d.rule)).collect();
    assert!(loading.is_empty(), "{loading:#?}");
    all.retain(|d| ours(d.rule));
    (project, all)
}

/// Whether a rule belongs to this crate.
pub fn ours(rule: &str) -> bool {
    trefoil_check::find_rule(rule).is_some_and(|r| !r.is_of_loading() && r.level.is_some())
}

/// Whether a finding belongs to a rule, or to one that was split from it.
pub fn is_of(d: &Diagnostic, rule: &str) -> bool {
    d.rule == rule || trefoil_check::rules::split_from(d.rule).contains(&rule)
}

/// Asserts the findings of the rules of one group.
#[track_caller]
pub fn expect(group: RuleGroup, front: &str, files: &[(&str, &str)], expected: Expect) {
    hold(&expected, &of_group(group, front, files));
}

/// The findings of the rules of one group.
#[track_caller]
pub fn of_group(group: RuleGroup, front: &str, files: &[(&str, &str)]) -> String {
    let (project, all) = found(front, files);
    let of_group = |d: &&Diagnostic| trefoil_check::find_rule(d.rule).is_some_and(|r| r.group == group);
    shown(&project, all.iter().filter(of_group))
}

/// Asserts the findings of one rule, and of those split from it; nothing else may be an error.
#[track_caller]
pub fn of_rule(rule: &str, front: &str, files: &[(&str, &str)], expected: Expect) {
    let (project, all) = check(Some(front), files);
    let is_it = |d: &&Diagnostic| is_of(d, rule);
    let others: Vec<_> = all.iter().filter(|d| d.severity == FindingSeverity::Error && !is_it(d)).collect();
    assert!(others.is_empty(), "{others:#?}");
    hold(&expected, &shown(&project, all.iter().filter(is_it)));
}

/// Compares the findings with the expectation of a test. If the expectation is empty, `UPDATE_EXPECT=1` does not accept
/// a finding: first write `expect!["?"]` there by hand.
#[track_caller]
pub fn hold(expected: &Expect, found: &str) {
    assert!(!expected.data().is_empty() || found.is_empty(), "nothing is expected here, and found was\n{found}");
    expected.assert_eq(found);
}

/// Findings by place, each with the source line and all its texts.
pub fn shown<'a>(project: &Project, all: impl Iterator<Item = &'a Diagnostic>) -> String {
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|d| (d.file, d.span.map(|s| s.start), d.rule, &d.message));
    let mut blocks: Vec<String> = all.into_iter().map(|d| block(project, d)).collect();
    blocks.dedup();
    blocks.concat()
}

/// One finding: `3:5 warning rule: message`, then the line with the place underlined, other places, advice and fix.
fn block(project: &Project, d: &Diagnostic) -> String {
    let severity = match d.severity {
        FindingSeverity::Info => "info",
        FindingSeverity::Hint => "hint",
        FindingSeverity::Warning => "warning",
        FindingSeverity::Error => "error",
    };
    let head = format!("{severity} {}: {}\n", d.rule, d.message);
    let mut out = match d.file.zip(d.span) {
        Some((file, span)) => {
            place(project, Location::new(file, span)) + " " + &head + &underlined(project, file, span)
        }
        None => head,
    };
    for label in &d.labels {
        out += &format!("  at {}: {}\n", place(project, label.location), label.message);
    }
    if let Some(help) = &d.help {
        out += &format!("  help: {help}\n");
    }
    if let Some(fix) = &d.fix {
        let edits: Vec<String> =
            fix.edits.iter().map(|e| format!("{} {:?}", place(project, e.location), e.text)).collect();
        out += &format!("  {}: {}: {}\n", if fix.safe { "fix" } else { "suggestion" }, fix.message, edits.join(", "));
    }
    out
}

/// `3:5`, after the file's name if it is not the first file.
fn place(project: &Project, location: Location) -> String {
    let Some(file) = project.files.get(location.file) else { return "?".to_owned() };
    let at = file.line_column(location.span.start);
    let first = project.documents.first().is_none_or(|d| d.file == location.file);
    let name = if first { String::new() } else { format!("{}:", file.name()) };
    format!("{name}{}:{}", at.line, at.column)
}

/// The line of a place, underlined; only the part around it if the line is long.
fn underlined(project: &Project, file: FileId, span: Span) -> String {
    let Some(file) = project.files.get(file) else { return String::new() };
    let (text, start) = (file.text(), span.start as usize);
    let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[begin..].lines().next().unwrap_or_default();
    let chars = |text: &str| text.chars().count();
    let before = text[begin..start].trim_start();
    let width = chars(&text[start..(span.end as usize).min(begin + line.len()).max(start)]).max(1);
    let cut = chars(before).saturating_sub(40);
    let window: String = line.trim_start().chars().skip(cut).take(chars(before) - cut + width + 20).collect();
    let dots = if cut > 0 { "..." } else { "" };
    let indent = " ".repeat(chars(before) - cut + dots.len());
    format!("  | {dots}{}\n  | {indent}{}\n", window.trim_end(), "^".repeat(width))
}
