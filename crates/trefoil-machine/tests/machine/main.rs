//! Tests of the machine through its public interface, driven by hand. The behaviour of steps is tested with the driver,
//! in `trefoil-runtime`.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot go on fails"
)]

mod content;
mod journals;
mod machine;
mod money;
mod properties;
mod random;
mod usage;
