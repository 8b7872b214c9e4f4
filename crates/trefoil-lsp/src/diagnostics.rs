//! Diagnostics: the findings of a check, file by file, as an editor shows them.

use trefoil_syntax::{Diagnostic, FileId, Span};

use crate::analysis::Analysis;

/// A mark beside the severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tag {
    /// Nobody uses it: shown faded.
    Unused,
    /// A spelling of yesterday: shown struck out.
    Deprecated,
}

/// The findings of a file, in its order.
pub fn diagnostics(analysis: &Analysis, file: FileId) -> impl Iterator<Item = &Diagnostic> {
    analysis.shown().iter().filter(move |d| d.file == Some(file) && shown(d))
}

/// The bytes under which a finding is drawn; one about the whole file has its first line.
pub fn span(analysis: &Analysis, diagnostic: &Diagnostic) -> Span {
    let Some(span) = diagnostic.span else {
        let first = diagnostic.file.and_then(|f| analysis.source(f)).map(|f| f.line_span(1));
        return first.unwrap_or_default();
    };
    span
}

/// What an editor writes beside the mark.
pub fn message(diagnostic: &Diagnostic) -> String {
    match &diagnostic.help {
        Some(help) => format!("{}\nhelp: {help}", diagnostic.message),
        None => diagnostic.message.clone(),
    }
}

/// The mark that a rule's findings get.
pub fn tag(diagnostic: &Diagnostic) -> Option<Tag> {
    let rule = diagnostic.rule;
    if ["unused", "redundant", "unreachable-", "dead-", "no-effect"].iter().any(|of| rule.starts_with(of)) {
        Some(Tag::Unused)
    } else if rule.starts_with("deprecated") {
        Some(Tag::Deprecated)
    } else {
        None
    }
}

/// Other YAML is not our business, though `check` counts it in a folder and refuses it where it is named, as a text without a
/// file is.
fn shown(diagnostic: &Diagnostic) -> bool {
    !matches!(diagnostic.rule, "unknown-dialect" | "not-an-agent" | "yaml-empty")
}
