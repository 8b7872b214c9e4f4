//! What can go wrong, as one type, and what each kind of it tells.

use std::fmt;

use trefoil_runtime::{RunError, RunOutcome};
use trefoil_syntax::diagnostic::render::{json, text};
use trefoil_syntax::{Diagnostic, Files, Severity};

use crate::engine::failed;
use crate::flow::Flow;

/// The result of what this crate does.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Any error, as tools return it.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why there is no flow, no run or no output.
///
/// Shown, it says all that a person needs: what is wrong, where, with the lines of the manifest, and what to do about it. Shown
/// for debugging it says the same, so that a `main` that returns [`Result`] ends with it.
#[non_exhaustive]
pub enum Error {
    /// The manifests are not a flow that can run.
    Load(Findings),
    /// A run needs something that it does not have. Nothing was called.
    NotStarted(Findings),
    /// The run began, and failed.
    Failed(Box<Failure>),
    /// The input cannot be written as JSON.
    Input(serde_json::Error),
    /// The run went well, and its output does not fit the type that was asked for.
    Output {
        /// Why not.
        error: serde_json::Error,
        /// The output.
        output: serde_json::Value,
    },
    /// [`start`](crate::Engine::start) was called outside a tokio runtime.
    NoRuntime,
    /// The store cannot do what it was asked for.
    #[cfg(feature = "store")]
    Store(trefoil_store::StoreError),
}

#[cfg(feature = "store")]
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
            #[cfg(feature = "store")]
            Self::Store(error) => match error.help() {
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

/// Findings about manifests, or about a run that was to start, with the files that they are in.
#[derive(Clone, Default)]
pub struct Findings {
    files: Files,
    diagnostics: Vec<Diagnostic>,
}

impl Findings {
    pub(crate) fn new(files: Files, diagnostics: Vec<Diagnostic>) -> Self {
        Self { files, diagnostics }
    }
    /// Why a journal cannot be read.
    #[cfg(feature = "store")]
    pub(crate) fn of_run(flow: &Flow, error: &RunError) -> Self {
        let said = crate::engine::explain("journal", error);
        Self::new(flow.loaded().files.clone(), vec![said])
    }
    /// One that is in no file.
    #[cfg(feature = "store")]
    pub(crate) fn said(message: &str, help: &'static str) -> Self {
        Self::of_rule("no-store", message, help)
    }
    /// The same, under a name of its own.
    #[cfg(feature = "store")]
    pub(crate) fn of_rule(rule: &'static str, message: &str, help: &'static str) -> Self {
        let said = Diagnostic::nowhere(rule, Severity::Error, None, message).help(help);
        Self::new(Files::default(), vec![said])
    }
    /// The findings, by file and place.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }
    /// The files that they are in.
    pub fn files(&self) -> &Files {
        &self.files
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }
    /// Whether one of them is an error.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }
    /// As JSON, as `trefoil check --format json` prints it.
    pub fn json(&self) -> String {
        json(&self.diagnostics, &self.files, self.files.len())
    }
}

/// For people, with the lines of the files, without colours.
impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(text(&self.diagnostics, &self.files, Default::default()).trim_end())
    }
}

impl fmt::Debug for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A run that failed: why and where, and what it has cost.
#[derive(Clone)]
pub struct Failure {
    flow: Flow,
    error: RunError,
    outcome: RunOutcome,
}

impl Failure {
    /// Of an outcome that is a failure.
    pub(crate) fn new(flow: Flow, error: RunError, outcome: RunOutcome) -> Self {
        Self { flow, error, outcome }
    }
    /// The stable code: `TOOL_ERROR`, `BUDGET_EXCEEDED`, ... `docs/errors.md` lists them.
    pub fn code(&self) -> &str {
        &self.error.code
    }
    /// What happened, in one line.
    pub fn message(&self) -> &str {
        &self.error.message
    }
    /// The key of the step that failed.
    pub fn step(&self) -> Option<&str> {
        self.error.key.as_ref().map(|key| &*key.0)
    }
    /// Where that is in the manifest: `weather.yaml:4:7`.
    pub fn place(&self) -> Option<String> {
        self.error.location.and_then(|at| self.flow.place(at))
    }
    /// All that is known about it.
    pub fn error(&self) -> &RunError {
        &self.error
    }
    /// The run's id, and the calls, tokens and time that it has taken.
    pub fn outcome(&self) -> &RunOutcome {
        &self.outcome
    }
}

/// For people, with the lines of the manifest, without colours.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = [failed(&self.error)];
        f.write_str(text(&found, &self.flow.loaded().files, Default::default()).trim_end())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
