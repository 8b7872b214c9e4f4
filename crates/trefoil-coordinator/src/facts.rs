//! What a host knows at once. A fact is read and never waited for; whatever takes time is an action and an input.

use trefoil_machine::error::RunError;
use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::journal::ActivityMetadata;
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::{Activity, ToolRequest, Usage};
use trefoil_template::Value;

use crate::action::WorkId;

/// The immediate facts of a host. What it says of values is from its masking: the coordinator gets no value that is not masked.
pub trait HostFacts {
    /// Milliseconds on the run's clock.
    fn now_ms(&self) -> u64;
    /// Milliseconds since 1970-01-01 UTC.
    fn wall_ms(&self) -> u64;
    /// Whether calling a tool twice is the same as calling it once.
    fn is_idempotent(&self, request: &ToolRequest) -> bool;
    /// Why this host may not perform an activity, although another one may.
    fn permission_refusal(&self, _activity: &Activity) -> Option<RunError> {
        None
    }
    /// Whether anybody wants to know how the run proceeds.
    fn is_watched(&self) -> bool {
        true
    }
    /// What is known of a model call that has not ended, with its usage so far.
    fn so_far(&self, _work: WorkId, _activity: &Activity) -> ActivityMetadata {
        ActivityMetadata::from_usage(Some(Usage::for_unknown_call()))
    }
    /// Whether a call, if it is stopped, needs a moment to end.
    fn winds_down(&self, _work: WorkId) -> bool {
        false
    }
    /// An activity that the run waits for, as it may be shown.
    fn awaited_activity(&self, activity: &Activity) -> AwaitedActivity {
        AwaitedActivity { key: activity.key.clone(), sort: activity.request.sort_name(), ..AwaitedActivity::default() }
    }
    /// The result of an earlier run, checked as one that has just arrived.
    fn check_result(
        &self,
        _activity: &Activity,
        value: PrivateValue,
        about: ActivityMetadata,
    ) -> (Result<PrivateValue, RunError>, ActivityMetadata) {
        (Ok(value), about)
    }
    /// The result of the run, with what the environment puts into it.
    fn fill_result(&self, value: &Value) -> Result<PrivateValue, RunError>;
    /// An error of the machine as it may be shown. It may quote results of models and tools.
    fn hide_error(&self, error: RunError) -> RunError;
}
