//! What a person is told about a manifest, as data. One renderer a file beside this one.

pub mod edit;
pub mod render;
mod shared;

pub use shared::Shared;

use crate::file::FileId;
use crate::span::{Location, Span};

/// How bad it is. Ordered: `Hint < Info < Warning < Error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// How something usual works that is as it should be: shown only to who asks for it.
    Hint,
    /// Worth knowing, nothing to fix.
    Info,
    /// Runs, but not as written or not as meant.
    Warning,
    /// Cannot run.
    Error,
}

/// A second place that explains the first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Label {
    /// Where.
    pub location: Location,
    /// What is there.
    pub message: String,
}

/// One finding. Message: lower case, no full stop, user text in backticks; the advice is in `help`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// Stable kebab-case rule name.
    pub rule: &'static str,
    /// It is about a name after other names, which rules about properties used to report: what levels and comments say about
    /// those holds for it as well.
    pub of_property: bool,
    /// How bad it is.
    pub severity: Severity,
    /// One line that stands alone.
    pub message: String,
    /// The file it is about, if any.
    pub file: Option<FileId>,
    /// The bytes it is about; none for findings about a whole file or about none.
    pub span: Option<Span>,
    /// What to do.
    pub help: Option<String>,
    /// Other places involved.
    pub labels: Vec<Label>,
    /// A change that fixes it.
    pub fix: Option<Box<Fix>>,
}

/// A change of the text that fixes a finding.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fix {
    /// What it does: `write `topic``.
    pub message: String,
    /// What is replaced; they do not overlap.
    pub edits: Vec<Edit>,
    /// Whether it can be applied without a person looking: the result means what was surely meant.
    pub safe: bool,
}

/// Bytes of a file replaced by a text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Edit {
    /// What goes; empty: the text is put in before it.
    pub location: Location,
    /// What comes.
    pub text: String,
}

impl Diagnostic {
    /// A finding at a place.
    pub fn new(rule: &'static str, severity: Severity, at: Location, message: impl Into<String>) -> Self {
        Self {
            rule,
            of_property: false,
            severity,
            message: message.into(),
            file: Some(at.file),
            span: Some(at.span),
            help: None,
            labels: Vec::new(),
            fix: None,
        }
    }
    /// A finding about no place in a file.
    pub fn nowhere(rule: &'static str, severity: Severity, file: Option<FileId>, message: impl Into<String>) -> Self {
        Self {
            rule,
            of_property: false,
            severity,
            message: message.into(),
            file,
            span: None,
            help: None,
            labels: Vec::new(),
            fix: None,
        }
    }
    /// An error at a place.
    pub fn error(rule: &'static str, at: Location, message: impl Into<String>) -> Self {
        Self::new(rule, Severity::Error, at, message)
    }
    /// A warning at a place.
    pub fn warning(rule: &'static str, at: Location, message: impl Into<String>) -> Self {
        Self::new(rule, Severity::Warning, at, message)
    }
    /// An info line at a place.
    pub fn info(rule: &'static str, at: Location, message: impl Into<String>) -> Self {
        Self::new(rule, Severity::Info, at, message)
    }
    /// The same, about a name after other names.
    #[must_use]
    pub fn of_property(mut self) -> Self {
        self.of_property = true;
        self
    }
    /// The same with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
    /// The same with a change that surely fixes it.
    #[must_use]
    pub fn fix(self, message: impl Into<String>, at: Location, text: impl Into<String>) -> Self {
        self.with_fix(message, at, text, true)
    }
    /// The same with a change that probably fixes it: a person has to look.
    #[must_use]
    pub fn suggestion(self, message: impl Into<String>, at: Location, text: impl Into<String>) -> Self {
        self.with_fix(message, at, text, false)
    }
    fn with_fix(mut self, message: impl Into<String>, at: Location, text: impl Into<String>, safe: bool) -> Self {
        let edits = vec![Edit { location: at, text: text.into() }];
        self.fix = Some(Box::new(Fix { message: message.into(), edits, safe }));
        self
    }
    /// The same with another place.
    #[must_use]
    pub fn label(mut self, at: Location, message: impl Into<String>) -> Self {
        self.labels.push(Label { location: at, message: message.into() });
        self
    }
}

/// Findings in the order of reporting.
#[derive(Debug, Clone, Default)]
pub struct Diagnostics {
    items: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Adds a finding.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.items.push(diagnostic);
    }
    /// Adds all of them.
    pub fn extend(&mut self, all: impl IntoIterator<Item = Diagnostic>) {
        self.items.extend(all);
    }
    /// The findings so far.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.items.iter()
    }
    /// How many.
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// Whether one of them is an error.
    pub fn has_errors(&self) -> bool {
        self.items.iter().any(|d| d.severity == Severity::Error)
    }
    /// All of them, by file and place, worst first at one place.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.items.sort_by_key(|d| (d.file, d.span.map(|s| (s.start, s.end)), std::cmp::Reverse(d.severity)));
        self.items
    }
}
