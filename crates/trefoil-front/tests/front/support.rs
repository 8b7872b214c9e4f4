//! Manifests in, findings and IR out: shared by the tests of all front ends.

use std::collections::BTreeMap;
use std::sync::Mutex;

use expect_test::Expect;
use trefoil_check::{CheckRoot, Rule, RunCostLimits};
use trefoil_front::project::resolve_path;
use trefoil_front::{CompileFindings, FrontEnd, LinkedDocuments, LoweredDocument, ManifestDocument, Project};
use trefoil_ir::FactDetail;
use trefoil_syntax::{Diagnostic, DiagnosticList, FindingSeverity, Location, SourceFile, SourceFiles, yaml};

/// A folder, loaded, with one of its files lowered.
pub struct Folder {
    pub project: Project,
    pub diagnostics: DiagnosticList,
    pub lowered: Option<LoweredDocument>,
}

impl Folder {
    /// Loads a folder, changes the project, and lowers one of its files. Files that are not YAML are attachments.
    pub fn load(
        front: &'static dyn FrontEnd,
        files: &[(&str, &str)],
        entry: usize,
        change: impl FnOnce(&mut Project),
    ) -> Self {
        let mut project = Project::default();
        let mut found = CompileFindings::default();
        for (name, text) in files.iter().filter(|(name, _)| name.ends_with(".yaml")) {
            let file = SourceFile::new(*name, *text);
            let id = project.files.add_file(file.clone());
            let parsed = yaml::parse(id, &file, &yaml::YamlLimits::default());
            found.diagnostics.extend(parsed.diagnostics);
            if let Some(root) = parsed.root {
                project.documents.push(ManifestDocument {
                    file: id,
                    path: (*name).to_owned(),
                    root,
                    front,
                    project: 0,
                });
            }
        }
        for document in project.documents.clone() {
            for need in front.needed_files(&document) {
                let path = resolve_path(&document.path, &need.path);
                let attachment = files.iter().find(|(name, _)| *name == path && !name.ends_with(".yaml"));
                if let Some((_, text)) = attachment {
                    project.attachments.insert(path, (*text).to_owned());
                }
            }
        }
        change(&mut project);
        let usable = !found.diagnostics.has_errors() && !project.documents.is_empty();
        let linked = usable.then(|| {
            trefoil_lint::link_with_findings(front.compile_documents(
                &project,
                &[entry],
                found.facts.detail_level().max(FactDetail::Names),
            ))
        });
        let lowered = linked.as_ref().and_then(LinkedDocuments::runnable_program);
        if let Some(linked) = linked {
            found.diagnostics.extend(about_names(&linked));
            found.diagnostics.extend(linked.found);
        }
        if let Some(lowered) = &lowered {
            assert_eq!(trefoil_ir::validation::validate_program(&lowered.program), Vec::<String>::new());
        }
        Self { project, diagnostics: found.diagnostics, lowered }
    }
    /// Asserts that there is a program or an error.
    #[track_caller]
    pub fn consistent(self) -> Self {
        assert_eq!(
            self.lowered.is_none(),
            self.diagnostics.iter().any(trefoil_check::keeps_from_loading),
            "a program comes back exactly when there is no error"
        );
        self
    }
    /// The source with line numbers, then the findings and, if there is a program, its text: for snapshots.
    pub fn story(&self, files: &[(&str, &str)], show: impl Fn(&SourceFiles, DiagnosticList, bool) -> String) -> String {
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
            out.push_str(&trefoil_ir::printer::print_program(&lowered.program, &self.project.files));
        }
        out
    }
}

/// The rules of the checker that evaluate the results of name binding.
const ABOUT_NAMES: [&str; 6] =
    ["unordered-read", "unknown-property", "property-of-text", "shadowed-name", "secret-in-prompt", "write-conflict"];

/// The findings of those rules about a program.
pub fn about_names(linked: &LinkedDocuments) -> Vec<Diagnostic> {
    let Some(program) = &linked.program else { return Vec::new() };
    let files = linked.found.iter().filter(|d| d.severity == FindingSeverity::Error).filter_map(|d| d.file).collect();
    let mistakes = trefoil_check::collect_load_errors(&linked.found, files);
    let roots = [CheckRoot { flow: program.entry, limits: RunCostLimits::default(), supplied: Default::default() }];
    let wanted = |rule: &Rule| ABOUT_NAMES.contains(&rule.name);
    trefoil_check::check_for(program, &linked.facts, &mistakes, &roots, &wanted)
}

/// The findings, one on each line, without a final line break, formatted by `line`.
pub fn show(files: &SourceFiles, diagnostics: DiagnosticList, names: bool) -> String {
    let all = diagnostics.into_sorted();
    all.iter().map(|d| line(files, d, names)).collect::<Vec<_>>().join("\n")
}

/// One finding: `error 3:5 rule: message (help) [3:9 label] {fix: "written"}`.
fn line(files: &SourceFiles, d: &Diagnostic, names: bool) -> String {
    let severity = match d.severity {
        FindingSeverity::Info => "info",
        FindingSeverity::Hint => "hint",
        FindingSeverity::Warning => "warning",
        FindingSeverity::Error => "error",
    };
    let own = Location::new(d.file.unwrap(), d.span.unwrap());
    let mut out = format!("{severity} {} {}: {}", place(files, own, names), d.rule, d.message);
    if let Some(help) = &d.help {
        out.push_str(&format!(" ({help})"));
    }
    for label in &d.labels {
        out.push_str(&format!(" [{} {}]", place(files, label.location, names), label.message));
    }
    if let Some(fix) = &d.fix {
        let sure = if fix.safe { "fix" } else { "maybe" };
        let edits = fix.edits.iter().map(|e| {
            let at = if e.location == own { String::new() } else { format!("{} ", place(files, e.location, names)) };
            format!("{at}{:?}", e.text)
        });
        let edits = edits.collect::<Vec<_>>().join(", ");
        // The message of nearly every change is the text that it writes.
        let told = fix.edits.iter().any(|e| fix.message == format!("write `{}`", e.text));
        let message = if told { String::new() } else { format!("{}: ", fix.message) };
        out.push_str(&format!(" {{{sure}: {message}{edits}}}"));
    }
    out
}

/// `3:5`, after the file's name if there are several files.
pub fn place(files: &SourceFiles, location: Location, names: bool) -> String {
    let file = files.get(location.file).unwrap();
    let at = file.line_column(location.span.start);
    let name = if names { format!("{} ", file.name()) } else { String::new() };
    format!("{name}{}:{}", at.line, at.column)
}

/// All findings about the first of several files, one on each line.
pub fn findings(front: &'static dyn FrontEnd, files: &[(&str, &str)]) -> String {
    let folder = Folder::load(front, files, 0, |_| {}).consistent();
    let mut found = show(&folder.project.files, folder.diagnostics, files.len() > 1);
    if !found.is_empty() {
        found.push('\n');
    }
    found
}

/// Compares a text with the expectation in the test; with `UPDATE_EXPECT=1`, writes it there.
///
/// An expectation shared by several rows of a loop can only be rewritten once, so the rows must agree.
#[track_caller]
pub fn bless(found: &str, expected: &Expect) {
    static BLESSED: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let at = expected.position.to_string();
        let earlier = BLESSED.lock().unwrap().insert(at.clone(), found.to_owned());
        if let Some(earlier) = earlier {
            assert_eq!(found, earlier, "one expectation for several texts: {at}");
            return;
        }
    }
    expected.assert_eq(found);
}

/// Asserts that there is no finding of this rule, and that the rule exists.
#[track_caller]
pub fn silent(front: &'static dyn FrontEnd, files: &[(&str, &str)], rule: &str) {
    assert!(trefoil_check::find_rule(rule).is_some_and(|r| r.is_of_loading()), "there is a rule `{rule}`");
    let folder = Folder::load(front, files, 0, |_| {}).consistent();
    let found = folder.diagnostics.iter().any(|d| d.rule == rule);
    assert!(!found, "{}", show(&folder.project.files, folder.diagnostics, files.len() > 1));
}

/// The changes that the findings suggest, in order.
pub struct Changes {
    /// The texts of safe changes.
    pub sure: Vec<String>,
    /// The texts of all other changes.
    pub perhaps: Vec<String>,
}

/// The changes that the findings about the first of several files suggest.
pub fn changes(front: &'static dyn FrontEnd, files: &[(&str, &str)]) -> Changes {
    let mut changes = Changes { sure: Vec::new(), perhaps: Vec::new() };
    for fix in Folder::load(front, files, 0, |_| {}).diagnostics.into_sorted().into_iter().filter_map(|d| d.fix) {
        let text = fix.edits.iter().map(|e| e.text.as_str()).collect::<Vec<_>>().join(" + ");
        if fix.safe { changes.sure.push(text) } else { changes.perhaps.push(text) }
    }
    changes
}
