//! Model providers for the runtime's port: the known providers, which of them can be called, and the calls themselves.
//!
//! ```text
//! environment --> Registry --+
//! program -----------------> ModelPlan --> one ModelProvider for the whole run
//! --model -------------------+             (embedded, scripted, or by name over HTTP)
//! ```
//!
//! Knows nothing about workflows: the machine does retries, budgets and guardrails, and parses answers as JSON.

pub mod address;
mod beneath;
pub mod credential;
#[cfg(feature = "http")]
pub mod http;
pub mod limits;
pub mod plan;
pub mod registry;
pub mod scripted;
pub mod vendors;

pub use address::{Address, AddressError};
pub use credential::Credential;
pub use limits::Limits;
pub use plan::{ModelOverride, ModelPlan, PlanError, PlanInput};
pub use registry::{Availability, Configured, Elsewhere, Fallbacks, ModelName, Registry, SaidBy};
pub use scripted::{ScriptError, Scripted};
pub use vendors::{Api, Own, Protocol, Vendor};
