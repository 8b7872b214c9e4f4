//! Activities that were in progress when a process ended. Their outcome is *unknown*.

use std::sync::Arc;

use trefoil_machine::Machine;
use trefoil_machine::error::RunError;
use trefoil_machine::journal::LostModelCall;
use trefoil_machine::request::{Activity, Request, Usage};

use crate::facts::HostFacts;

/// How to handle activities with an unknown outcome. Model calls are repeated. Timers, questions, descriptions of tools and
/// conditions are repeated because that is free. Of tools and commands, only idempotent tools are repeated without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RecoveryPolicy {
    /// For tools that are not idempotent.
    pub tools: OnUnknown,
    /// For commands.
    pub commands: OnUnknown,
}

/// How to handle an activity with an unknown outcome that may not be safe to repeat.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnUnknown {
    /// The run waits until somebody decides.
    #[default]
    Ask,
    /// It is repeated.
    Retry,
    /// It fails with `UNKNOWN_OUTCOME`.
    Fail,
}

/// How often a run may be resumed without progress, if its host sets no limit.
const MAX_FRUITLESS: u32 = 10;

/// The error for a run that was resumed too often without progress. `most`: the limit of its host.
pub fn resume_limit_error(times: u32, most: Option<u32>) -> Option<RunError> {
    if times < most.unwrap_or(MAX_FRUITLESS) {
        return None;
    }
    let message =
        format!("the run was resumed {times} times without progress; it may be the reason why its process ends");
    Some(RunError::new("RESUME_LIMIT", message).with_help("find out what ended the process, or start a new run"))
}

/// The error code of an activity with an unknown outcome.
pub const UNKNOWN: &str = "UNKNOWN_OUTCOME";

/// The error for an activity with an unknown outcome.
pub fn unknown_outcome_error(activity: &Activity) -> RunError {
    let what = activity.request.sort_name();
    let message = format!("it is unknown whether this {what} was done: its process ended, or no answer came");
    RunError::new(UNKNOWN, message)
}

/// Whether an activity that failed with this error may have been performed.
pub fn is_unknown(error: &RunError) -> bool {
    error.code == UNKNOWN || matches!(&error.cause, Some(cause) if cause.may_be_done())
}

/// The model calls among activities, with the usage that each counts for.
pub fn lost_calls(machine: &Machine, open: &[Arc<Activity>]) -> Vec<LostModelCall> {
    let mut lost = Vec::new();
    for activity in open {
        if matches!(activity.request, Request::Model(_)) {
            let usage = machine.price_usage(activity, Usage::for_unknown_call(), None);
            lost.push(LostModelCall { key: activity.key.clone(), usage, partial: None });
        }
    }
    lost
}

/// Whether performing it twice is the same as performing it once.
pub fn may_repeat(request: &Request, facts: &dyn HostFacts) -> bool {
    match request {
        Request::Tool(request) => facts.is_idempotent(request),
        Request::Command(_) => false,
        Request::Model(_) | Request::Describe(_) | Request::Human(_) | Request::Timer { .. } | Request::Decide(_) => {
            true
        }
    }
}
