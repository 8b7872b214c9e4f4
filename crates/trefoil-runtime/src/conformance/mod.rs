//! Conformance suites for implementations of ports. An `Err` describes the requirement that is not met.
//!
//! A journal's tests call [`check_journal`] with an empty journal, those of shared limits call [`check_shared_limits`] with two
//! processes. [`check_tools`] and [`check_inbox`] get a description of what the implementation can do. The suite for models is in
//! the tests of `trefoil-models`, which contains all providers.

mod journal;
mod people;
mod shared_limits;
mod site;
mod tools;

pub use journal::check_journal;
pub use people::{InboxFixture, check_inbox};
pub use shared_limits::check_shared_limits;
pub use tools::{ToolSample, check_tools};

/// Returns the message as an error if the condition does not hold.
fn must(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}
