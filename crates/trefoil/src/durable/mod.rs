//! Runs that are kept in a store, and go on from there in any process.

mod bundle;
mod cancel;
mod history;
mod hold;
mod inbox;
mod journal;
mod resume;

pub use bundle::{Packed, unpack};
pub use cancel::cancel;
pub use history::history;
pub use hold::{hold, process};
pub use inbox::Inbox;
pub use journal::RunJournal;
pub use resume::Stored;
