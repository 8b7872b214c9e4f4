//! HTTP tools of manifests: who may be called, for [`Engine::http`](crate::Engine::http).
//!
//! Requests go to public addresses over `http` and `https`. [`Rules::allow`] names hosts that may be called although they are not
//! public, and that may see what a request holds of the environment and of secrets.

pub use trefoil_tools::guard::{AllowedHost, NotAHost, RequestLimits, Rules};
