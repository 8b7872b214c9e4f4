//! How a run ended: its result as it is, what of it must not be shown, and what it has used.

use std::sync::Arc;

use trefoil_machine::error::RunError;
use trefoil_machine::event::{AwaitedActivity, ItemTally};
use trefoil_machine::private::{HiddenParts, PrivateValue};
use trefoil_machine::request::Usage;
use trefoil_template::Value;

/// The error code of a call that was stopped, and of a run that was cancelled.
pub const STOPPED: &str = "CANCELLED";

/// The code of a run that was interrupted.
pub const INTERRUPTED: &str = "INTERRUPTED";

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    /// The run's id.
    pub run: Arc<str>,
    /// Its output as it is, for whoever takes it, or why it failed; [`Self::visible_output`] is for people.
    /// `CANCELLED`: it was stopped on request. `SUSPENDED`: it has not ended.
    pub result: Result<Value, RunError>,
    /// The parts of the output that must not be shown.
    pub hidden: HiddenParts,
    /// What is wrong with the output although the run succeeded: a secret was replaced on its way there.
    pub warnings: Vec<String>,
    /// What a suspended run waits for. Empty if the run is not suspended.
    pub waiting: Vec<AwaitedActivity>,
    /// Whether the run waits: for the answers in [`waiting`](Self::waiting), or, if that is empty, for permission to do what
    /// [`result`](Self::result) says, which is to repeat a step (`WOULD_REPEAT`) or to exceed a limit (`BUDGET_EXCEEDED`).
    pub suspended: bool,
    /// Whether the run can be resumed.
    pub continues: bool,
    /// The items of the fan-outs in which some failed, and the run went on. `None`: no item failed.
    pub items: Option<ItemTally>,
    /// Tokens and cost.
    pub usage: Usage,
    /// Model calls, including failed and cancelled ones.
    pub calls: u64,
    /// Duration in milliseconds.
    pub duration_ms: u64,
}

impl RunOutcome {
    /// The output as it may be shown.
    pub fn visible_output(&self) -> Option<Value> {
        let value = self.result.as_ref().ok()?;
        Some(PrivateValue::new(value.clone(), self.hidden.clone()).visible_value())
    }

    /// Whether the run stopped before a command that this process may not run.
    pub fn is_refused(&self) -> bool {
        self.suspended && self.result.as_ref().is_err_and(|error| error.code == "REFUSED")
    }

    /// What this process may not run, if the run stopped before that: a command of this run, or of a run that one of its tools
    /// started.
    pub fn permission_error(&self) -> Option<&RunError> {
        if let Err(error) = &self.result
            && self.is_refused()
        {
            return Some(error);
        }
        for awaited in &self.waiting {
            if let Some(why) = &awaited.why
                && why.code == "REFUSED"
            {
                return Some(why);
            }
        }
        None
    }

    /// The outcome of a run that failed before it could start or continue.
    pub fn from_failure(run: &str, error: RunError) -> Self {
        Self {
            run: run.into(),
            result: Err(error),
            hidden: HiddenParts::default(),
            warnings: Vec::new(),
            waiting: Vec::new(),
            suspended: false,
            continues: false,
            items: None,
            usage: Usage::default(),
            calls: 0,
            duration_ms: 0,
        }
    }
}

/// The result, and its parts that must not be shown.
pub fn split_result(result: Result<PrivateValue, RunError>) -> (Result<Value, RunError>, HiddenParts) {
    match result {
        Ok(value) => {
            let hidden = value.hidden_parts().clone();
            (Ok(value.into_exact()), hidden)
        }
        Err(error) => (Err(error), HiddenParts::default()),
    }
}
