//! Requests: from the protocol to a feature and back. A new request needs one line in [`answer`] and one function in a
//! file of this folder.

mod actions;
mod names;
mod outline;
mod pull;
mod tokens;

use lsp_server::ErrorCode;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::session::Session;

/// An error response.
pub struct Refused {
    /// The protocol's error code.
    pub code: ErrorCode,
    /// The message for the user.
    pub message: String,
}

impl Refused {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

type Answer = Result<Value, Refused>;

/// Answers a request.
pub fn answer(session: &mut Session, method: &str, params: Value) -> Answer {
    match method {
        "textDocument/completion" => with(session, params, names::completion),
        "textDocument/hover" => with(session, params, names::hover),
        "textDocument/signatureHelp" => with(session, params, names::signature_help),
        "textDocument/definition" => with(session, params, names::definition),
        "textDocument/references" => with(session, params, names::references),
        "textDocument/documentHighlight" => with(session, params, names::document_highlight),
        "textDocument/prepareRename" => with(session, params, names::prepare_rename),
        "textDocument/rename" => with(session, params, names::rename),
        "textDocument/inlayHint" => with(session, params, outline::inlay_hints),
        "textDocument/documentSymbol" => with(session, params, outline::document_symbol),
        "workspace/symbol" => with(session, params, outline::workspace_symbol),
        "textDocument/foldingRange" => with(session, params, outline::folding_range),
        "textDocument/selectionRange" => with(session, params, outline::selection_range),
        "textDocument/documentLink" => with(session, params, outline::document_link),
        "textDocument/codeLens" => with(session, params, outline::code_lens),
        "textDocument/semanticTokens/full" => with(session, params, tokens::full),
        "textDocument/semanticTokens/full/delta" => with(session, params, tokens::delta),
        "textDocument/semanticTokens/range" => with(session, params, tokens::range),
        "textDocument/diagnostic" => with(session, params, pull::diagnostic),
        "textDocument/codeAction" => with(session, params, actions::code_actions),
        "workspace/executeCommand" => with(session, params, actions::execute_command),
        _ => Err(Refused::new(ErrorCode::MethodNotFound, format!("the method `{method}` is not supported"))),
    }
}

fn with<P: DeserializeOwned, R: Serialize>(
    session: &mut Session,
    params: Value,
    f: impl FnOnce(&mut Session, P) -> Result<R, Refused>,
) -> Answer {
    let params = serde_json::from_value(params).map_err(|e| Refused::new(ErrorCode::InvalidParams, e.to_string()))?;
    let result = f(session, params)?;
    serde_json::to_value(result).map_err(|e| Refused::new(ErrorCode::InternalError, e.to_string()))
}
