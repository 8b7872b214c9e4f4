//! Operations on runs of a [store](crate::store) in addition to [resuming](crate::Engine::resume) them: start a run of
//! an [edited](crate::Engine::edit) flow that pays only for what the edit changed, [fork](crate::Engine::fork) a run,
//! [compare] two runs, and [verify] a journal.

pub use crate::durable::{
    Edit, Edited, Fate, Hunk, LastRun, Line, Lines, Made, Part, Place, Preview, Prompted, Reason, RunDiff, RunSide,
    SourceReason, StepDiff, StepSide, Stored, TextOf, TextReason, TextSource, ValueOf, ValueReason, WordDiff,
    asked_again, caller_in, compare, last_of, last_with, preview, preview_fork, preview_with_its_models, target_of,
    verify,
};
pub use trefoil_machine::{Difference, What};
pub use trefoil_runtime::driver::Verified;
