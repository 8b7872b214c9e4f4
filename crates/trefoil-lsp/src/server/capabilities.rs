//! The server's capabilities.

use gen_lsp_types as lsp;
use serde_json::{Value, json};

use super::session::EditorSession;
use crate::{lens, semantic_tokens};

/// The result of `initialize`.
pub fn initialize_result(session: &EditorSession) -> Value {
    let is_elsewhere = session.is_elsewhere();
    let capabilities = lsp::ServerCapabilities {
        position_encoding: Some(session.column_encoding().kind()),
        text_document_sync: Some(lsp::TextDocumentSync::Options(lsp::TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(lsp::TextDocumentSyncKind::Incremental),
            save: Some(lsp::Save::Bool(true)),
            ..Default::default()
        })),
        completion_provider: Some(lsp::CompletionOptions {
            trigger_characters: Some(["{", ".", " ", ":", "#", "|", "\""].map(str::to_owned).into()),
            ..Default::default()
        }),
        hover_provider: Some(true.into()),
        definition_provider: Some(true.into()),
        references_provider: Some(true.into()),
        document_highlight_provider: Some(true.into()),
        signature_help_provider: Some(lsp::SignatureHelpOptions {
            trigger_characters: Some([" ", "("].map(str::to_owned).into()),
            retrigger_characters: Some([","].map(str::to_owned).into()),
            ..Default::default()
        }),
        rename_provider: Some(lsp::RenameProvider::RenameOptions(lsp::RenameOptions {
            prepare_provider: Some(true),
            ..Default::default()
        })),
        inlay_hint_provider: Some(true.into()),
        code_action_provider: Some(lsp::CodeActionProvider::CodeActionOptions(lsp::CodeActionOptions {
            code_action_kinds: Some(vec![lsp::CodeActionKind::QuickFix, lsp::CodeActionKind::SourceFixAll]),
            ..Default::default()
        })),
        document_symbol_provider: Some(true.into()),
        workspace_symbol_provider: Some(true.into()),
        document_link_provider: Some(lsp::DocumentLinkOptions::default()),
        code_lens_provider: if is_elsewhere { None } else { Some(lsp::CodeLensOptions::default()) },
        // Only the commands that the client does not register itself.
        execute_command_provider: if is_elsewhere { None } else { Some(commands(session)) },
        // A client that gets diagnostics both pushed and pulled would show them twice.
        diagnostic_provider: if session.pulls { Some(pulled_diagnostics().into()) } else { None },
        semantic_tokens_provider: Some(
            lsp::SemanticTokensOptions {
                legend: lsp::SemanticTokensLegend {
                    token_types: semantic_tokens::TokenKind::ALL.iter().map(|k| k.name().to_owned()).collect(),
                    token_modifiers: Vec::new(),
                },
                range: Some(true.into()),
                full: Some(lsp::SemanticTokensFullDelta { delta: Some(true) }.into()),
                ..Default::default()
            }
            .into(),
        ),
        workspace: if is_elsewhere { None } else { Some(changing_folders()) },
        ..Default::default()
    };
    json!({
        "capabilities": capabilities,
        "serverInfo": { "name": "trefoil", "version": env!("CARGO_PKG_VERSION") },
    })
}

/// The client may open and close folders.
fn changing_folders() -> lsp::WorkspaceOptions {
    lsp::WorkspaceOptions {
        workspace_folders: Some(lsp::WorkspaceFoldersServerCapabilities {
            supported: Some(true),
            change_notifications: Some(true.into()),
        }),
        ..Default::default()
    }
}

fn pulled_diagnostics() -> lsp::DiagnosticOptions {
    lsp::DiagnosticOptions {
        identifier: None,
        inter_file_dependencies: true,
        workspace_diagnostics: false,
        ..Default::default()
    }
}

/// The commands that the client does not have.
fn commands(session: &EditorSession) -> lsp::ExecuteCommandOptions {
    let mut commands = Vec::new();
    for action in lens::LensAction::ALL {
        if !session.commands.contains(&action) {
            commands.push(action.command_name().to_owned());
        }
    }
    lsp::ExecuteCommandOptions { commands, ..Default::default() }
}
