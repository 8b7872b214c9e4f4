//! What a coordinator asks its host while it decides. The answers must be immediate: whatever takes time is an action of the
//! coordinator, and its result an input.

use trefoil_machine::error::RunError;
use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::journal::ActivityMetadata;
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::{Activity, ToolRequest, Usage};
use trefoil_template::Value;

use crate::action::WorkId;

/// The facts that a host knows without waiting. Values and errors in its answers are masked: the coordinator never gets a value that
/// contains a secret.
pub trait HostFacts {
    /// Milliseconds since the run began.
    fn now_ms(&self) -> u64;
    /// Milliseconds since 1970-01-01 UTC.
    fn wall_ms(&self) -> u64;
    /// Whether calling a tool twice is the same as calling it once.
    fn is_idempotent(&self, request: &ToolRequest) -> bool;
    /// Why this host may not perform an activity. `None`: it may. Another host may have more permissions.
    fn permission_refusal(&self, _activity: &Activity) -> Option<RunError> {
        None
    }
    /// Whether anybody watches the events of the run.
    fn is_watched(&self) -> bool {
        true
    }
    /// The metadata of a model call that has not ended, such as its usage so far.
    fn metadata_so_far(&self, _work: WorkId, _activity: &Activity) -> ActivityMetadata {
        ActivityMetadata::from_usage(Some(Usage::for_unknown_call()))
    }
    /// Whether a call that is stopped ends later by itself, as one that has started other runs: they must stop first. Other calls are
    /// aborted at once.
    fn winds_down(&self, _work: WorkId) -> bool {
        false
    }
    /// An activity that the run waits for, as it may be shown.
    fn awaited_activity(&self, activity: &Activity) -> AwaitedActivity {
        AwaitedActivity { key: activity.key.clone(), sort: activity.request.sort_name(), ..AwaitedActivity::default() }
    }
    /// A result of an earlier run that this run reuses, after the checks that a new result gets: guardrails and masking.
    fn check_result(
        &self,
        _activity: &Activity,
        value: PrivateValue,
        metadata: ActivityMetadata,
    ) -> (Result<PrivateValue, RunError>, ActivityMetadata) {
        (Ok(value), metadata)
    }
    /// The result of the run, with its holes filled from the environment.
    fn fill_result(&self, value: &Value) -> Result<PrivateValue, RunError>;
    /// An error of the machine without secrets. It may quote results of models and tools.
    fn hide_error(&self, error: RunError) -> RunError;
}
