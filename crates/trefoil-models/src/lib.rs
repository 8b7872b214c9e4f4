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
pub mod credential;
#[cfg(feature = "http")]
pub mod http;
pub mod limits;
mod named_calls;
pub mod plan;
pub mod registry;
pub mod scripted;
pub mod vendors;

pub use address::{AddressError, ProviderAddress};
pub use credential::ProviderCredential;
pub use limits::ModelTimeLimits;
pub use plan::{ModelOverride, ModelPlan, PlanError, PlanInput};
pub use registry::{
    AddressSource, ModelName, NonDefaultAddress, ProviderAvailability, ProviderConfiguration, Registry, StepFallbacks,
};
pub use scripted::{ScriptError, Scripted};
pub use vendors::{ProprietaryApi, Vendor, VendorApi, VendorProtocol};
