//! A transport of any kind as one type. The SDK's client is generic over its transport, so it would be compiled again for each of
//! them: a fifth of what this crate takes to build.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

/// A failure of a transport. Its source is the transport's own error.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TransportFailure(#[source] Box<dyn std::error::Error + Send + Sync>);

/// The transport to a server, of any kind.
pub struct ServerTransport(Box<dyn BoxedTransport>);

impl ServerTransport {
    /// Boxes a transport.
    pub fn new(transport: impl Transport<RoleClient> + 'static) -> Self {
        Self(Box::new(transport))
    }
}

/// [`Transport`] with futures of one type.
trait BoxedTransport: Send {
    fn send_message(&mut self, item: TxJsonRpcMessage<RoleClient>) -> BoxFuture<'static, Result<(), TransportFailure>>;
    fn receive_message(&mut self) -> BoxFuture<'_, Option<RxJsonRpcMessage<RoleClient>>>;
    fn close_transport(&mut self) -> BoxFuture<'_, Result<(), TransportFailure>>;
}

impl<T: Transport<RoleClient>> BoxedTransport for T {
    fn send_message(&mut self, item: TxJsonRpcMessage<RoleClient>) -> BoxFuture<'static, Result<(), TransportFailure>> {
        let sent = self.send(item);
        async move { sent.await.map_err(|error| TransportFailure(Box::new(error))) }.boxed()
    }

    fn receive_message(&mut self) -> BoxFuture<'_, Option<RxJsonRpcMessage<RoleClient>>> {
        self.receive().boxed()
    }

    fn close_transport(&mut self) -> BoxFuture<'_, Result<(), TransportFailure>> {
        let closed = self.close();
        async move { closed.await.map_err(|error| TransportFailure(Box::new(error))) }.boxed()
    }
}

impl Transport<RoleClient> for ServerTransport {
    type Error = TransportFailure;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.0.send_message(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.0.receive_message().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.0.close_transport().await
    }
}
