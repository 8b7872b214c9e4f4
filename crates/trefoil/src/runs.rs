//! Operations on runs of a [store](crate::store) in addition to [resuming](crate::Engine::resume_run) them: start a run of
//! an [edited](crate::Engine::edit_run) flow that pays only for what the edit changed, [fork](crate::Engine::fork_run) a run,
//! [compare](compare_runs) two runs, and [verify](verify_run) a journal. [`Runs`](crate::Runs) follows, answers and
//! cancels runs of any process.

pub use trefoil_host::durable::{
    FileDiff, FileDifference, LastRun, PromptedRun, RunDiff, RunSide, StartDiff, StepDiff, StepSide, StoredRun,
    caller_in, compare_runs, last_of, last_with, target_of, verify_run,
};
pub use trefoil_host::reuse::{
    EditPreview, EditedRun, NewResults, ReuseRequest, StepDecisions, asked_again, preview_edit, preview_fork,
    preview_with_its_models,
};
pub use trefoil_host::stored_runs::{OpenQuestion, QuestionFilter, QuestionPage};
pub use trefoil_machine::event::AwaitedActivity;
pub use trefoil_machine::receipt::GivenAnswer;
pub use trefoil_machine::{AnswerReceipt, DifferenceKind, ReplayDifference};
pub use trefoil_runtime::driver::VerificationReport;
pub use trefoil_view::change_reasons::{
    ActivityDecision, ChangeReason, ChangedTextKind, ChangedValueKind, PlanLocation, ReuseDecision, SourceReason,
    TextReason, TextSource, ValueReason,
};
pub use trefoil_view::diff::{DiffPart, TextHunk, ValueChange, WordDiff};
