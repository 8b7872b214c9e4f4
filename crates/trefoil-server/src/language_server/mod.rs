//! The language server for the editor of a page, over a websocket: each text frame is one message of JSON-RPC. Which files its client
//! may see, and by which names, is decided in [`trefoil_lsp`].

mod pump;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::response::Response;
use http::StatusCode;

use self::pump::SocketSession;
use crate::access::{Caller, KeyScope};
use crate::problem::{ApiResult, Problem};
use crate::state::AppState;

/// The subprotocol: what the frames are.
const PROTOCOL: &str = "trefoil.lsp";

/// A language server (LSP 3.17) for the files below the folder that is served, over a websocket. Each text frame is one message. URIs are
/// `file:///PATH` with paths below that folder. A client offers the subprotocol `trefoil.lsp`; one that can set no headers sends its key
/// as another one: `trefoil.key.` and the key in base64url.
#[utoipa::path(get, path = "/api/v1/language-server", tag = "files",
    params(("Sec-WebSocket-Protocol" = String, Header, description = "`trefoil.lsp`, and perhaps `trefoil.key.` with the key in base64url")),
    responses((status = 101, description = "Messages may be sent")))]
pub async fn open_language_server(
    State(state): State<AppState>,
    Extension(caller): Extension<Caller>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> ApiResult<Response> {
    caller.require_scope(KeyScope::Admin)?;
    if !caller.rights.flows.is_empty() {
        let detail = "the language server reads the files of all flows, and the key is for some of them";
        let problem = Problem::new(StatusCode::FORBIDDEN, "KEY_RESTRICTED", detail);
        return Err(problem.with_help("ask the operator of the server for a key without `--flow`"));
    }
    let help = "connect with a websocket that offers the subprotocol `trefoil.lsp`";
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade.protocols([PROTOCOL]),
        Err(why) => return Err(Problem::bad_request(why.body_text()).with_help(help)),
    };
    if upgrade.selected_protocol().is_none() {
        return Err(Problem::bad_request("the websocket does not offer the subprotocol `trefoil.lsp`").with_help(help));
    }
    if state.phase.is_stopping() {
        let problem = Problem::new(StatusCode::SERVICE_UNAVAILABLE, "STOPPING", "the server is stopping");
        return Err(problem.with_retry_after(5));
    }
    let shared = state.clone();
    let folder = state.local.blocking_work().perform_work(move || shared.served_files()).await??;
    let slot = state.editors.take_slot(&caller)?;
    let limit = state.options.body_limit;
    let session = SocketSession { state, caller, folder, slot };
    let upgrade = upgrade.max_message_size(limit).max_frame_size(limit);
    Ok(upgrade.on_upgrade(move |socket| session.serve_socket(socket)))
}
