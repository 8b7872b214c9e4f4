//! Choosing models and their connections: for [`Engine::model`](crate::Engine::model),
//! [`registry`](crate::Engine::registry) and [`model_time_limits`](crate::Engine::model_time_limits).

pub use trefoil_models::{
    AddressSource, ModelOverride, ModelTimeLimits, NonDefaultAddress, PlanError, ProviderAvailability,
    ProviderConfiguration, Registry, VendorApi,
};
