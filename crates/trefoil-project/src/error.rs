//! The error type, and the details of each kind of error.

use std::fmt;
use std::path::Path;

use trefoil_runtime::{RunError, RunOutcome};
use trefoil_syntax::diagnostic::render::{render_json, render_text};
use trefoil_syntax::{Diagnostic, FileId, FindingSeverity, SourceFile, SourceFiles};

use crate::failure::{explain_failure, failed_run};
use crate::settings::FoundSettings;

/// The result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error type that tools return.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why there is no flow, no run or no output.
///
/// `Display` shows what is wrong, where, with the lines of the manifest, and how to fix it. `Debug` shows the same, so
/// that a `main` function that returns [`Result`] prints it.
#[non_exhaustive]
pub enum Error {
    /// The manifests have errors.
    Load(FoundErrors),
    /// Something that the run needs is missing. Nothing was called.
    NotStarted(FoundErrors),
    /// The run started and failed.
    Failed(Box<RunFailure>),
    /// The input cannot be written as JSON.
    Input(serde_json::Error),
    /// The run succeeded, but its output does not match the requested type.
    Output {
        /// The reason.
        error: serde_json::Error,
        /// The output.
        output: serde_json::Value,
    },
    /// `Engine::start_run` was called outside a tokio runtime.
    NoRuntime,
    /// The store failed.
    Store(trefoil_store::StoreError),
}

impl From<trefoil_store::StoreError> for Error {
    fn from(error: trefoil_store::StoreError) -> Self {
        Self::Store(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(found) => write!(f, "the flow does not load\n\n{found}"),
            Self::NotStarted(found) => write!(f, "the run did not start\n\n{found}"),
            Self::Failed(failure) => write!(f, "the run failed\n\n{failure}"),
            Self::Input(error) => write!(f, "the input cannot be written as JSON: {error}"),
            Self::Output { error, .. } => write!(f, "the output does not match the requested type: {error}"),
            Self::NoRuntime => f.write_str("the run did not start, because there is no tokio runtime"),
            Self::Store(error) => match error.help_text() {
                Some(help) => write!(f, "{error}\n\n{help}"),
                None => write!(f, "{error}"),
            },
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// Findings about manifests or about a run that did not start, with their files.
#[derive(Clone, Default)]
pub struct FoundErrors {
    files: SourceFiles,
    diagnostics: Vec<Diagnostic>,
    /// Whether the store could not be read.
    of_store: bool,
}

impl From<&FoundSettings> for FoundErrors {
    fn from(found: &FoundSettings) -> Self {
        Self::new(found.files.clone(), found.findings.clone())
    }
}

impl FoundErrors {
    /// Findings in these files.
    pub fn new(files: SourceFiles, diagnostics: Vec<Diagnostic>) -> Self {
        Self { files, diagnostics, of_store: false }
    }
    /// Why a journal cannot be read.
    pub fn of_run(files: &SourceFiles, error: &RunError) -> Self {
        let finding = explain_failure("journal", error);
        let of_store = error.code == "JOURNAL_ERROR";
        Self { of_store, ..Self::new(files.clone(), vec![finding]) }
    }
    /// Whether the store could not be read, which says nothing about the flow or its run.
    pub fn is_of_store(&self) -> bool {
        self.of_store
    }
    /// A finding without a file.
    pub fn without_file(message: &str, help: &'static str) -> Self {
        Self::of_rule("no-store", message, help)
    }
    /// The same, under a different name.
    pub fn of_rule(rule: &'static str, message: &str, help: impl Into<String>) -> Self {
        let finding = Diagnostic::without_location(rule, FindingSeverity::Error, None, message).with_help(help);
        Self::new(SourceFiles::default(), vec![finding])
    }
    /// The findings, by file and place.
    pub fn found_diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
    /// The files of the findings.
    pub fn source_files(&self) -> &SourceFiles {
        &self.files
    }
    /// Takes in the files of others, which may be among them. Returns their ids here.
    pub fn adopt_files(&mut self, files: &SourceFiles) -> Vec<FileId> {
        // One may be named from the working directory, the other in full.
        let ends = |one: &str, other: &str| Path::new(one).ends_with(other);
        let same = |own: &SourceFile, file: &SourceFile| {
            own.text() == file.text() && (ends(own.name(), file.name()) || ends(file.name(), own.name()))
        };
        let one = |(_, file): (FileId, &SourceFile)| {
            let known = self.files.iter().find(|(_, own)| same(own, file)).map(|(id, _)| id);
            known.unwrap_or_else(|| self.files.add_file(file.clone()))
        };
        files.iter().map(one).collect()
    }
    /// Adds a finding.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }
    /// Whether there are no findings.
    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }
    /// Whether at least one finding is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == FindingSeverity::Error)
    }
    /// The JSON that `trefoil check --format json` prints.
    pub fn to_json(&self) -> String {
        render_json(&self.diagnostics, &self.files, self.files.len())
    }
}

/// For people, with the lines of the files, without colours.
impl fmt::Display for FoundErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(render_text(&self.diagnostics, &self.files, Default::default()).trim_end())
    }
}

impl fmt::Debug for FoundErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A failed run: the reason, the place, and the cost.
#[derive(Clone)]
pub struct RunFailure {
    files: SourceFiles,
    error: RunError,
    outcome: RunOutcome,
}

impl RunFailure {
    /// For an outcome that is a failure.
    pub fn new(files: SourceFiles, error: RunError, outcome: RunOutcome) -> Self {
        Self { files, error, outcome }
    }
    /// The stable code: `TOOL_ERROR`, `BUDGET_EXCEEDED`, ... `docs/errors.md` lists them.
    pub fn error_code(&self) -> &str {
        &self.error.code
    }
    /// What happened, in one line.
    pub fn error_message(&self) -> &str {
        &self.error.message
    }
    /// The key of the step that failed.
    pub fn step_key(&self) -> Option<&str> {
        self.error.key.as_ref().map(|key| &*key.0)
    }
    /// The place of the step in the manifest: `weather.yaml:4:7`.
    pub fn step_location(&self) -> Option<String> {
        self.error.location.and_then(|at| self.files.display_location(at))
    }
    /// The error with all its details.
    pub fn run_error(&self) -> &RunError {
        &self.error
    }
    /// The run's id, and the calls, tokens and time that it used.
    pub fn run_outcome(&self) -> &RunOutcome {
        &self.outcome
    }
}

/// For people, with the lines of the manifest, without colours.
impl fmt::Display for RunFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = [failed_run(&self.error)];
        f.write_str(render_text(&found, &self.files, Default::default()).trim_end())
    }
}

impl fmt::Debug for RunFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
