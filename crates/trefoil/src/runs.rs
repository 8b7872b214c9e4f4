//! Operations on runs of a [store](crate::store) in addition to [resuming](crate::Engine::resume) them: start a run of
//! an [edited](crate::Engine::edit) flow that pays only for what the edit changed, [fork](crate::Engine::fork) a run,
//! [compare] two runs, and [verify] a journal. [`Runs`](crate::Runs) follows, answers and cancels runs of any process.

pub use trefoil_host::durable::{
    LastRun, PromptedRun, RunDiff, RunSide, StepDiff, StepSide, StoredRun, caller_in, compare, last_of, last_with,
    target_of, verify,
};
pub use trefoil_host::reuse::{
    EditPreview, EditedRun, NewResults, ReuseRequest, StepDecisions, asked_again, preview, preview_fork,
    preview_with_its_models,
};
pub use trefoil_machine::event::Waiting;
pub use trefoil_machine::{Difference, What};
pub use trefoil_runtime::driver::Verified;
pub use trefoil_view::diff::{DiffPart, TextHunk, WordDiff};
pub use trefoil_view::why::{
    ActivityDecision, ChangeReason, PlanPlace, ReuseDecision, SourceReason, TextOf, TextReason, TextSource, ValueOf,
    ValueReason,
};
