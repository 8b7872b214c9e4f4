//! What a run is to reuse.

use trefoil_template::Value;

/// Options for reusing the results of an earlier run.
#[derive(Debug, Clone, Default)]
pub struct Edit {
    /// The step to repeat, by its name in the earlier run or, if the edit renamed it, its new name, with everything that started after
    /// it; `None`: only changed requests are made. `STEP/INNER` is a step of
    /// the flow that `STEP` calls as a tool.
    pub from: Option<String>,
    /// The same for these steps of a called run: earlier runs of its caller were to repeat them, and did not come to that.
    pub also_from: Vec<String>,
    /// Whether every step is repeated.
    pub all: bool,
    /// The steps whose tools and commands may run again although that may not be safe; `*`: those of all steps. `STEP/INNER` is a
    /// step of the flow that `STEP` calls as a tool; `STEP` alone: all of its steps.
    pub rerun: Vec<String>,
    /// Whether the new run uses the models and limits of the engine and the manifests, even if others were chosen for the earlier run.
    pub own_settings: bool,
    /// The input, if not that of the earlier run.
    pub input: Option<Value>,
    /// Whether the step at which the earlier run failed is repeated, as in a fork.
    pub failed: bool,
    /// Whether it is repeated if the run would otherwise fail in the same way without any call.
    pub failed_if_stuck: bool,
    /// Whether this is a fork: the run has the files of the earlier one.
    pub forked: bool,
}
