//! Converts plain data to the protocol's types.

use std::collections::HashMap;

use gen_lsp_types as lsp;
use trefoil_check::find_rule;
use trefoil_ir::DeclarationKind;
use trefoil_syntax::{Diagnostic, FileId, FindingSeverity, Location, SourceEdit, Span};

use super::position::LineIndex;
use super::session::EditorSession;
use trefoil_project::file_access::resolve_links;

use crate::analysis::FolderAnalysis;
use crate::creation::CreationProposal;
use crate::diagnostics::{self, FindingTag};
use crate::symbols::OutlineSymbol;

/// The URL of the rule pages.
const PAGES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/rules.md#");

/// Converts data of an analysis for one client. Caches the lines of files.
pub struct ProtocolConverter<'s> {
    session: &'s EditorSession,
    analysis: &'s FolderAnalysis,
    lines: HashMap<FileId, LineIndex<'s>>,
}

impl<'s> ProtocolConverter<'s> {
    /// Creates a converter for one response.
    pub fn new(session: &'s EditorSession, analysis: &'s FolderAnalysis) -> Self {
        Self { session, analysis, lines: HashMap::new() }
    }
    /// Converts a span of a file.
    pub fn convert_range(&mut self, file: FileId, span: Span) -> lsp::Range {
        let (analysis, encoding) = (self.analysis, self.session.column_encoding());
        self.lines.entry(file).or_insert_with(|| LineIndex::new(analysis.file_text(file), encoding)).span_range(span)
    }
    /// The client's URI of a file.
    pub fn file_uri(&self, file: FileId) -> Option<lsp::Uri> {
        let name = self.analysis.source_file(file)?.name();
        self.session.client_uri(&resolve_links(std::path::Path::new(name)))
    }
    /// Converts a location.
    pub fn convert_location(&mut self, at: Location) -> Option<lsp::Location> {
        Some(lsp::Location { uri: self.file_uri(at.file)?, range: self.convert_range(at.file, at.span) })
    }
    /// Converts a finding.
    pub fn convert_diagnostic(&mut self, d: &Diagnostic) -> lsp::Diagnostic {
        let span = diagnostics::underlined_span(self.analysis, d);
        let related = self.convert_labels(d);
        lsp::Diagnostic {
            range: match d.file {
                Some(file) => self.convert_range(file, span),
                None => lsp::Range::default(),
            },
            severity: Some(match d.severity {
                FindingSeverity::Error => lsp::DiagnosticSeverity::Error,
                FindingSeverity::Warning => lsp::DiagnosticSeverity::Warning,
                FindingSeverity::Info => lsp::DiagnosticSeverity::Information,
                FindingSeverity::Hint => lsp::DiagnosticSeverity::Hint,
            }),
            code: Some(lsp::Code::String(d.rule.to_owned())),
            code_description: find_rule(d.rule)
                .map(|rule| lsp::CodeDescription { href: lsp::Uri(format!("{PAGES}{}", rule.name)) }),
            source: Some("trefoil".to_owned()),
            message: lsp::Message::String(diagnostics::editor_message(d)),
            tags: self.convert_tag(d),
            related_information: if related.is_empty() { None } else { Some(related) },
            data: None,
        }
    }
    /// Converts the labels of a finding, if the client shows them.
    fn convert_labels(&mut self, d: &Diagnostic) -> Vec<lsp::DiagnosticRelatedInformation> {
        let mut related = Vec::new();
        if self.session.related {
            for label in &d.labels {
                if let Some(location) = self.convert_location(label.location) {
                    related.push(lsp::DiagnosticRelatedInformation { location, message: label.message.clone() });
                }
            }
        }
        related
    }
    /// Converts the tag of a finding, if the client supports it.
    fn convert_tag(&self, d: &Diagnostic) -> Option<Vec<lsp::DiagnosticTag>> {
        let tag = match diagnostics::finding_tag(d)? {
            FindingTag::Unused => lsp::DiagnosticTag::Unnecessary,
            FindingTag::Deprecated => lsp::DiagnosticTag::Deprecated,
        };
        if self.session.tags.contains(&tag) { Some(vec![tag]) } else { None }
    }
    /// Converts a symbol and its children.
    pub fn convert_symbol(&mut self, file: FileId, symbol: &OutlineSymbol) -> lsp::DocumentSymbol {
        let children: Vec<_> = symbol.children.iter().map(|c| self.convert_symbol(file, c)).collect();
        #[allow(deprecated, reason = "the type has a field that is not used any more")]
        lsp::DocumentSymbol {
            name: symbol.name.clone(),
            detail: symbol.detail.clone(),
            kind: symbol_kind(symbol.kind),
            tags: None,
            deprecated: None,
            range: self.convert_range(file, symbol.extent),
            selection_range: self.convert_range(file, symbol.selection),
            children: if children.is_empty() { None } else { Some(children) },
        }
    }
    /// Converts edits and new files. Every client that can create files supports this form. `None`: as [`Self::convert_edits`].
    pub fn convert_creation(&mut self, made: &CreationProposal) -> Option<lsp::WorkspaceEdit> {
        let mut out = self.convert_edits(&made.edits)?;
        if made.files.is_empty() {
            return Some(out);
        }
        let mut changes: Vec<lsp::DocumentChange> = Vec::new();
        for (path, _) in &made.files {
            let create = lsp::CreateFile::new(self.session.client_uri(path)?, None, None);
            changes.push(lsp::DocumentChange::CreateFile(create));
        }
        for (path, text) in &made.files {
            changes.push(document_edit(self.session.client_uri(path)?, vec![beginning(text.clone())]));
        }
        for (uri, edits) in out.changes.take().unwrap_or_default() {
            changes.push(document_edit(uri, edits));
        }
        out.document_changes = Some(changes);
        Some(out)
    }
    /// Converts edits, grouped by file. `None`: one of them is in a file that is not for the client, and a part of them would be wrong.
    pub fn convert_edits<'e>(&mut self, edits: impl IntoIterator<Item = &'e SourceEdit>) -> Option<lsp::WorkspaceEdit> {
        let mut changes: HashMap<lsp::Uri, Vec<lsp::TextEdit>> = HashMap::new();
        for edit in edits {
            let uri = self.file_uri(edit.location.file)?;
            let range = self.convert_range(edit.location.file, edit.location.span);
            changes.entry(uri).or_default().push(lsp::TextEdit { range, new_text: edit.text.clone() });
        }
        Some(lsp::WorkspaceEdit { changes: Some(changes), ..Default::default() })
    }
}

/// An insertion at the start of a file.
fn beginning(text: String) -> lsp::TextEdit {
    lsp::TextEdit { range: lsp::Range::default(), new_text: text }
}

/// The edits of one file.
fn document_edit(uri: lsp::Uri, edits: Vec<lsp::TextEdit>) -> lsp::DocumentChange {
    let text_document_identifier = lsp::TextDocumentIdentifier { uri };
    let text_document = lsp::OptionalVersionedTextDocumentIdentifier { version: None, text_document_identifier };
    lsp::TextDocumentEdit { text_document, edits: edits.into_iter().map(Into::into).collect() }.into()
}

/// The icon of a declaration.
pub fn symbol_kind(kind: DeclarationKind) -> lsp::SymbolKind {
    match kind {
        DeclarationKind::Agent => lsp::SymbolKind::Class,
        DeclarationKind::Workflow => lsp::SymbolKind::Module,
        DeclarationKind::Step => lsp::SymbolKind::Function,
        DeclarationKind::State => lsp::SymbolKind::Event,
        DeclarationKind::Node => lsp::SymbolKind::Method,
        DeclarationKind::Input => lsp::SymbolKind::Variable,
        DeclarationKind::Property => lsp::SymbolKind::Property,
        DeclarationKind::Key => lsp::SymbolKind::Key,
        DeclarationKind::Tool => lsp::SymbolKind::Interface,
    }
}
