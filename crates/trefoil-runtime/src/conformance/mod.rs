//! Conformance suites for implementations of ports. An `Err` describes the requirement that is not met.
//!
//! A journal's tests call [`journal()`] with an empty journal. [`tools`] and [`people`] get a description of what the
//! implementation can do. The suite for models is in the tests of `trefoil-models`, which contains all providers.

mod journal;
mod people;
mod site;
mod tools;

pub use journal::journal;
pub use people::{People, people};
pub use tools::{ToolSample, tools};

/// Returns the message as an error if the condition does not hold.
fn must(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}
