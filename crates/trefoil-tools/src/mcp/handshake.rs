//! Why a handshake failed, and whether the other generation of the protocol may succeed.

use std::time::Duration;

use rmcp::model::{ErrorData, ProtocolVersion};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use trefoil_runtime::ToolError;

use super::connection_failure::ConnectionFailure;
use super::http::HttpFailure;
use super::incoming::damage_of;
use super::probe::HandshakeProbe;
use super::stdio::ServerOutputTail;
use super::{McpServer, failed};
use crate::process::{self, ChildProcess};

/// Time limit for a server to end.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// The generation of the protocol that a server has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtocolGeneration {
    /// Unknown: the current one is tried first.
    Either,
    /// The current one.
    Current,
    /// The one before it, with `initialize`, which asks for this version.
    Earlier(ProtocolVersion),
}

impl ProtocolGeneration {
    /// The one before the current one, with its newest version.
    pub const EARLIER: Self = Self::Earlier(ProtocolVersion::LATEST_WITH_INITIALIZE);

    /// The version that `initialize` asks for.
    pub fn initialize_version(&self) -> ProtocolVersion {
        match self {
            Self::Earlier(version) => version.clone(),
            Self::Either | Self::Current => ProtocolVersion::LATEST_WITH_INITIALIZE,
        }
    }

    /// How to begin with a server of it.
    pub fn lifecycle_mode(&self) -> ClientLifecycleMode {
        let preferred_versions = vec![ProtocolVersion::LATEST];
        match self {
            Self::Either => ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
            Self::Current => ClientLifecycleMode::Discover { preferred_versions },
            Self::Earlier(_) => ClientLifecycleMode::Initialize,
        }
    }
}

/// What is known about a handshake that failed.
pub struct HandshakeEvidence {
    /// What the first request has shown.
    pub probe: HandshakeProbe,
    /// Failures below the protocol.
    pub trouble: ConnectionFailure,
    /// The end of the server's standard error.
    pub output_tail: ServerOutputTail,
}

/// The failure of a handshake, and the generation to try instead. `process`: the server, which is ended.
pub async fn explain_failed_handshake(
    server: &McpServer,
    why: &ClientInitializeError,
    HandshakeEvidence { probe, trouble, output_tail }: &HandshakeEvidence,
    mut process: Option<ChildProcess>,
) -> (Option<ProtocolGeneration>, ToolError) {
    let is_process = process.is_some();
    let other = other(why, probe, is_process);
    // A server that has answered ends because its input is closed, not by itself.
    let ended = match is_answered(why) {
        true => None,
        false => ended_server_error(process.as_mut(), output_tail).await,
    };
    if let (Some(_), None, Some(process)) = (&other, &ended, process) {
        process.end_process(PATIENCE).await;
    }
    // A flood of other text also ends the connection.
    let garbage = match output_tail.first_garbage_line() {
        Some(line) => Some(garbage(&line)),
        None => trouble.take(),
    };
    let (other, why) = match (garbage, ended) {
        // What the server sent cannot be read, in any generation.
        (Some(garbage), _) => (None, garbage),
        (None, Some(ended)) => (other, ended),
        (None, None) => (other, rejection_error(why)),
    };
    let why = match before_sending(why) {
        // A program that has ended is no matter of the network.
        ToolError::Network(why) if is_process => {
            ToolError::with_advice(why, "run the command of the server by hand to see why it ends")
        }
        ToolError::Timeout => late_server_error(server, output_tail),
        why => why,
    };
    (other, why)
}

/// The generation of the protocol that a server may have instead, after its handshake failed.
fn other(why: &ClientInitializeError, probe: &HandshakeProbe, is_process: bool) -> Option<ProtocolGeneration> {
    if probe.is_late() {
        return Some(ProtocolGeneration::Current);
    }
    match why {
        // Another generation would not be read either.
        ClientInitializeError::ExpectedInitResult(Some(result)) if damage_of(result).is_some() => None,
        // The server answers an unknown request with something else instead of an error.
        ClientInitializeError::ExpectedInitResult(Some(_)) => Some(ProtocolGeneration::EARLIER),
        ClientInitializeError::JsonRpcError(error) => newest_version(&words(error)).map(ProtocolGeneration::Earlier),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let theirs: Vec<String> = server_supported.iter().map(ToString::to_string).collect();
            newest_version(&theirs.join(" ")).map(ProtocolGeneration::Earlier)
        }
        // Some servers end when their first request is unknown, with or without an answer to it.
        ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } if is_process => {
            Some(ProtocolGeneration::EARLIER)
        }
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => other(fallback, probe, is_process),
        _ => None,
    }
}

/// Whether the server has answered the handshake, but not as it should.
fn is_answered(why: &ClientInitializeError) -> bool {
    match why {
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => is_answered(fallback),
        ClientInitializeError::JsonRpcError(_)
        | ClientInitializeError::NoCompatibleProtocolVersion { .. }
        | ClientInitializeError::ExpectedInitResult(Some(_)) => true,
        _ => false,
    }
}

/// An error in the server's own words, with what it adds to them.
fn words(error: &ErrorData) -> String {
    let more = error.data.as_ref().map(|data| format!(" ({data})")).unwrap_or_default();
    process::last_words(&format!("{}{more}", error.message))
}

/// The newest version of the protocol that a text names, if a handshake with it can be tried: the newest one of all was.
fn newest_version(text: &str) -> Option<ProtocolVersion> {
    let known = ProtocolVersion::KNOWN_VERSIONS.iter().rev();
    let mut earlier = known.filter(|version| **version < ProtocolVersion::LATEST_WITH_INITIALIZE);
    earlier.find(|version| text.contains(version.as_str())).cloned()
}

/// The same failure if the call was not sent yet, so that nothing can have been done.
pub fn before_sending(why: ToolError) -> ToolError {
    match why {
        ToolError::Broken(why) => ToolError::Network(why),
        ToolError::Unusable(why) => ToolError::Failed(why),
        why => why,
    }
}

/// The error for a server that is not ready in time.
pub fn late_server_error(server: &McpServer, output_tail: &ServerOutputTail) -> ToolError {
    if let Some(line) = output_tail.first_garbage_line() {
        return garbage(&line);
    }
    let stderr = output_tail.stderr_text();
    let stderr = if stderr.is_empty() { stderr } else { format!(": {stderr}") };
    let limit = server.start_limit().as_secs_f64();
    ToolError::Unready(format!("the server did not finish its handshake within {limit} s{stderr}"))
}

/// The error for a server that writes something else.
fn garbage(line: &str) -> ToolError {
    ToolError::with_advice(
        format!("what the server prints is not MCP messages: `{line}`"),
        "check `command` of `[mcp.NAME]`; the server must print only MCP messages, and other text to standard error",
    )
}

/// The error for a server that has ended. The process may need a moment to exit.
pub async fn ended_server_error(
    process: Option<&mut ChildProcess>,
    output_tail: &ServerOutputTail,
) -> Option<ToolError> {
    let ended = tokio::time::timeout(PATIENCE / 4, process?.child.wait()).await.ok()?;
    let how = match ended.ok()?.code() {
        Some(code) => format!("it exited with {code}"),
        None => "it was killed".to_owned(),
    };
    // Its last output is read by another task.
    tokio::time::sleep(Duration::from_millis(20)).await;
    let stderr = output_tail.stderr_text();
    let stderr = if stderr.is_empty() { stderr } else { format!(": {stderr}") };
    Some(ToolError::Broken(format!("the server stopped: {how}{stderr}")))
}

/// The advice for a server with another protocol.
const VERSION: &str = "use a version of the server that supports MCP 2025-11-25 or later";

fn rejection_error(why: &ClientInitializeError) -> ToolError {
    match why {
        ClientInitializeError::JsonRpcError(error) => {
            let why = format!("the server rejected the request: {}", words(error));
            ToolError::with_advice(why, "check the settings of the server, and its version")
        }
        ClientInitializeError::ConnectionClosed(_) => {
            ToolError::Network("the server closed the connection during initialization".to_owned())
        }
        ClientInitializeError::TransportError { error, .. } => unsent_message_error(error),
        ClientInitializeError::LegacyFallbackFailed { fallback, .. } => rejection_error(fallback),
        ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } => {
            let theirs: Vec<String> = server_supported.iter().map(ToString::to_string).collect();
            let why = format!(
                "the server does not support this client's versions of the protocol, only {}",
                theirs.join(", ")
            );
            ToolError::with_advice(why, VERSION)
        }
        ClientInitializeError::ExpectedInitResult(Some(result)) if damage_of(result).is_some() => {
            ToolError::Failed(damage_of(result).unwrap_or_default().to_owned())
        }
        _ => {
            let why = "the server does not support the protocol: its answer is not one to `initialize`";
            ToolError::with_advice(why, VERSION)
        }
    }
}

/// Why a message was not accepted, or not sent. The SDK's own words name its types.
pub fn unsent_message_error(error: &DynamicTransportError) -> ToolError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&*error.error);
    while let Some(one) = cause {
        if let Some(failure) = one.downcast_ref::<HttpFailure>() {
            return match failure {
                StreamableHttpError::Client(fault) => fault.clone().into(),
                // It did so again after a new handshake.
                StreamableHttpError::SessionExpired => ToolError::Status {
                    status: 404,
                    message: "answered with 404: it does not know the session that it began".to_owned(),
                    retry_after_ms: None,
                },
                StreamableHttpError::UnexpectedServerResponse(said) => failed(said.to_string()),
                _ => ToolError::Network("the connection failed".to_owned()),
            };
        }
        if let Some(failure) = one.downcast_ref::<std::io::Error>() {
            return ToolError::Network(format!("the connection failed: {failure}"));
        }
        cause = one.source();
    }
    ToolError::Network("the connection failed".to_owned())
}
