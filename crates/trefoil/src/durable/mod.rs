//! Runs that are kept in a store, and go on from there in any process.

mod bundle;
mod inbox;
mod journal;
mod resume;

pub use bundle::{Packed, unpack};
pub use inbox::Inbox;
pub use journal::RunJournal;
pub use resume::Stored;
