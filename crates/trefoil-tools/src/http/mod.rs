//! HTTP tools: a request with values from a workflow, sent by the guarded client.
//!
//! The arguments of such a tool are its request: `url`, `method`, `params` (values for `{placeholders}` of the
//! address), `headers`, `body_type`, `body`, `auth`, `timeout_ms`. The result is the body: JSON as a value, other text
//! as text. A status of 400 or above is a failure.

mod arguments;
mod auth;
mod placeholders;
mod request;
mod response;
mod token;

pub use placeholders::find_unfilled;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use trefoil_ir::ToolKind;
use trefoil_machine::ToolRequest;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{ToolError, ToolHost, ToolRefusal};
use trefoil_template::Value;

use arguments::read_request;

use crate::guard::{GuardedClient, GuardedRequest, HttpAnswer, HttpFault};

/// How much longer than its step a request may take.
const LATER: Duration = Duration::from_secs(5);

/// Calls HTTP tools.
#[derive(Clone)]
pub struct HttpTools {
    client: GuardedClient,
    tokens: Arc<token::TokenCache>,
}

impl HttpTools {
    /// Creates the host with this client.
    pub fn new(client: GuardedClient) -> Self {
        Self { client, tokens: Arc::default() }
    }

    /// The client for requests.
    pub fn guarded_client(&self) -> &GuardedClient {
        &self.client
    }

    /// Gets a token, and hides it in everything that is shown.
    async fn fetch_token(
        &self,
        at: CallSite<'_>,
        auth: &auth::TokenAuth,
        shown: &DisplayedRequests,
    ) -> Result<Arc<str>, ToolError> {
        at.meter.plan_request(shown.token.clone());
        let token = self.tokens.get_token(auth, self.send(at, auth.token_request())).await?;
        at.meter.hide_secret(&token);
        at.meter.plan_request(shown.call.clone());
        Ok(token)
    }

    /// Sends the planned request.
    async fn send(&self, at: CallSite<'_>, call: GuardedRequest) -> Result<HttpAnswer, ToolError> {
        // Also if it is stopped before it ends.
        at.meter.mark_sent();
        let is_safe = is_idempotent(call.method.as_str());
        let fault = match self.client.send(call).await {
            Ok(answer) => return Ok(answer),
            Err(fault) => fault,
        };
        if !fault.may_have_arrived() {
            at.meter.mark_unsent();
        }
        Err(match fault {
            // Whether it was done does not matter, and the next answer is probably the same.
            HttpFault::TooLarge(_) if is_safe => {
                ToolError::with_advice(fault.to_string(), "ask for less, for example for one page of the result")
            }
            HttpFault::Unusable(why) if is_safe => {
                ToolError::with_advice(why, "call the URL by hand to see what the server sends")
            }
            fault => fault.into(),
        })
    }
}

/// The requests of a call, as they may be shown.
struct DisplayedRequests {
    call: String,
    /// That for the token.
    token: String,
}

impl DisplayedRequests {
    fn for_call_site(at: CallSite<'_>) -> Self {
        let mut shown = Self { call: "an HTTP request".to_owned(), token: "an HTTP request for a token".to_owned() };
        if let Some(arguments) = at.meter.displayed_arguments()
            && let Ok((call, auth)) = read_request(arguments)
        {
            shown.call = call.display_line();
            if let Some(auth) = auth {
                shown.token = format!("{} for a token", auth.token_request().display_line());
            }
        }
        shown
    }
}

#[async_trait]
impl ToolHost for HttpTools {
    fn offers_tool(&self, _name: &str, kind: &ToolKind) -> bool {
        *kind == ToolKind::Http
    }

    async fn call_tool(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        let shown = DisplayedRequests::for_call_site(at);
        at.meter.plan_request(shown.call.clone());
        let (mut call, auth) = read_request(&request.arguments)?;
        // The step's own limit ends the call, and says so; this one must only not be shorter.
        call.time = call.time.or(at.limit_ms.map(|ms| Duration::from_millis(ms) + LATER));
        if at.discloses {
            self.client.may_disclose(&call.url)?;
        }
        let Some(auth) = auth else { return response::response_value(self.send(at, call).await?) };
        if at.discloses {
            self.client.may_disclose(&auth.token_request().url)?;
        }
        let token = self.fetch_token(at, &auth, &shown).await?;
        let answer = self.send(at, auth.apply_token(call.clone(), &token)).await?;
        if !auth.refreshes_on(answer.status.as_u16()) {
            return response::response_value(answer);
        }
        // The server rejects the token, so try once more with a new one.
        self.tokens.forget_token(&auth, &token).await;
        let token = self.fetch_token(at, &auth, &shown).await?;
        response::response_value(self.send(at, auth.apply_token(call, &token)).await?)
    }

    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        match request.arguments.as_object().and_then(|all| all.get("method")?.as_str()) {
            Some(method) => is_idempotent(method),
            None => true,
        }
    }

    fn tool_refusal(&self, _name: &str, _kind: &ToolKind, arguments: &Value) -> Option<ToolRefusal> {
        let url = arguments.as_object()?.get("url")?;
        // What comes from the environment is filled in when the call is made.
        if url.is_masked() {
            return None;
        }
        let (call, _) = read_request(arguments).ok()?;
        let checked =
            if arguments.is_masked() { self.client.may_disclose(&call.url) } else { self.client.check_url(&call.url) };
        refusal_of(&checked.err()?)
    }
}

/// RFC 9110, 9.2.2 lists the idempotent methods.
fn is_idempotent(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "PUT" | "DELETE")
}

/// The permission that is missing, if the rules do not allow a call.
pub(crate) fn refusal_of(fault: &HttpFault) -> Option<ToolRefusal> {
    let (why, help) = fault.refusal_reason()?;
    let help = if help.is_empty() { "allow the host with `--allow-host`" } else { help };
    Some(ToolRefusal { why: why.to_owned(), help: help.to_owned() })
}

/// The advice for a redirect that is not followed.
const REDIRECTED: &str = "write the address to which it redirects, if that is right";

impl From<HttpFault> for ToolError {
    fn from(fault: HttpFault) -> Self {
        match fault {
            HttpFault::Timeout(_) => Self::Timeout,
            HttpFault::Unreachable(what) => Self::Network(what),
            HttpFault::Broken(what) => Self::Broken(what),
            HttpFault::Unusable(_) | HttpFault::TooLarge(_) => Self::Unusable(fault.to_string()),
            HttpFault::Refused(why) => {
                Self::with_advice(why, "call another host, or allow this one with `--allow-host`")
            }
            HttpFault::Restricted { why, help } => Self::with_advice(why, help),
            HttpFault::Redirected { why, is_answered: true } => Self::UnusableResult { why, help: REDIRECTED },
            HttpFault::Redirected { why, is_answered: false } => Self::with_advice(why, REDIRECTED),
            HttpFault::Invalid(why) => Self::with_advice(why, "fix the URL and the headers of the tool"),
        }
    }
}
