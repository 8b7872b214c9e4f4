//! What every implementation of a port must do, as data for its tests: an `Err` says what it does not.
//!
//! A journal's tests call [`journal()`] with an empty one. [`tools`] and [`people`] are told what the implementation can do.
//! That of models is among the tests of `trefoil-models`, which has them all.

mod journal;
mod people;
mod site;
mod tools;

pub use journal::journal;
pub use people::{People, people};
pub use tools::{ToolSample, tools};

/// What is wrong, if it is.
fn must(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}
