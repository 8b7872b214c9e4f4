//! Why a run stopped, for what the loop does about it.

use trefoil_machine::event::AwaitedActivity;
use trefoil_runtime::RunError;

/// The code of a run that stopped at a limit.
pub const LIMIT_CODE: &str = "BUDGET_EXCEEDED";

/// The steps that a called run stopped before because they would be repeated, as the calling run names them: `CALL/STEP`.
pub fn called_repeats(one: &AwaitedActivity) -> Vec<String> {
    let mut paths = Vec::new();
    if let Some(why) = &one.why {
        for step in why.repeated_steps() {
            paths.push(AwaitedActivity { key: step.clone(), ..one.clone() }.step_path());
        }
    }
    paths
}

/// The limit at which a run, or one that it has called, stopped.
pub fn reached_limit(error: Option<&RunError>, waiting: &[AwaitedActivity]) -> Option<RunError> {
    if let Some(error) = error
        && error.code == LIMIT_CODE
    {
        return Some(error.clone());
    }
    for activity in waiting {
        if let Some(why) = activity.why.as_deref()
            && why.code == LIMIT_CODE
        {
            return Some(why.clone());
        }
    }
    None
}
