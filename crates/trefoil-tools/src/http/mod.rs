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

pub use placeholders::unfilled;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use trefoil_ir::ToolKind;
use trefoil_machine::ToolRequest;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{ToolError, ToolHost, ToolRefusal};
use trefoil_template::Value;

use arguments::read_request;

use crate::guard::{Call, Client, Fault, HttpAnswer};

/// How much longer than its step a request may take.
const LATER: Duration = Duration::from_secs(5);

/// Calls HTTP tools.
#[derive(Clone)]
pub struct HttpTools {
    client: Client,
    tokens: Arc<token::Tokens>,
}

impl HttpTools {
    /// Creates the host with this client.
    pub fn new(client: Client) -> Self {
        Self { client, tokens: Arc::default() }
    }

    /// The client for requests.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Gets a token, and hides it in everything that is shown.
    async fn token(&self, at: CallSite<'_>, auth: &auth::Auth, shown: &Shown) -> Result<Arc<str>, ToolError> {
        at.meter.plans(shown.token.clone());
        let token = self.tokens.get(auth, self.send(at, auth.call())).await?;
        at.meter.hide(&token);
        at.meter.plans(shown.call.clone());
        Ok(token)
    }

    /// Sends the planned request.
    async fn send(&self, at: CallSite<'_>, call: Call) -> Result<HttpAnswer, ToolError> {
        // Also if it is stopped before it ends.
        at.meter.sends();
        let is_safe = is_idempotent(call.method.as_str());
        self.client.send(call).await.map_err(|fault| {
            if !fault.may_have_arrived() {
                at.meter.unsent();
            }
            match fault {
                // Whether it was done does not matter, and the next answer is probably the same.
                Fault::TooLarge(_) if is_safe => {
                    ToolError::advised(fault.to_string(), "ask for less, for example for one page of the result")
                }
                Fault::Unusable(why) if is_safe => {
                    ToolError::advised(why, "call the URL by hand to see what the server sends")
                }
                fault => fault.into(),
            }
        })
    }
}

/// The requests of a call, as they may be shown.
struct Shown {
    call: String,
    /// That for the token.
    token: String,
}

impl Shown {
    fn of(at: CallSite<'_>) -> Self {
        let made = at.meter.shown().and_then(|arguments| read_request(arguments).ok());
        let (call, auth) = made.unzip();
        let auth = auth.flatten().map(|auth| auth.call().shown());
        Self {
            call: call.map_or_else(|| "an HTTP request".to_owned(), |call| call.shown()),
            token: format!("{} for a token", auth.as_deref().unwrap_or("an HTTP request")),
        }
    }
}

#[async_trait]
impl ToolHost for HttpTools {
    fn offers(&self, _name: &str, kind: &ToolKind) -> bool {
        *kind == ToolKind::Http
    }

    async fn call(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        let shown = Shown::of(at);
        at.meter.plans(shown.call.clone());
        let (mut call, auth) = read_request(&request.arguments)?;
        // The step's own limit ends the call, and says so; this one must only not be shorter.
        call.time = call.time.or(at.limit_ms.map(|ms| Duration::from_millis(ms) + LATER));
        if at.discloses {
            self.client.may_disclose(&call.url)?;
        }
        let Some(auth) = auth else { return response::value(self.send(at, call).await?) };
        if at.discloses {
            self.client.may_disclose(&auth.call().url)?;
        }
        let token = self.token(at, &auth, &shown).await?;
        let answer = self.send(at, auth.apply(call.clone(), &token)).await?;
        if !auth.refreshes_on(answer.status.as_u16()) {
            return response::value(answer);
        }
        // The server rejects the token, so try once more with a new one.
        self.tokens.forget(&auth, &token).await;
        let token = self.token(at, &auth, &shown).await?;
        response::value(self.send(at, auth.apply(call, &token)).await?)
    }

    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        request.arguments.as_object().and_then(|all| all.get("method")?.as_str()).is_none_or(is_idempotent)
    }

    fn refusal(&self, _name: &str, _kind: &ToolKind, arguments: &Value) -> Option<ToolRefusal> {
        let url = arguments.as_object()?.get("url")?;
        // What comes from the environment is filled in when the call is made.
        if url.is_masked() {
            return None;
        }
        let (call, _) = read_request(arguments).ok()?;
        let checked =
            if arguments.is_masked() { self.client.may_disclose(&call.url) } else { self.client.check(&call.url) };
        refusal_of(&checked.err()?)
    }
}

/// RFC 9110, 9.2.2 lists the idempotent methods.
fn is_idempotent(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "PUT" | "DELETE")
}

/// The permission that is missing, if the rules do not allow a call.
pub(crate) fn refusal_of(fault: &Fault) -> Option<ToolRefusal> {
    let (why, help) = fault.refusal()?;
    let help = if help.is_empty() { "allow the host with `--allow-host`" } else { help };
    Some(ToolRefusal { why: why.to_owned(), help: help.to_owned() })
}

/// The advice for a redirect that is not followed.
const REDIRECTED: &str = "write the address to which it redirects, if that is right";

impl From<Fault> for ToolError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Timeout(_) => Self::Timeout,
            Fault::Unreachable(what) => Self::Network(what),
            Fault::Broken(what) => Self::Broken(what),
            Fault::Unusable(_) | Fault::TooLarge(_) => Self::Unusable(fault.to_string()),
            Fault::Refused(why) => Self::advised(why, "call another host, or allow this one with `--allow-host`"),
            Fault::Redirected { why, is_answered: true } => Self::UnusableResult { why, help: REDIRECTED },
            Fault::Redirected { why, is_answered: false } => Self::advised(why, REDIRECTED),
            Fault::Invalid(why) => Self::advised(why, "fix the URL and the headers of the tool"),
        }
    }
}
