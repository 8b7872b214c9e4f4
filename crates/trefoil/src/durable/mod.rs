//! Runs that are kept in a store, and go on from there in any process.

mod answer;
mod bundle;
mod cancel;
mod ended;
mod history;
mod resume;

pub use answer::{Trial, try_answer};
pub use bundle::{Packed, unpack};
pub use cancel::cancel;
pub(crate) use ended::ended;
pub use history::history;
pub(crate) use history::program_of;
pub use resume::Stored;
