//! What front ends tell editors about names: declarations, mentions, scopes.

mod aegis;
mod agntz;
mod examples;
mod sirenspec;
mod support;
