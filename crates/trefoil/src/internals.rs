//! Items shared with the command line, the language server and the tools of this repository. They are not part of the
//! library's public interface and may change without notice.

pub use crate::data::data;
pub use crate::fix::{Fixed, fix, preview};
pub use crate::load::{
    Cache, CheckStep, Checks, Leftovers, LoadOptions, Loaded, Progress, Report, Target, check, check_and_keep,
    entry_file, load, programs, roots, rules,
};

macro_rules! modules {
    ($($name:ident)*) => {
        $(
            #[allow(missing_docs, reason = "it has them where it is")]
            pub mod $name {
                pub use crate::$name::*;
            }
        )*
    };
}

pub use crate::durable::{
    Packed, StoredProject, Trial, can_continue, cancel, ended, history, spent_before, stop_reason, stopped, try_answer,
    unpack,
};
pub use crate::runs::{Edit, Edited, Line, Lines, Stored, verify};
pub use trefoil_store::{Blob, Hold, NewRun, Owner};

modules! { answers as_tool codes command door engine failure fix input preflight render schema secrets settings shell trace }
