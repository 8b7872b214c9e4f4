//! Requests about a name or a place.

use std::path::{Path, PathBuf};

use gen_lsp_types as lsp;
use lsp_server::ErrorCode;
use trefoil_syntax::FileId;

use super::LspRequestError;
use crate::analysis::FolderAnalysis;
use crate::server::converter::ProtocolConverter;
use crate::server::session::EditorSession;
use crate::{
    completion as feature, definition as definitions, highlight, hover as hovers, references as reference,
    rename as renames, signature,
};
use trefoil_project::file_access::resolve_links;

pub fn answer_completion(
    session: &mut EditorSession,
    params: lsp::CompletionParams,
) -> Result<Option<lsp::CompletionList>, LspRequestError> {
    let at = params.text_document_position_params;
    let Some(place) = session.find_position(&at.text_document.uri, at.position) else { return Ok(None) };
    let workspace = &session.workspace;
    let found = feature::complete_at(&place.analysis, place.file, place.offset, &mut |text| {
        workspace.names_with(&place.path, text)
    });
    let mut converter = ProtocolConverter::new(session, &place.analysis);
    let range = converter.convert_range(place.file, found.replace);
    let items = found.items.into_iter().enumerate().map(|(rank, item)| completion_item(rank, item, range)).collect();
    Ok(Some(lsp::CompletionList { is_incomplete: false, items, ..Default::default() }))
}

fn completion_item(rank: usize, item: feature::CompletionItem, range: lsp::Range) -> lsp::CompletionItem {
    use feature::CompletionKind;
    let kind = match item.sort {
        CompletionKind::Name => lsp::CompletionItemKind::Variable,
        CompletionKind::Property => lsp::CompletionItemKind::Field,
        CompletionKind::Key => lsp::CompletionItemKind::Property,
        CompletionKind::Value => lsp::CompletionItemKind::EnumMember,
        CompletionKind::Word => lsp::CompletionItemKind::Keyword,
        CompletionKind::Rule => lsp::CompletionItemKind::Reference,
    };
    lsp::CompletionItem {
        label: item.label,
        kind: Some(kind),
        detail: item.detail,
        documentation: item.documentation.map(|text| lsp::Documentation::MarkupContent(markdown(text))),
        sort_text: Some(format!("{rank:05}")),
        text_edit: Some(lsp::TextEdit { range, new_text: item.insert }.into()),
        ..Default::default()
    }
}

fn markdown(value: String) -> lsp::MarkupContent {
    lsp::MarkupContent { kind: lsp::MarkupKind::Markdown, value }
}

pub fn answer_hover(
    session: &mut EditorSession,
    params: lsp::HoverParams,
) -> Result<Option<lsp::Hover>, LspRequestError> {
    let at = params.text_document_position_params;
    let Some(place) = session.find_position(&at.text_document.uri, at.position) else { return Ok(None) };
    let Some(mut found) = hovers::describe_at(&place.analysis, place.file, place.offset) else { return Ok(None) };
    let path = highlight::path_to(place.analysis.file_text(place.file), found.span);
    let now = place.analysis.file_text(place.file);
    if let Some(last) = session.last_run(&place)
        && let Some(value) = last.placeholder_value(&place.path, path, now, found.span.start)
    {
        let fence = "`".repeat(3);
        found.text.push_str(&format!("\n\nin the last run ({}):\n\n{fence}text\n{value}\n{fence}", last.run.run));
    }
    let range = ProtocolConverter::new(session, &place.analysis).convert_range(place.file, found.span);
    Ok(Some(lsp::Hover { contents: lsp::Contents::MarkupContent(markdown(found.text)), range: Some(range) }))
}

pub fn answer_definition(
    session: &mut EditorSession,
    params: lsp::DefinitionParams,
) -> Result<Option<Vec<lsp::Location>>, LspRequestError> {
    let at = params.text_document_position_params;
    let Some(place) = session.find_position(&at.text_document.uri, at.position) else { return Ok(None) };
    let found = definitions::find_definitions(&place.analysis, place.file, place.offset);
    let mut converter = ProtocolConverter::new(session, &place.analysis);
    Ok(Some(found.into_iter().filter_map(|at| converter.convert_location(at)).collect()))
}

pub fn answer_references(
    session: &mut EditorSession,
    params: lsp::ReferenceParams,
) -> Result<Option<Vec<lsp::Location>>, LspRequestError> {
    let at = params.text_document_position_params;
    let Some(place) = session.find_position(&at.text_document.uri, at.position) else { return Ok(None) };
    let declaration = params.context.include_declaration;
    let found = reference::find_references(&place.analysis, place.file, place.offset, declaration);
    let mut converter = ProtocolConverter::new(session, &place.analysis);
    Ok(Some(found.into_iter().filter_map(|at| converter.convert_location(at)).collect()))
}

pub fn prepare_rename(
    session: &mut EditorSession,
    params: lsp::PrepareRenameParams,
) -> Result<Option<lsp::PrepareRenamePlaceholder>, LspRequestError> {
    let at = params.text_document_position_params;
    let Some(place) = session.find_position(&at.text_document.uri, at.position) else { return Ok(None) };
    let Some((span, placeholder)) = renames::prepare_rename(&place.analysis, place.file, place.offset) else {
        return Ok(None);
    };
    let range = ProtocolConverter::new(session, &place.analysis).convert_range(place.file, span);
    Ok(Some(lsp::PrepareRenamePlaceholder { range, placeholder }))
}

pub fn answer_rename(
    session: &mut EditorSession,
    params: lsp::RenameParams,
) -> Result<Option<lsp::WorkspaceEdit>, LspRequestError> {
    let at = params.text_document_position_params;
    let Some(place) = session.find_position(&at.text_document.uri, at.position) else { return Ok(None) };
    let refuse = |message: String| LspRequestError::new(ErrorCode::RequestFailed, message);
    let before = &place.analysis;
    let found = renames::plan_rename(before, place.file, place.offset, &params.new_name).map_err(refuse)?;
    let mut files: Vec<_> = found.edits.iter().map(|e| e.location.file).collect();
    files.dedup();
    let mut texts = Vec::new();
    for file in files {
        if let Some(path) = source_path(before, file) {
            let edits = found.edits.iter().filter(|e| e.location.file == file);
            texts.push((path, renames::apply_edits(before.file_text(file), edits)));
        }
    }
    if let Some(after) = session.workspace.analysis_after(&place.path, texts) {
        found.check_outcome(before, &after, |file| after.find_file(&source_path(before, file)?)).map_err(refuse)?;
    }
    match ProtocolConverter::new(session, before).convert_edits(&found.edits) {
        Some(edit) => Ok(Some(edit)),
        None => Err(refuse("a file outside the folder uses this name, too".to_owned())),
    }
}

/// The path of a file, without symbolic links.
fn source_path(analysis: &FolderAnalysis, file: FileId) -> Option<PathBuf> {
    Some(resolve_links(Path::new(analysis.source_file(file)?.name())))
}

pub fn document_highlight(
    session: &mut EditorSession,
    params: lsp::DocumentHighlightParams,
) -> Result<Option<Vec<lsp::DocumentHighlight>>, LspRequestError> {
    let at = params.text_document_position_params;
    let Some(place) = session.find_position(&at.text_document.uri, at.position) else { return Ok(None) };
    let mut converter = ProtocolConverter::new(session, &place.analysis);
    let mut out = Vec::new();
    for (span, sort) in highlight::find_highlights(&place.analysis, place.file, place.offset) {
        out.push(lsp::DocumentHighlight {
            range: converter.convert_range(place.file, span),
            kind: Some(match sort {
                highlight::HighlightSort::Text => lsp::DocumentHighlightKind::Text,
                highlight::HighlightSort::Read => lsp::DocumentHighlightKind::Read,
                highlight::HighlightSort::Write => lsp::DocumentHighlightKind::Write,
            }),
        });
    }
    Ok(Some(out))
}

pub fn signature_help(
    session: &mut EditorSession,
    params: lsp::SignatureHelpParams,
) -> Result<Option<lsp::SignatureHelp>, LspRequestError> {
    let at = params.text_document_position_params;
    let Some(place) = session.find_position(&at.text_document.uri, at.position) else { return Ok(None) };
    let Some(found) = signature::find_signature(&place.analysis, place.file, place.offset) else { return Ok(None) };
    let mut parameters = Vec::new();
    for range in found.arguments {
        parameters.push(lsp::ParameterInformation {
            // Usages are ASCII, so bytes equal columns in every encoding.
            label: lsp::ParameterInformationLabel::Tuple((range.start, range.end)),
            documentation: None,
        });
    }
    let active = found.active as u32;
    let signature = lsp::SignatureInformation {
        label: found.label,
        documentation: Some(lsp::Documentation::MarkupContent(markdown(found.about.to_owned()))),
        parameters: Some(parameters),
        active_parameter: Some(active.into()),
    };
    Ok(Some(lsp::SignatureHelp {
        signatures: vec![signature],
        active_signature: Some(0),
        active_parameter: Some(active.into()),
    }))
}
