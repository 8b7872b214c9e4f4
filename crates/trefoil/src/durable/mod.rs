//! Runs that are kept in a store, and go on from there in any process.

mod bundle;
mod cancel;
mod history;
mod hold;
mod resume;

pub use bundle::{Packed, unpack};
pub use cancel::cancel;
pub use history::history;
pub use hold::{hold, process};
pub use resume::Stored;
