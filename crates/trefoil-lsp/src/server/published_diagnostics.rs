//! Sends diagnostics for the files of every analysed folder, if they have changed.

use std::collections::HashMap;
use std::hash::{Hash as _, Hasher as _};

use gen_lsp_types as lsp;
use lsp_server::{Message, Notification, Request, RequestId};
use serde_json::Value;
use trefoil_syntax::FileId;

use super::converter::ProtocolConverter;
use super::session::EditorSession;
use crate::analysis::FolderAnalysis;
use crate::diagnostics;

/// The diagnostics that have changed for the client. Files without findings any more get an empty list. A client that
/// pulls diagnostics of open files gets only those of other files.
pub fn publish_changes(session: &mut EditorSession) -> Vec<Message> {
    session.workspace.analyse_missing();
    let mut now: HashMap<String, Value> = HashMap::new();
    let mut stale = false;
    for (root, analysis) in session.workspace.list_analyses() {
        for (path, file) in analysis.list_files() {
            if session.workspace.speaks_for(path) != Some(root) {
                continue;
            }
            let open = session.workspace.find_buffer(path).map(|b| b.version);
            let found = collect_diagnostics(session, analysis, file);
            if session.pulls && open.is_some() {
                // The client requests the diagnostics of a changed file anyway.
                let is_outdated = matches!(session.pulled.get(path), Some(id) if *id != result_id(&found));
                stale |= is_outdated && !session.changed.contains(path);
                continue;
            }
            if found.is_empty() && open.is_none() {
                continue;
            }
            let Some(uri) = session.client_uri(path) else { continue };
            let params = lsp::PublishDiagnosticsParams { uri: uri.clone(), version: open, diagnostics: found };
            now.insert(uri.0, serde_json::to_value(params).unwrap_or_default());
        }
    }
    session.changed.clear();
    let mut out = Vec::new();
    for uri in session.published.keys() {
        if !now.contains_key(uri) {
            out.push(serde_json::json!({ "uri": uri, "diagnostics": [] }));
        }
    }
    for (uri, params) in &now {
        if session.published.get(uri) != Some(params) {
            out.push(params.clone());
        }
    }
    session.published = now;
    out.sort_by_cached_key(|params| params.get("uri").and_then(Value::as_str).map(str::to_owned));
    let mut messages: Vec<Message> = Vec::new();
    for params in out {
        messages.push(Notification::new("textDocument/publishDiagnostics".to_owned(), params).into());
    }
    if stale && session.refreshes {
        // One refresh request is enough until the client has pulled again.
        session.pulled.clear();
        session.refreshed += 1;
        let id = RequestId::from(format!("refresh-{}", session.refreshed));
        messages.push(Request { id, method: "workspace/diagnostic/refresh".to_owned(), params: Value::Null }.into());
    }
    messages
}

/// The diagnostics of a file.
pub fn collect_diagnostics(session: &EditorSession, analysis: &FolderAnalysis, file: FileId) -> Vec<lsp::Diagnostic> {
    let mut converter = ProtocolConverter::new(session, analysis);
    diagnostics::file_diagnostics(analysis, file).map(|d| converter.convert_diagnostic(d)).collect()
}

/// An id for diagnostics, derived from their content.
pub fn result_id(found: &[lsp::Diagnostic]) -> String {
    let mut hasher = std::hash::DefaultHasher::new();
    serde_json::to_string(found).unwrap_or_default().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
