//! HTTP tools of manifests: the allowed hosts, for [`Engine::http`](crate::Engine::http).
//!
//! Requests go to public addresses over `http` and `https`. [`GuardRules::allow`] allows hosts that are not public, and
//! allows sending them secrets and environment values.

pub use trefoil_tools::guard::{AllowedHost, GuardRules, InvalidHost, RequestLimits};
