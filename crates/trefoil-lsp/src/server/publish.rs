//! Sending diagnostics: for every file of every folder that is looked at, when they are not what the client knows.

use std::collections::HashMap;
use std::sync::Arc;

use gen_lsp_types as lsp;
use lsp_server::Notification;
use serde_json::Value;

use super::convert::Converter;
use super::session::Session;
use crate::analysis::Analysis;
use crate::diagnostics;

/// What the client does not know yet. Files without findings any more are told so.
pub fn publish(session: &mut Session) -> Vec<Notification> {
    session.workspace.analyse();
    let mut now: HashMap<String, Value> = HashMap::new();
    let analyses: Vec<Arc<Analysis>> = session.workspace.analyses().map(|(_, a)| a.clone()).collect();
    for analysis in &analyses {
        for (path, file) in analysis.files() {
            let speaks = session.workspace.speaks_for(path);
            let own = session.workspace.analyses().find(|(_, a)| Arc::ptr_eq(a, analysis)).map(|(root, _)| root);
            if speaks != own {
                continue;
            }
            let open = session.workspace.buffer(path).map(|b| b.version);
            let mut converter = Converter::new(session, analysis);
            let found: Vec<lsp::Diagnostic> =
                diagnostics::diagnostics(analysis, file).map(|d| converter.diagnostic(d)).collect();
            if found.is_empty() && open.is_none() {
                continue;
            }
            let uri = session.uri(path);
            let params = lsp::PublishDiagnosticsParams { uri: uri.clone(), version: open, diagnostics: found };
            now.insert(uri.0, serde_json::to_value(params).unwrap_or_default());
        }
    }
    let mut out = Vec::new();
    for uri in session.told.keys().filter(|uri| !now.contains_key(*uri)) {
        out.push(serde_json::json!({ "uri": uri, "diagnostics": [] }));
    }
    for (uri, params) in &now {
        if session.told.get(uri) != Some(params) {
            out.push(params.clone());
        }
    }
    session.told = now;
    out.sort_by_cached_key(|params| params.get("uri").and_then(Value::as_str).map(str::to_owned));
    out.into_iter().map(|params| Notification::new("textDocument/publishDiagnostics".to_owned(), params)).collect()
}
