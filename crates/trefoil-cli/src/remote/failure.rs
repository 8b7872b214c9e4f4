//! Why a request to a server failed, and how that is said: the code, everything that is wrong with its place, and what to do.

use serde::Deserialize;
use serde_json::Value as Json;
use trefoil_host::command::{PrintedCommand, RunOptions};

use crate::{exit, output, shown};

/// The longest time that a server can make this process wait, in seconds. What takes longer, the user decides.
const LONGEST_WAIT: u64 = 30;
/// The most findings of a problem that are printed.
const MOST: usize = 50;

/// Why a request failed.
#[derive(Debug)]
pub enum RemoteFailure {
    /// The server cannot be reached. Nothing was sent.
    Unreachable(String),
    /// The request was sent, and no complete response came.
    Lost(String),
    /// The server refused it.
    Refused(Box<ServerProblem>),
    /// The response cannot be read.
    Unreadable(String),
}

/// What a server says about a request that it refused (RFC 9457).
#[derive(Debug, Default, Deserialize)]
pub struct ServerProblem {
    /// The HTTP status.
    #[serde(default)]
    pub status: u16,
    /// The stable code.
    #[serde(default)]
    pub code: String,
    /// What happened.
    #[serde(default)]
    pub detail: String,
    /// What to do.
    #[serde(default)]
    pub help: Option<String>,
    /// Everything that is wrong, each with its place.
    #[serde(default)]
    pub errors: Vec<Json>,
    /// Seconds after which the same request may succeed.
    #[serde(default)]
    pub retry_after: Option<u64>,
}

impl RemoteFailure {
    /// Whether the same request may succeed soon.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::Lost(_) => true,
            Self::Refused(problem) => match (problem.status, problem.retry_after) {
                (429 | 502 | 503 | 504, Some(seconds)) => seconds <= LONGEST_WAIT,
                // What does not say when it clears is no matter of a moment, but a proxy says nothing.
                (502..=504, None) => true,
                _ => false,
            },
            Self::Unreadable(_) => false,
        }
    }

    /// The code of a refusal.
    pub fn problem_code(&self) -> &str {
        match self {
            Self::Refused(problem) => &problem.code,
            _ => "",
        }
    }

    /// Why it failed, for a line about what is done next.
    pub fn short_reason(&self) -> String {
        match self {
            Self::Unreachable(why) => format!("the server cannot be reached: {why}"),
            Self::Lost(why) => format!("the connection to the server was lost: {why}"),
            Self::Unreadable(why) => format!("the server {why}"),
            Self::Refused(problem) => problem.detail.clone(),
        }
    }

    /// The seconds after which the server wants to be asked again.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Refused(problem) => problem.retry_after,
            _ => None,
        }
    }

    /// Prints why a request failed. `address`: that of the server. `options`: of commands about it.
    pub fn print_failure(&self, address: &str, options: &RunOptions) -> u8 {
        let check = "check the address, and whether `trefoil serve` runs there";
        match self {
            Self::Unreachable(why) => {
                output::report_not_started(&format!("the server {address} cannot be reached: {why}"), Some(check))
            }
            Self::Lost(why) => {
                let list = options.render_command(PrintedCommand::List);
                let help = format!("it is unknown whether it has done what was asked; see `{list}`");
                let why = format!("the server {address} closed the connection before its answer was complete: {why}");
                output::report_not_started(&why, Some(&help))
            }
            Self::Unreadable(why) => output::report_not_started(&format!("the server {address} {why}"), Some(check)),
            Self::Refused(problem) => problem.print_problem(address, options),
        }
    }
}

impl ServerProblem {
    fn print_problem(&self, address: &str, options: &RunOptions) -> u8 {
        // One finding is the problem itself, so only its place is left to say.
        let only = match self.errors.as_slice() {
            [only] if only.get("message").and_then(Json::as_str) == Some(&self.detail) => Some(only),
            _ => None,
        };
        let listed = if only.is_some() { &[] } else { self.errors.as_slice() };
        for finding in listed.iter().take(MOST) {
            print_finding(finding);
        }
        if listed.len() > MOST {
            output::print_line(format!("and {} more", listed.len() - MOST));
        }
        let list = options.render_command(PrintedCommand::List);
        let help = match self.code.as_str() {
            "KEY_MISSING" => Some(
                "set `TREFOIL_API_KEY` to a key of this server; its operator makes one with `trefoil keys add NAME`"
                    .to_owned(),
            ),
            "KEY_UNKNOWN" => Some(
                "check `TREFOIL_API_KEY`; the operator of the server makes keys with `trefoil keys add NAME`"
                    .to_owned(),
            ),
            "RUN_NOT_FOUND" => Some(format!("list the runs with `{list}`")),
            // That of the first finding, which is above with its own.
            _ if listed.len() > 1 => None,
            _ => self.help.clone(),
        };
        let message = match self.code.as_str() {
            "" => self.detail.clone(),
            "FLOW_NOT_FOUND" => format!("FLOW_NOT_FOUND: {} at the server {address}", self.detail),
            code if listed.len() > 1 => format!("{code}: the server refuses it for {} reasons", listed.len()),
            code => format!("{code}: {}", self.detail),
        };
        output::print_error(&message, help.as_deref());
        if let Some(place) = only.and_then(finding_place) {
            output::print_line(shown!("at: {}", place));
        }
        exit::NOT_STARTED
    }
}

/// `flow.yaml:3:1`
fn finding_place(finding: &Json) -> Option<String> {
    let number = |name: &str| finding.get(name).and_then(Json::as_u64);
    let file = finding.get("file")?.as_str()?;
    Some(match (number("line"), number("column")) {
        (Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        _ => file.to_owned(),
    })
}

/// Prints a finding as one of `trefoil check --format json`: its place, its severity, its text, and its help below.
fn print_finding(finding: &Json) {
    let text = |name: &str| finding.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
    let place = match finding_place(finding) {
        Some(place) => format!("{place}: "),
        None => String::new(),
    };
    let message = text("message");
    let line = format!("{place}{}[{}]: {message}", text("severity"), text("rule"));
    output::print_line(shown!("{}", line));
    let help = text("help");
    if !help.is_empty() {
        output::print_line(shown!("  help: {}", help));
    }
}
