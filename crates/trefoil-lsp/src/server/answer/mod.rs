//! Requests: from the protocol to a feature and back. A new request needs one line in [`answer_request`] and one function in a
//! file of this folder.

mod actions;
mod diagnostic_pull;
mod names;
mod outline;
mod tokens;

use gen_lsp_types::Uri;
use lsp_server::ErrorCode;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::session::EditorSession;

/// Requests that only a client on this machine may send: their results are commands for a terminal.
const FOR_THIS_MACHINE: [&str; 2] = ["textDocument/codeLens", "workspace/executeCommand"];

/// An error response.
pub struct LspRequestError {
    /// The protocol's error code.
    pub code: ErrorCode,
    /// The message for the user.
    pub message: String,
}

impl LspRequestError {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

type LspRequestResult = Result<Value, LspRequestError>;

/// Answers a request.
pub fn answer_request(session: &mut EditorSession, method: &str, params: Value) -> LspRequestResult {
    if session.is_elsewhere() {
        check_foreign_request(session, method, &params)?;
    }
    match method {
        "textDocument/completion" => with(session, params, names::answer_completion),
        "textDocument/hover" => with(session, params, names::answer_hover),
        "textDocument/signatureHelp" => with(session, params, names::signature_help),
        "textDocument/definition" => with(session, params, names::answer_definition),
        "textDocument/references" => with(session, params, names::answer_references),
        "textDocument/documentHighlight" => with(session, params, names::document_highlight),
        "textDocument/prepareRename" => with(session, params, names::prepare_rename),
        "textDocument/rename" => with(session, params, names::answer_rename),
        "textDocument/inlayHint" => with(session, params, outline::inlay_hints),
        "textDocument/documentSymbol" => with(session, params, outline::document_symbol),
        "workspace/symbol" => with(session, params, outline::workspace_symbol),
        "textDocument/documentLink" => with(session, params, outline::document_link),
        "textDocument/codeLens" => with(session, params, outline::code_lens),
        "textDocument/semanticTokens/full" => with(session, params, tokens::full_tokens),
        "textDocument/semanticTokens/full/delta" => with(session, params, tokens::token_changes),
        "textDocument/semanticTokens/range" => with(session, params, tokens::tokens_in_range),
        "textDocument/diagnostic" => with(session, params, diagnostic_pull::answer_diagnostic),
        "textDocument/codeAction" => with(session, params, actions::code_actions),
        "workspace/executeCommand" => with(session, params, actions::execute_command),
        _ => Err(LspRequestError::new(ErrorCode::MethodNotFound, format!("the method `{method}` is not supported"))),
    }
}

/// Refuses what a client elsewhere must not ask: files outside its folder, and what is about the terminal of this machine.
fn check_foreign_request(session: &EditorSession, method: &str, params: &Value) -> Result<(), LspRequestError> {
    if FOR_THIS_MACHINE.contains(&method) {
        return Err(LspRequestError::new(
            ErrorCode::MethodNotFound,
            format!("the method `{method}` is not supported here"),
        ));
    }
    let Some(uri) = params.pointer("/textDocument/uri").and_then(Value::as_str) else { return Ok(()) };
    match session.open_path(&Uri(uri.to_owned())) {
        Some(_) => Ok(()),
        None => Err(LspRequestError::new(ErrorCode::InvalidParams, "the file is not below the folder that is served")),
    }
}

fn with<P: DeserializeOwned, R: Serialize>(
    session: &mut EditorSession,
    params: Value,
    f: impl FnOnce(&mut EditorSession, P) -> Result<R, LspRequestError>,
) -> LspRequestResult {
    let params =
        serde_json::from_value(params).map_err(|e| LspRequestError::new(ErrorCode::InvalidParams, e.to_string()))?;
    let result = f(session, params)?;
    serde_json::to_value(result).map_err(|e| LspRequestError::new(ErrorCode::InternalError, e.to_string()))
}
