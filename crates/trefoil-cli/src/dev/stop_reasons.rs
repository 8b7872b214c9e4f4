//! Why a run stopped, for what the loop does about it.

use trefoil_machine::event::AwaitedActivity;
use trefoil_runtime::RunError;

/// The code of a run that stopped at a limit.
pub const LIMIT_CODE: &str = "BUDGET_EXCEEDED";

/// The steps that a called run stopped before because they would be repeated, as the calling run names them: `CALL/STEP`.
pub fn called_repeats(one: &AwaitedActivity) -> Vec<String> {
    let steps = one.why.iter().flat_map(|why| why.repeated_steps());
    steps.map(|step| AwaitedActivity { key: step.clone(), ..one.clone() }.step_path()).collect()
}

/// The limit at which a run, or one that it has called, stopped.
pub fn reached_limit(error: Option<&RunError>, waiting: &[AwaitedActivity]) -> Option<RunError> {
    let called = waiting.iter().filter_map(|one| one.why.as_deref());
    error.into_iter().chain(called).find(|error| error.code == LIMIT_CODE).cloned()
}
