//! The names of steps: of a program, of earlier runs, and of the flows that these have called.

use trefoil_ir::Program;
use trefoil_runtime::driver::memo::{EarlierCall, Memo};
use trefoil_store::Store;

use crate::durable::last_call_run;
use trefoil_project::error::{Error, FoundErrors};

/// The labels of a program's steps.
pub(crate) fn step_labels(program: &Program) -> impl Iterator<Item = &str> {
    program.steps.iter().filter_map(|step| step.label.as_deref())
}

/// A step of the flow that a call has called.
pub(crate) struct CalledStep {
    /// The call.
    pub call: EarlierCall,
    /// The step: a label or key of the called run.
    pub step: String,
}

impl CalledStep {
    /// The meaning of `CALL/STEP`, unless the earlier runs have a step with this name themselves.
    pub fn find_step(name: &str, memo: &Memo) -> Option<Self> {
        if memo.has_step(name) {
            return None;
        }
        let calls = memo.calls();
        // The longest name of a call.
        name.rmatch_indices('/').find_map(|(at, _)| {
            let (call, step) = (name.get(..at)?, name.get(at + 1..)?);
            let call = calls.iter().find(|earlier| earlier.is_of(call))?.clone();
            Some(Self { call, step: step.to_owned() })
        })
    }

    /// The run of the call.
    pub async fn run(&self, store: &dyn Store) -> Option<String> {
        last_call_run(store, &self.call.run, &self.call.activity.key).await
    }
}

/// That no step of the earlier runs has this name.
pub(super) fn no_step(step: &str, memo: &Memo) -> Error {
    let message = format!("the run has no step `{step}`; available: `{}`", memo.steps().join("`, `"));
    Error::NotStarted(FoundErrors::of_rule("unknown-step", &message, "name a step of the run"))
}
