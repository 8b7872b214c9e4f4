//! Commands about the runs of a server (`--server URL`), over its API. They print what the same commands print about a store.
//!
//! ```text
//! frame_decoder, failure <- client <- run_lookup, event_feed <- run_events, waits <- ask <- follow <- run, resume, fork
//! ```
//!
//! What a server says is a stranger's text: it is limited, read by the one reader of JSON, and escaped where it is shown.

mod ask;
mod client;
mod event_feed;
mod failure;
mod follow;
mod frame_decoder;
mod local_options;
mod local_stores;
mod run_end;
mod run_events;
mod run_lookup;
mod typed_input;
mod waits;

pub mod answer;
pub mod diff;
pub mod fork;
pub mod list;
pub mod manage;
pub mod resume;
pub mod run;
pub mod show;
pub mod trace;

pub use local_options::{refuse_command, refuse_local_options};
pub use local_stores::note_local_store;
