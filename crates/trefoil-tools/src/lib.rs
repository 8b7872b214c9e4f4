//! Tools: what a workflow calls in the world.
//!
//! [`guard`] is the one HTTP client of everything whose address a manifest, an input or an answer names. It decides which
//! addresses may be called, and how much may come back. [`HttpTools`] calls HTTP tools with it.
//!
//! Knows nothing about workflows, models and manifests.

pub mod guard;
mod http;

pub use http::HttpTools;
