//! Callers: who sends a request, and what they may do.

use std::fmt;
use std::sync::Arc;

use http::StatusCode;
use serde::{Deserialize, Serialize};
use trefoil_machine::AnswerSender;
use utoipa::ToSchema;

use crate::problem::{ApiResult, Problem};

/// What a key may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum KeyScope {
    /// To see flows, and the runs of the key.
    Read,
    /// To start, cancel, resume, fork and delete runs.
    Run,
    /// To answer questions.
    Answer,
    /// Everything, for all keys, and the keys themselves.
    Admin,
}

impl KeyScope {
    /// All scopes.
    pub const ALL: [Self; 4] = [Self::Read, Self::Run, Self::Answer, Self::Admin];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Run => "run",
            Self::Answer => "answer",
            Self::Admin => "admin",
        }
    }
}

impl std::str::FromStr for KeyScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match Self::ALL.into_iter().find(|scope| scope.name() == text) {
            Some(scope) => Ok(scope),
            None => Err(format!("unknown scope `{text}`; the scopes are `read`, `run`, `answer` and `admin`")),
        }
    }
}

/// The scopes of a key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeyScopes(pub Vec<KeyScope>);

impl KeyScopes {
    /// Whether they contain this one.
    pub fn allow_scope(&self, scope: KeyScope) -> bool {
        self.0.contains(&scope) || self.0.contains(&KeyScope::Admin)
    }
}

impl fmt::Display for KeyScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.0.iter().map(|scope| scope.name()).collect();
        f.write_str(&names.join(","))
    }
}

/// What the operator lets a key do.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct KeyRights {
    /// Its scopes.
    pub scopes: KeyScopes,
    /// The flows that it may use; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<String>,
    /// Whether it sees the runs of all keys, and not only its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all_runs: bool,
    /// How many of its runs may be in progress at a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_in_flight: Option<u32>,
    /// How many requests it may send in a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<u32>,
    /// What its runs may cost in a day (UTC), in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_per_day_micro: Option<u64>,
}

/// Who sends a request.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The id of the key; `None`: the user of this machine, over loopback.
    pub key: Option<Arc<str>>,
    /// The name of the key, or `local`.
    pub name: Arc<str>,
    /// The address from which the request comes.
    pub address: Arc<str>,
    /// What the caller may do.
    pub rights: Arc<KeyRights>,
}

impl Caller {
    /// The user of this machine, who may do everything.
    pub fn local_user(address: &str) -> Self {
        let rights = KeyRights { scopes: KeyScopes(vec![KeyScope::Admin]), all_runs: true, ..KeyRights::default() };
        Self { key: None, name: "local".into(), address: address.into(), rights: Arc::new(rights) }
    }

    /// Refuses a caller without a right.
    ///
    /// # Errors
    ///
    /// 403 with the scope that is missing.
    pub fn require_scope(&self, scope: KeyScope) -> ApiResult<()> {
        if self.rights.scopes.allow_scope(scope) {
            return Ok(());
        }
        let detail = format!("the key `{}` lacks the scope `{}`", self.name, scope.name());
        let help = "ask the operator of the server for a key with this scope";
        Err(Problem::new(StatusCode::FORBIDDEN, "SCOPE_MISSING", detail).with_help(help))
    }

    /// Who gives an answer, and from where, for the journal. `interface`: `api`, `mcp`.
    pub fn answer_sender(&self, interface: &str) -> AnswerSender {
        AnswerSender::new(&self.name, format!("{interface} {}", self.address).trim_end())
    }

    /// Whether the caller may use a flow.
    pub fn may_use_flow(&self, flow: &str) -> bool {
        self.rights.flows.is_empty() || self.rights.flows.iter().any(|allowed| allowed == flow)
    }

    /// Whether the caller sees runs of all keys.
    pub fn sees_all_runs(&self) -> bool {
        self.rights.all_runs || self.rights.scopes.allow_scope(KeyScope::Admin)
    }
}
