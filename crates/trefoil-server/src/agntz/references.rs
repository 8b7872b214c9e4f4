//! References to agents: `id`, `id@latest`, `id@TIME`, `id@ALIAS`. A file has one version, which is what all of them mean.

use std::sync::Arc;

use http::StatusCode;
use trefoil_host::catalog::CatalogFlow;
use trefoil_project::Error;

use super::errors::{AgntzFailure, AgntzResult};
use crate::access::Caller;
use crate::problem::Problem;
use crate::state::AppState;

/// A reference to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentReference {
    /// Its id.
    pub id: String,
    /// The version that is asked for.
    pub version: Option<String>,
}

impl AgentReference {
    /// From its text.
    ///
    /// # Errors
    ///
    /// 400 if it is none.
    pub fn parse(text: &str) -> AgntzResult<Self> {
        let Some((id, version)) = text.split_once('@') else {
            return Ok(Self { id: text.to_owned(), version: None });
        };
        let is_version = version.starts_with(|c: char| c.is_ascii_alphanumeric())
            && version.chars().all(|c| c.is_ascii_alphanumeric() || "._:+-".contains(c));
        if id.is_empty() || !is_version {
            let error =
                format!("`{text}` is no reference to an agent; write ID, or ID@ with `latest`, a time or an alias");
            return Err(AgntzFailure::new(StatusCode::BAD_REQUEST, "INVALID_AGENT_REF", error));
        }
        Ok(Self { id: id.to_owned(), version: Some(version.to_owned()) })
    }
}

/// The flow of an agent.
///
/// # Errors
///
/// 404 without such an agent, also if the caller may not use it; 422 if its manifest does not load.
pub fn find_agent(state: &AppState, caller: &Caller, id: &str) -> AgntzResult<Arc<CatalogFlow>> {
    let unknown = match state.find_flow(caller, id) {
        Ok(flow) => return Ok(flow),
        Err(unknown) => unknown,
    };
    let flows = state.flows();
    for broken in flows.broken_targets() {
        let name = broken.target.path.file_stem().and_then(|name| name.to_str());
        if name == Some(id) && caller.may_use_flow(id) {
            return Err(Error::Load(broken.findings.clone()).into());
        }
    }
    let problem = Problem::not_found("AGENT_NOT_FOUND", format!("Agent \"{id}\" not found"));
    Err(Problem { help: unknown.help, ..problem }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_latest_a_time_or_an_alias() {
        let version = |text: &str| AgentReference::parse(text).map(|found| found.version.unwrap_or_default()).ok();
        assert_eq!(version("a"), Some(String::new()));
        assert_eq!(version("a@latest").as_deref(), Some("latest"));
        assert_eq!(version("a@2026-01-02T03:04:05.000Z").as_deref(), Some("2026-01-02T03:04:05.000Z"));
        for wrong in ["a@", "@latest", "a@a@b", "a@ prod", "a@-x"] {
            assert_eq!(version(wrong), None, "{wrong}");
        }
    }
}
