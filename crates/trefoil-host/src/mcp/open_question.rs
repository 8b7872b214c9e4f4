//! A question that a client is being asked during a call, in protocol versions in which a server sends requests.

use rmcp::RoleServer;
use rmcp::model::{CancelledNotificationParam, ClientResult, ElicitRequest, RequestId, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, RequestHandle, ServiceError};
use tokio::sync::oneshot;

use super::question::{ClientQuestion, QuestionReply};

/// A question in progress.
pub struct OpenClientQuestion {
    asking: ClientQuestion,
    id: RequestId,
    replied: oneshot::Receiver<Result<ClientResult, ServiceError>>,
    peer: Peer<RoleServer>,
}

impl OpenClientQuestion {
    /// Sends the question. If that is impossible, the client does not answer it.
    pub async fn send_question(asking: ClientQuestion, context: &RequestContext<RoleServer>) -> Option<Self> {
        if asking.is_closed() {
            return None;
        }
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(asking.question_form().ok()?));
        let sent = context.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await;
        let RequestHandle { rx: replied, id, peer, .. } = sent.ok()?;
        Some(Self { asking, id, replied, peer })
    }

    /// Waits for the end of a question: what the client did with it; `None` if nobody needs the answer any more. Waits
    /// forever if no question is open.
    pub async fn wait_reply(open: Option<&mut Self>) -> Option<QuestionReply> {
        let Some(open) = open else { return std::future::pending().await };
        tokio::select! {
            biased;
            replied = &mut open.replied => Some(match replied {
                Ok(Ok(ClientResult::ElicitResult(result))) => QuestionReply::from_result(Some(result)),
                _ => QuestionReply::Unanswered,
            }),
            () = open.asking.wait_closed() => None,
        }
    }

    /// The question.
    pub fn into_question(self) -> ClientQuestion {
        self.asking
    }

    /// Tells the client that the question is no longer open.
    pub async fn take_back(self) {
        let cancelled =
            CancelledNotificationParam::new(Some(self.id), Some("the question is no longer open".to_owned()));
        // A disconnected client is detected elsewhere.
        let _ = self.peer.notify_cancelled(cancelled).await;
    }
}
