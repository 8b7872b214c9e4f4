//! HTTP tools: a request with values from a workflow, sent by the guarded client.
//!
//! The arguments of such a tool are its request: `url`, `method`, `params` (values for `{placeholders}` of the
//! address), `headers`, `body_type`, `body`, `auth`, `timeout_ms`. The result is the body: JSON as a value, other text
//! as text. A status of 400 or above is a failure.

mod auth;
mod placeholders;
mod request;
mod response;
mod token;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use trefoil_ir::ToolKind;
use trefoil_machine::ToolRequest;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{ToolError, ToolHost};
use trefoil_template::Value;

use crate::guard::{Client, Fault};

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
        shown.token.iter().for_each(|call| at.meter.sends(call.clone()));
        let token = self.tokens.get(&self.client, auth).await?;
        at.meter.hide(&token);
        shown.call.iter().for_each(|call| at.meter.sends(call.clone()));
        Ok(token)
    }
}

/// The requests of a call, as they may be shown.
#[derive(Default)]
struct Shown {
    call: Option<String>,
    /// That for the token.
    token: Option<String>,
}

impl Shown {
    fn of(at: CallSite<'_>) -> Self {
        let made = at.meter.shown().and_then(|arguments| request::of(arguments).ok());
        made.map_or_else(Self::default, |(call, auth)| Self {
            call: Some(call.shown()),
            token: auth.map(|auth| format!("{} for a token", auth.call().shown())),
        })
    }
}

#[async_trait]
impl ToolHost for HttpTools {
    fn offers(&self, _name: &str, kind: &ToolKind) -> bool {
        *kind == ToolKind::Http
    }

    async fn call(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        let (mut call, auth) = request::of(&request.arguments)?;
        let shown = Shown::of(at);
        shown.call.iter().for_each(|call| at.meter.sends(call.clone()));
        // The step's own limit ends the call, and says so; this one must only not be shorter.
        call.time = call.time.or(at.limit_ms.map(|ms| Duration::from_millis(ms) + LATER));
        if at.discloses {
            self.client.may_disclose(&call.url)?;
        }
        let Some(auth) = auth else { return response::value(self.client.send(call).await?) };
        if at.discloses {
            self.client.may_disclose(&auth.call().url)?;
        }
        let token = self.token(at, &auth, &shown).await?;
        let answer = self.client.send(auth.apply(call.clone(), &token)).await?;
        if !auth.refreshes_on(answer.status.as_u16()) {
            return response::value(answer);
        }
        // The server rejects the token, so try once more with a new one.
        self.tokens.forget(&auth, &token).await;
        let token = self.token(at, &auth, &shown).await?;
        response::value(self.client.send(auth.apply(call, &token)).await?)
    }

    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        // RFC 9110, 9.2.2 lists the idempotent methods.
        let method = request.arguments.as_object().and_then(|all| all.get("method")?.as_str());
        method.is_none_or(|method| matches!(method, "GET" | "HEAD" | "PUT" | "DELETE"))
    }
}

impl From<Fault> for ToolError {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Timeout(_) => Self::Timeout,
            Fault::Unreachable(what) => Self::Network(what),
            Fault::Broken(what) => Self::Broken(what),
            Fault::Unusable(_) | Fault::TooLarge(_) => Self::Unusable(fault.to_string()),
            Fault::Refused(why) => {
                Self::Advised { why, help: "call another host, or allow this one with `--allow-host`" }
            }
            Fault::Redirected(why) => {
                Self::Advised { why, help: "write the address to which it redirects, if that is right" }
            }
            Fault::Invalid(why) => Self::Advised { why, help: "fix the URL and the headers of the tool" },
        }
    }
}
