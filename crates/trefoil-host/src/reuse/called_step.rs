//! Steps of flows that the steps of earlier runs have called: `CALL/STEP`.

use trefoil_runtime::driver::memo::{EarlierCall, Memo};
use trefoil_store::Store;

use crate::durable::last_call_run;

/// A step of the flow that a call has called.
pub(crate) struct CalledStep {
    /// The call.
    pub call: EarlierCall,
    /// The name of the step in the called run.
    pub step: String,
}

impl CalledStep {
    /// The meaning of `CALL/STEP`, unless the earlier runs have a step with this name themselves.
    pub fn find_step(name: &str, memo: &Memo) -> Option<Self> {
        Self::find_all(name, memo).into_iter().next()
    }

    /// Every meaning of it, one for each call. The longest name of a call counts.
    pub fn find_all(name: &str, memo: &Memo) -> Vec<Self> {
        if memo.has_step(name) {
            return Vec::new();
        }
        let (mut all, mut shortest) = (Vec::new(), usize::MAX);
        for call in memo.tool_calls() {
            let inside = call.activity.step_path().names_inside(name).next();
            if let Some(step) = inside.map(str::to_owned) {
                shortest = shortest.min(step.len());
                all.push(Self { call, step });
            }
        }
        all.retain(|called| called.step.len() == shortest);
        all
    }

    /// The run of the call.
    pub async fn find_run(&self, store: &dyn Store) -> Option<String> {
        last_call_run(store, &self.call.run, &self.call.activity.key).await
    }
}
