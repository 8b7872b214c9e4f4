//! Operations on runs of a [store](crate::store) in addition to [resuming](crate::Engine::resume) them: start a run of
//! an [edited](crate::Engine::edit) flow that pays only for what the edit changed, [fork](crate::Engine::fork) a run,
//! [compare] two runs, and [verify] a journal.

pub use crate::durable::{
    Fate, Hunk, LastRun, Line, Part, Place, Prompted, Reason, RunDiff, RunSide, SourceReason, StepDiff, StepSide,
    Stored, TextOf, TextReason, TextSource, ValueOf, ValueReason, WordDiff, caller_in, compare, last_of, last_with,
    target_of, verify,
};
pub use crate::reuse::{
    Edit, Edited, Lines, Made, Preview, asked_again, preview, preview_fork, preview_with_its_models,
};
pub use trefoil_machine::{Difference, What};
pub use trefoil_runtime::driver::Verified;
