//! Choosing models and their connections: for [`Engine::model`](crate::Engine::model),
//! [`registry`](crate::Engine::registry) and [`limits`](crate::Engine::limits).

pub use trefoil_models::{
    Api, Availability, Configured, Elsewhere, Limits, ModelOverride, PlanError, Registry, SaidBy,
};
