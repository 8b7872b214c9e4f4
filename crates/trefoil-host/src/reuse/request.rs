//! What a run is to reuse of earlier runs: the same for a run of edited files, a fork, a run that is resumed, the run of a call, a run that
//! takes answers of others, and a preview of any of them.

use trefoil_machine::journal::Basis;
use trefoil_template::Value;

/// What a run is to reuse of an earlier one, and what it is to repeat.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReuseRequest {
    /// The earlier run. Empty for [`answers`](Self::answers) of any run.
    pub of: String,
    /// Whether only answers of models are reused.
    pub answers: bool,
    /// The step to repeat, by its name in the earlier run or, if the edit renamed it, its new name, with everything that started after
    /// it; `None`: only changed requests are made. `STEP/INNER` is a step of
    /// the flow that `STEP` calls as a tool.
    pub from: Option<String>,
    /// The only step that is performed, by its name in the new run: the run is cancelled where it needs more than that and earlier results.
    /// [`from`](Self::from) names it, too.
    pub only: Option<String>,
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

impl ReuseRequest {
    /// Everything of a run.
    pub fn for_whole_run(of: impl Into<String>) -> Self {
        Self { of: of.into(), ..Self::default() }
    }

    /// Its form in journals. `execution`: the id of the earlier run for its program.
    pub(crate) fn to_basis(&self, execution: Option<&str>) -> Basis {
        Basis {
            run: self.of.clone(),
            answers: self.answers,
            from: self.from.clone(),
            only: self.only.clone(),
            also_from: self.also_from.clone(),
            all: self.all,
            forked: self.forked,
            failed: self.failed,
            rerun: self.rerun.clone(),
            execution: execution.map(str::to_owned),
            ..Basis::default()
        }
    }

    /// The request with which a run has started. `rerun`: what it may repeat since.
    pub(crate) fn from_stored(basis: &Basis, rerun: &[String]) -> Self {
        Self {
            of: basis.run.clone(),
            answers: basis.answers,
            from: basis.from.clone(),
            only: basis.only.clone(),
            also_from: basis.also_from.clone(),
            all: basis.all,
            forked: basis.forked,
            failed: basis.failed,
            rerun: basis.rerun.iter().chain(rerun).cloned().collect(),
            ..Self::default()
        }
    }
}
