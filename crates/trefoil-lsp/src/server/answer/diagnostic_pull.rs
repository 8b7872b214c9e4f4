//! Diagnostics that a client requests. Those of files that are not open are sent by [`publish_changes`](super::super::publish_changes).

use gen_lsp_types as lsp;
use serde_json::{Value, json};

use super::LspRequestError;
use crate::server::published_diagnostics;
use crate::server::session::EditorSession;

/// The diagnostics of an open file, or a note that they have not changed.
pub fn answer_diagnostic(
    session: &mut EditorSession,
    params: lsp::DocumentDiagnosticParams,
) -> Result<Value, LspRequestError> {
    let uri = params.text_document.uri;
    let Some(place) = session.find_document(&uri) else { return Ok(json!({ "kind": "full", "items": [] })) };
    let items = published_diagnostics::collect_diagnostics(session, &place.analysis, place.file);
    let id = published_diagnostics::result_id(&items);
    session.pulled.insert(place.path, id.clone());
    if params.previous_result_id.as_deref() == Some(&*id) {
        return Ok(json!({ "kind": "unchanged", "resultId": id }));
    }
    Ok(json!({ "kind": "full", "resultId": id, "items": items }))
}
