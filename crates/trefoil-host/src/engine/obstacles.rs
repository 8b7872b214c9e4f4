//! Everything that is certain to stop a run of a flow.

use trefoil_syntax::Diagnostic;
use trefoil_template::Value;

use super::needs::{ModuleTrial, RunNeeds, in_files, of_tool};
use super::{Engine, ReadyRun};
use crate::preflight::{local_calls, missing_inputs, missing_modules, modules_of};
use trefoil_project::error::{Error, FoundErrors};
use trefoil_project::flow::Flow;
use trefoil_project::load::LoadReport;

impl Engine {
    /// Everything that is certain to stop a run of a flow, in one list: that of [`Self::ready_for`].
    ///
    /// # Errors
    ///
    /// What prevents that it is found out, such as a store that cannot be read.
    pub async fn find_obstacles(&self, flow: &Flow, input: Option<&Option<Value>>) -> Result<FoundErrors, Error> {
        match self.ready_for(flow, input).await {
            Ok(_) => Ok(FoundErrors::new(flow.loaded_target().files.clone(), Vec::new())),
            Err(Error::NotStarted(why)) => Ok(why),
            Err(other) => Err(other),
        }
    }

    /// A run of a flow that nothing is certain to stop. Python modules are imported to try them, if Python is allowed; nothing else
    /// is called. `input`: that of the run, if it is to be judged.
    ///
    /// # Errors
    ///
    /// [`Error::NotStarted`] with everything that is certain to stop it.
    pub async fn ready_for(&self, flow: &Flow, input: Option<&Option<Value>>) -> Result<ReadyRun, Error> {
        let (ready, mut found) = match self.prepare_run(flow) {
            Ok(ready) => (Some(ready), FoundErrors::new(flow.loaded_target().files.clone(), Vec::new())),
            Err(Error::NotStarted(why)) => (None, why),
            Err(other) => return Err(other),
        };
        let mut add = |more: &FoundErrors| {
            let files = found.adopt_files(more.source_files());
            for d in more.found_diagnostics() {
                found.push(in_files(d.clone(), &files));
            }
        };
        add(&self.missing_modules(flow).await);
        if let Some(input) = input {
            let unset = missing_inputs(&flow.loaded_target().program, input.as_ref());
            let is_set = unset.is_empty();
            add(&FoundErrors::new(flow.loaded_target().files.clone(), unset));
            if let Some(ready) = &ready
                && is_set
            {
                match ready.check_input(input) {
                    Ok(()) => {}
                    Err(Error::NotStarted(why)) => add(&why),
                    Err(other) => return Err(other),
                }
            }
        }
        match ready {
            Some(ready) if found.is_empty() => Ok(ready),
            _ => Err(Error::NotStarted(found)),
        }
    }

    /// The Python modules of a flow, and of the flows that it can call as tools, that cannot be imported, if Python is allowed.
    async fn missing_modules(&self, flow: &Flow) -> FoundErrors {
        let program = &flow.loaded_target().program;
        let mut found = FoundErrors::new(flow.loaded_target().files.clone(), Vec::new());
        // Most flows call no Python and no flows, and then nothing else is looked up.
        let calls_others = !local_calls(program, false).is_empty();
        let engine = &self.for_flow(flow.name());
        // Whoever runs it elsewhere has others.
        if engine.parts.python.is_none()
            || engine.parts.submits
            || !calls_others && modules_of(program, &|_| true).is_empty()
        {
            return found;
        }
        let trials = {
            let needs = RunNeeds::of_flow(engine, flow, None);
            let mut around = found.clone();
            let files = around.source_files().iter().map(|(id, _)| id).collect();
            let own = needs.module_trial(engine, flow, (files, None));
            let beneath = needs.check_called_flows(engine, flow, &mut around).trials;
            found = FoundErrors::new(around.source_files().clone(), Vec::new());
            let mut trials = Vec::from_iter(own);
            trials.extend(beneath);
            trials
        };
        for ModuleTrial { modules, python, files, tool } in trials {
            for missing in missing_modules(&python, modules).await {
                let missing = in_files(missing, &files);
                found.push(match &tool {
                    Some((tool, at)) => of_tool(missing, tool, *at),
                    None => missing,
                });
            }
        }
        found
    }
}

/// Adds these findings to a report, each once.
pub fn add_findings(report: &mut LoadReport, found: &FoundErrors) {
    let mut all = FoundErrors::new(std::mem::take(&mut report.files), Vec::new());
    let files = all.adopt_files(found.source_files());
    for d in found.found_diagnostics() {
        let d = in_files(d.clone(), &files);
        let same = |known: &Diagnostic| {
            (known.rule, known.file, known.span, &known.message) == (d.rule, d.file, d.span, &d.message)
        };
        if !report.diagnostics.iter().any(same) {
            report.diagnostics.push(d);
        }
    }
    report.files = all.source_files().clone();
}
