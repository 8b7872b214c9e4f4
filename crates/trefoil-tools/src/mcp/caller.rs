//! The client side of the protocol: what servers may ask of it. It offers no capabilities, and declines what servers request
//! nevertheless, so that none of them waits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use trefoil_runtime::locks::lock;

use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestMethod, ElicitRequestParams, ElicitResult, ElicitationAction,
    Implementation, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, ErrorData, RoleClient};

/// The maximum number of requests that are remembered.
const MOST: usize = 8;

/// The client side of a connection. Clones share their state.
#[derive(Debug, Clone)]
pub struct McpClient {
    /// The version of the protocol with which it begins.
    version: ProtocolVersion,
    changed: Arc<AtomicBool>,
    declined: Arc<Mutex<Vec<&'static str>>>,
}

impl McpClient {
    /// The client side of a handshake with this version.
    pub fn of_version(version: ProtocolVersion) -> Self {
        Self { version, changed: Arc::default(), declined: Arc::default() }
    }
    /// Whether the server has reported a change of its tools.
    pub fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }
    /// Its tools are requested again.
    pub fn reads_again(&self) {
        self.changed.store(false, Ordering::Relaxed);
    }
    /// Takes what the server has requested in vain.
    pub fn take_declined(&self) -> Vec<&'static str> {
        std::mem::take(&mut *lock(&self.declined))
    }
    fn decline(&self, what: &'static str) {
        let mut declined = lock(&self.declined);
        if declined.len() < MOST && !declined.contains(&what) {
            declined.push(what);
        }
    }
}

impl ClientHandler for McpClient {
    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.changed.store(true, Ordering::Relaxed);
    }

    async fn create_elicitation(
        &self,
        _request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.decline("an answer of a person (elicitation)");
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }

    #[allow(deprecated, reason = "servers of the earlier protocol send it")]
    async fn create_message(
        &self,
        _params: rmcp::model::CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::CreateMessageResult, ErrorData> {
        self.decline("an answer of a model (sampling)");
        Err(ErrorData::method_not_found::<CreateMessageRequestMethod>())
    }

    fn get_info(&self) -> ClientConfig {
        let me = Implementation::new("trefoil", env!("CARGO_PKG_VERSION"));
        // The protocol version for the handshake with `initialize`; with the current protocol, each request states its
        // version.
        ClientConfig::new(ClientCapabilities::default(), me).with_protocol_version(self.version.clone())
    }
}
