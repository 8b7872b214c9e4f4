//! Diagnostics: the findings of a check for each file, as an editor shows them.

use trefoil_syntax::{Diagnostic, FileId, SourceFile, Span};

use crate::analysis::FolderAnalysis;

/// A mark in addition to the severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingTag {
    /// Unused; shown faded.
    Unused,
    /// Deprecated; shown struck out.
    Deprecated,
}

/// The findings of a file, in its order.
pub fn file_diagnostics(analysis: &FolderAnalysis, file: FileId) -> impl Iterator<Item = &Diagnostic> {
    analysis.displayed_diagnostics().iter().filter(move |d| d.file == Some(file) && shown(d))
}

/// The bytes that a finding underlines. A finding about the whole file underlines its first line.
pub fn underlined_span(analysis: &FolderAnalysis, diagnostic: &Diagnostic) -> Span {
    if let Some(span) = diagnostic.span {
        return span;
    }
    match source_of(analysis, diagnostic) {
        Some(source) => source.line_span(1),
        None => Span::default(),
    }
}

/// The file that a finding is about.
pub fn source_of<'a>(analysis: &'a FolderAnalysis, diagnostic: &Diagnostic) -> Option<&'a SourceFile> {
    analysis.source_file(diagnostic.file?)
}

/// The text that an editor shows.
pub fn editor_message(diagnostic: &Diagnostic) -> String {
    match &diagnostic.help {
        Some(help) => format!("{}\nhelp: {help}", diagnostic.message),
        None => diagnostic.message.clone(),
    }
}

/// The mark for the findings of a rule.
pub fn finding_tag(diagnostic: &Diagnostic) -> Option<FindingTag> {
    let rule = diagnostic.rule;
    if ["unused", "redundant", "unreachable-", "dead-", "no-effect"].iter().any(|of| rule.starts_with(of)) {
        Some(FindingTag::Unused)
    } else if rule.starts_with("deprecated") {
        Some(FindingTag::Deprecated)
    } else {
        None
    }
}

/// Hides findings about YAML files that are not manifests. `check` reports such a file only if it is named explicitly.
fn shown(diagnostic: &Diagnostic) -> bool {
    !matches!(diagnostic.rule, "unknown-dialect" | "not-an-agent" | "yaml-empty")
}
