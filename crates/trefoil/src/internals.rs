//! Items shared with the command line, the language server and the tools of this repository. They are not part of the
//! library's public interface and may change without notice.

pub use trefoil_project::data::data;
pub use trefoil_project::fix::{Fixed, fix, preview};
pub use trefoil_project::load::{
    Cache, CheckStep, Checks, Leftovers, LoadOptions, Loaded, Progress, Report, check, check_and_keep, entry_file,
    load, programs, roots, rules,
};
pub use trefoil_project::target::Target;
pub use trefoil_project::target_settings::target_settings;
pub use trefoil_project::{
    as_tool, bundle, codes, door, failure, fix, folders, input, render, schema, secrets, settings, shell, written,
};
pub use trefoil_view::trace;

pub use crate::runs::{Edit, Edited, Line, Lines, Stored, verify};
pub use trefoil_host::durable::{
    StoredProject, Trial, can_continue, cancel, ended, history, spent_before, stop_reason, stopped, try_answer,
};
pub use trefoil_host::run_about;
pub use trefoil_host::stored_runs::{
    UnreadableRun, cancel_run, post_answer, tell_events, waiting_and_events, waiting_steps,
};
pub use trefoil_store::{Blob, Hold, NewRun, Owner};

pub use trefoil_host::{answers, command, engine, preflight};
