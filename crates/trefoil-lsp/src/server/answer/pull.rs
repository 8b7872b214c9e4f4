//! Diagnostics that a client requests. Those of files that are not open are sent by [`publish`](super::super::publish).

use gen_lsp_types as lsp;
use serde_json::{Value, json};

use super::Refused;
use crate::server::publish;
use crate::server::session::Session;

/// The diagnostics of an open file, or a note that they have not changed.
pub fn diagnostic(session: &mut Session, params: lsp::DocumentDiagnosticParams) -> Result<Value, Refused> {
    let uri = params.text_document.uri;
    let Some(place) = session.document(&uri) else { return Ok(json!({ "kind": "full", "items": [] })) };
    let items = publish::found(session, &place.analysis, place.file);
    let id = publish::name_of(&items);
    session.pulled.insert(place.path, id.clone());
    if params.previous_result_id.as_deref() == Some(&*id) {
        return Ok(json!({ "kind": "unchanged", "resultId": id }));
    }
    Ok(json!({ "kind": "full", "resultId": id, "items": items }))
}
