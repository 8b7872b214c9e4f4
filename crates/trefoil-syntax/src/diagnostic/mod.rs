//! Findings about manifests, as data. Each renderer is one file in `render`.

pub mod edit;
mod merged_diagnostics;
pub mod render;

pub use merged_diagnostics::MergedDiagnostics;

use crate::span::{FileId, Location, Span};

/// The severity of a finding. Ordered: `Hint < Info < Warning < Error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FindingSeverity {
    /// A remark about correct, common code. Shown only on request.
    Hint,
    /// Worth knowing, nothing to fix.
    Info,
    /// Runs, but not as written or not as intended.
    Warning,
    /// Cannot run.
    Error,
}

/// A second place that explains the finding.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DiagnosticLabel {
    /// The place.
    pub location: Location,
    /// A description of the place.
    pub message: String,
}

/// One finding. The message is in lower case, has no full stop, and quotes user text in backticks; advice goes into
/// `help`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Diagnostic {
    /// Stable kebab-case rule name.
    pub rule: &'static str,
    /// Whether the finding is about a property of a name. Rules about properties used to report these findings, so
    /// levels and comments for those rules apply to it as well.
    pub of_property: bool,
    /// The severity.
    pub severity: FindingSeverity,
    /// One line that makes sense on its own.
    pub message: String,
    /// The file, if the finding has one.
    pub file: Option<FileId>,
    /// The bytes it is about; `None` if it is about a whole file or no file.
    pub span: Option<Span>,
    /// Advice: what to do.
    pub help: Option<String>,
    /// Other places involved.
    pub labels: Vec<DiagnosticLabel>,
    /// A change that fixes or may fix it.
    pub fix: Option<Box<Fix>>,
}

/// A change to the text that fixes a finding.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fix {
    /// What the change does: `write `topic``.
    pub message: String,
    /// The edits, which do not overlap.
    pub edits: Vec<SourceEdit>,
    /// Whether it can be applied without review, because the result is certainly what was meant.
    pub safe: bool,
}

/// A text that replaces bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SourceEdit {
    /// The replaced bytes; if empty, the text is inserted before them.
    pub location: Location,
    /// The new text.
    pub text: String,
}

impl Diagnostic {
    /// A finding at a place.
    pub fn new(rule: &'static str, severity: FindingSeverity, at: Location, message: impl Into<String>) -> Self {
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
    /// A finding without a place in a file.
    pub fn without_location(
        rule: &'static str,
        severity: FindingSeverity,
        file: Option<FileId>,
        message: impl Into<String>,
    ) -> Self {
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
    pub fn new_error(rule: &'static str, at: Location, message: impl Into<String>) -> Self {
        Self::new(rule, FindingSeverity::Error, at, message)
    }
    /// A warning at a place.
    pub fn new_warning(rule: &'static str, at: Location, message: impl Into<String>) -> Self {
        Self::new(rule, FindingSeverity::Warning, at, message)
    }
    /// An info line at a place.
    pub fn new_info(rule: &'static str, at: Location, message: impl Into<String>) -> Self {
        Self::new(rule, FindingSeverity::Info, at, message)
    }
    /// Marks the finding as being about a property of a name.
    #[must_use]
    pub fn of_property(mut self) -> Self {
        self.of_property = true;
        self
    }
    /// Adds advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
    /// Adds a change that certainly fixes it.
    #[must_use]
    pub fn with_safe_fix(self, message: impl Into<String>, at: Location, text: impl Into<String>) -> Self {
        self.with_fix(message, at, text, true)
    }
    /// Adds a change that probably fixes it and needs review.
    #[must_use]
    pub fn with_suggestion(self, message: impl Into<String>, at: Location, text: impl Into<String>) -> Self {
        self.with_fix(message, at, text, false)
    }
    fn with_fix(mut self, message: impl Into<String>, at: Location, text: impl Into<String>, safe: bool) -> Self {
        let edits = vec![SourceEdit { location: at, text: text.into() }];
        self.fix = Some(Box::new(Fix { message: message.into(), edits, safe }));
        self
    }
    /// Adds a label for another place.
    #[must_use]
    pub fn with_label(mut self, at: Location, message: impl Into<String>) -> Self {
        self.labels.push(DiagnosticLabel { location: at, message: message.into() });
        self
    }
}

/// A list of findings, in the order in which they were reported.
#[derive(Debug, Clone, Default)]
pub struct DiagnosticList {
    items: Vec<Diagnostic>,
}

impl DiagnosticList {
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
    /// The number of findings.
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Whether there are no findings.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// Whether any finding is an error.
    pub fn has_errors(&self) -> bool {
        self.items.iter().any(|d| d.severity == FindingSeverity::Error)
    }
    /// All findings, sorted by file and place; at the same place, the most severe first.
    pub fn into_sorted(mut self) -> Vec<Diagnostic> {
        self.items.sort_by_key(|d| (d.file, d.span.map(|s| (s.start, s.end)), std::cmp::Reverse(d.severity)));
        self.items
    }
}
