//! Runs, for hosts: the engine that starts them, what is checked before their first call, the runs in a store and what
//! any process can do with them, and the ways to use again what was paid for.
//!
//! ```text
//! durable (what is stored of a run) <- engine, preflight (a run that may start) <- reuse (resume, edit, fork)
//!         <- stored_runs (submit, follow, answer, cancel), flow_history (what many runs cost)
//! worker (takes runs of a store), service (starts and watches runs for others), catalog (the flows that are offered),
//!         mcp (offers flows as tools), over both
//! ```
//!
//! A host (a command line, a server, a worker) parses, prints and asks, and decides nothing itself. Programs that only
//! start runs use the crate `trefoil`, which re-exports the rest of what they need.

mod allowed_hosts;
pub mod answers;
pub mod catalog;
pub mod command;
pub mod durable;
pub mod engine;
pub mod flow_history;
#[cfg(feature = "mcp-server")]
pub mod mcp;
pub mod preflight;
pub mod reuse;
mod run;
pub mod served_folder;
pub mod service;
pub mod stored_runs;
pub mod waiting_messages;
pub mod worker;

pub use engine::{AnswersFrom, Engine, ReadyRun};
pub use run::{Run, run_about};
pub use stored_runs::{AnswerRefusal, RunCancellation, RunFollower, Runs};
