//! Manifests as the input of a target: several files in one text, read and lowered like by a loader.

mod places;
mod seeds;
mod words;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use trefoil_front::project::{NeededFileKind, resolve_path};
use trefoil_front::{
    CompileFindings, DialectDetection, FRONT_ENDS, FrontEnd, LoweredDocument, ManifestDocument, Project, detect_dialect,
};
use trefoil_syntax::yaml::{self, YamlLimits};
use trefoil_syntax::{Diagnostic, DiagnosticList, FileId, Location, SourceFile, Span};

pub(crate) use places::places;
pub(crate) use seeds::{AEGIS, AGNTZ, SIRENSPEC};
pub(crate) use words::{BROKEN, KEYS, WORDS};

/// Small limits, so that inputs are likely to reach them.
const LIMITS: YamlLimits = YamlLimits { bytes: 1 << 16, depth: 128, nodes: 5000, aliased: 1 << 18 };

/// The prefix of the line before a file, and of the line with the choices.
const MARK: &str = "=== ";

/// A parsed input.
pub(crate) struct Bundle {
    /// Paths and texts.
    pub files: Vec<(String, String)>,
    /// The number that determines the target's choices.
    pub choices: u64,
}

impl Bundle {
    /// Splits an input at the lines `=== NAME` and `=== choices N`. Text before the first one is `main.yaml`.
    pub(crate) fn split(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let mut bundle = Self { files: Vec::new(), choices: 1 };
        for line in text.split_inclusive('\n') {
            let head = line.strip_prefix(MARK).map(str::trim);
            if let Some(choices) = head.and_then(|h| h.strip_prefix("choices ")) {
                let mut hasher = DefaultHasher::new();
                choices.hash(&mut hasher);
                bundle.choices = hasher.finish();
            } else if let Some(name) = head.filter(|name| bundle.files.iter().all(|(known, _)| known != name)) {
                bundle.files.push((name.to_owned(), String::new()));
            } else if let Some((_, file)) = bundle.files.last_mut() {
                file.push_str(line);
            } else {
                bundle.files.push(("main.yaml".to_owned(), line.to_owned()));
            }
        }
        bundle.files.truncate(12);
        bundle
    }
}

/// A folder after reading.
pub(crate) struct Folder {
    pub project: Project,
    /// The findings of reading.
    pub found: DiagnosticList,
}

impl Folder {
    /// Reads all files. Files without a unique dialect are treated as `otherwise`.
    pub(crate) fn read(files: &[(String, String)], otherwise: &'static dyn FrontEnd) -> Self {
        let mut project = Project::default();
        let mut found = DiagnosticList::default();
        for (path, text) in files {
            let file = SourceFile::new(path.as_str(), text.as_str());
            let id = project.files.add_file(file.clone());
            if !path.ends_with(".yaml") {
                project.attachments.insert(path.clone(), text.clone());
                continue;
            }
            let parsed = yaml::parse(id, &file, &LIMITS);
            found.extend(parsed.diagnostics);
            let Some(root) = parsed.root else { continue };
            let front = match detect_dialect(&root) {
                DialectDetection::One(front) => front,
                DialectDetection::Several(all) => {
                    for (_, evidence) in &all {
                        check_span(&project, id, evidence.span);
                    }
                    otherwise
                }
                DialectDetection::Unknown => {
                    let _ = trefoil_front::companion_kind(&root);
                    otherwise
                }
            };
            project.documents.push(ManifestDocument { file: id, path: path.clone(), root, front, project: 0 });
        }
        for document in &project.documents {
            for need in document.front.needed_files(document) {
                check_location(&project, need.location);
                let _ = resolve_path(&document.path, &need.path);
                assert!(matches!(
                    need.kind,
                    NeededFileKind::Manifest | NeededFileKind::Attachment | NeededFileKind::EnvFile
                ));
            }
            for (_, location) in document.front.unit_ids(document) {
                check_location(&project, location);
            }
        }
        Self { project, found }
    }

    /// Lowers a document; returns its findings as well.
    pub(crate) fn lower(&self, document: usize) -> (Option<LoweredDocument>, DiagnosticList) {
        let mut found = CompileFindings::default();
        let front = self.project.documents.get(document).map(|d| d.front);
        let lowered = front.and_then(|front| trefoil_lint::lower_document(front, &self.project, document, &mut found));
        (lowered, found.diagnostics)
    }
}

/// The front end with this name.
pub(crate) fn front(name: &str) -> &'static dyn FrontEnd {
    FRONT_ENDS.iter().copied().find(|f| f.name() == name).unwrap_or_else(|| unreachable!("no front end {name}"))
}

/// Asserts that a span is inside its file.
pub(crate) fn check_span(project: &Project, file: FileId, span: Span) {
    let Some(source) = project.files.get(file) else { unreachable!("{file:?} is no file") };
    let found = source.text().get(span.start as usize..span.end as usize);
    assert!(found.is_some(), "{span:?} is not in `{}`", source.name());
}

/// Asserts that a location is inside its file.
pub(crate) fn check_location(project: &Project, at: Location) {
    check_span(project, at.file, at.span);
}

/// Asserts the requirements for every finding.
pub(crate) fn check_diagnostic(project: &Project, d: &Diagnostic) {
    assert!(trefoil_check::find_rule(d.rule).is_some(), "`{}` has no page", d.rule);
    assert!(!d.message.is_empty() && !d.message.ends_with('.'), "{d:?}");
    assert!(d.help.as_ref().is_none_or(|help| !help.is_empty()), "{d:?}");
    assert_eq!(d.span.is_some(), d.span.is_some() && d.file.is_some(), "a place in no file: {d:?}");
    if let (Some(file), Some(span)) = (d.file, d.span) {
        check_span(project, file, span);
    }
    for label in &d.labels {
        check_location(project, label.location);
    }
}
