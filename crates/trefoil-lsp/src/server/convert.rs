//! Converts plain data to the protocol's types.

use std::collections::HashMap;

use gen_lsp_types as lsp;
use trefoil_check::rule;
use trefoil_ir::DeclarationKind;
use trefoil_syntax::{Diagnostic, Edit, FileId, Location, Severity, Span};

use super::position::Lines;
use super::session::Session;
use trefoil_project::door::real;

use crate::analysis::Analysis;
use crate::create::Creation;
use crate::diagnostics::{self, Tag};
use crate::symbols::Symbol;

/// The URL of the rule pages.
const PAGES: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/rules.md#");

/// Converts data of an analysis for one client. Caches the lines of files.
pub struct Converter<'s> {
    session: &'s Session,
    analysis: &'s Analysis,
    lines: HashMap<FileId, Lines<'s>>,
}

impl<'s> Converter<'s> {
    /// Creates a converter for one response.
    pub fn new(session: &'s Session, analysis: &'s Analysis) -> Self {
        Self { session, analysis, lines: HashMap::new() }
    }
    /// Converts a span of a file.
    pub fn range(&mut self, file: FileId, span: Span) -> lsp::Range {
        let (analysis, encoding) = (self.analysis, self.session.encoding());
        self.lines.entry(file).or_insert_with(|| Lines::new(analysis.text(file), encoding)).range(span)
    }
    /// The client's URI of a file.
    pub fn uri(&self, file: FileId) -> Option<lsp::Uri> {
        let name = self.analysis.source(file)?.name();
        Some(self.session.uri(&real(std::path::Path::new(name))))
    }
    /// Converts a location.
    pub fn location(&mut self, at: Location) -> Option<lsp::Location> {
        Some(lsp::Location { uri: self.uri(at.file)?, range: self.range(at.file, at.span) })
    }
    /// Converts a finding.
    pub fn diagnostic(&mut self, d: &Diagnostic) -> lsp::Diagnostic {
        let span = diagnostics::span(self.analysis, d);
        let related =
            d.labels.iter().filter(|_| self.session.related).map(|label| (label.location, label.message.clone()));
        let related: Vec<_> = related.collect();
        let related: Vec<_> = related
            .into_iter()
            .filter_map(|(at, message)| {
                Some(lsp::DiagnosticRelatedInformation { location: self.location(at)?, message })
            })
            .collect();
        lsp::Diagnostic {
            range: d.file.map(|file| self.range(file, span)).unwrap_or_default(),
            severity: Some(match d.severity {
                Severity::Error => lsp::DiagnosticSeverity::Error,
                Severity::Warning => lsp::DiagnosticSeverity::Warning,
                Severity::Info => lsp::DiagnosticSeverity::Information,
                Severity::Hint => lsp::DiagnosticSeverity::Hint,
            }),
            code: Some(lsp::Code::String(d.rule.to_owned())),
            code_description: rule(d.rule)
                .map(|rule| lsp::CodeDescription { href: lsp::Uri(format!("{PAGES}{}", rule.name)) }),
            source: Some("trefoil".to_owned()),
            message: lsp::Message::String(diagnostics::message(d)),
            tags: diagnostics::tag(d)
                .map(|tag| match tag {
                    Tag::Unused => lsp::DiagnosticTag::Unnecessary,
                    Tag::Deprecated => lsp::DiagnosticTag::Deprecated,
                })
                .filter(|tag| self.session.tags.contains(tag))
                .map(|tag| vec![tag]),
            related_information: (!related.is_empty()).then_some(related),
            data: None,
        }
    }
    /// Converts a symbol and its children.
    pub fn symbol(&mut self, file: FileId, symbol: &Symbol) -> lsp::DocumentSymbol {
        let children: Vec<_> = symbol.children.iter().map(|c| self.symbol(file, c)).collect();
        #[allow(deprecated, reason = "the type has a field that is not used any more")]
        lsp::DocumentSymbol {
            name: symbol.name.clone(),
            detail: symbol.detail.clone(),
            kind: symbol_kind(symbol.kind),
            tags: None,
            deprecated: None,
            range: self.range(file, symbol.extent),
            selection_range: self.range(file, symbol.selection),
            children: (!children.is_empty()).then_some(children),
        }
    }
    /// Converts edits and new files. Every client that can create files supports this form.
    pub fn creation(&mut self, made: &Creation) -> lsp::WorkspaceEdit {
        let mut out = self.edit(&made.edits);
        if made.files.is_empty() {
            return out;
        }
        let mut changes: Vec<lsp::DocumentChange> = Vec::new();
        let mut put = |uri: lsp::Uri, edits: Vec<lsp::TextEdit>| {
            let text_document_identifier = lsp::TextDocumentIdentifier { uri };
            let text_document =
                lsp::OptionalVersionedTextDocumentIdentifier { version: None, text_document_identifier };
            let edits = edits.into_iter().map(Into::into).collect();
            changes.push(lsp::TextDocumentEdit { text_document, edits }.into());
        };
        for (path, text) in &made.files {
            put(self.session.uri(path), vec![beginning(text.clone())]);
        }
        out.changes.take().into_iter().flatten().for_each(|(uri, edits)| put(uri, edits));
        let new = made.files.iter().map(|(path, _)| {
            let create = lsp::CreateFile::new(self.session.uri(path), None, None);
            lsp::DocumentChange::CreateFile(create)
        });
        out.document_changes = Some(new.chain(changes).collect());
        out
    }
    /// Converts edits, grouped by file.
    pub fn edit<'e>(&mut self, edits: impl IntoIterator<Item = &'e Edit>) -> lsp::WorkspaceEdit {
        let mut changes: HashMap<lsp::Uri, Vec<lsp::TextEdit>> = HashMap::new();
        for edit in edits {
            let Some(uri) = self.uri(edit.location.file) else { continue };
            let range = self.range(edit.location.file, edit.location.span);
            changes.entry(uri).or_default().push(lsp::TextEdit { range, new_text: edit.text.clone() });
        }
        lsp::WorkspaceEdit { changes: Some(changes), ..Default::default() }
    }
}

/// An insertion at the start of a file.
fn beginning(text: String) -> lsp::TextEdit {
    lsp::TextEdit { range: lsp::Range::default(), new_text: text }
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
