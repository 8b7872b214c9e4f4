//! What would stop a run here, for the commands that only look: `doctor`, `plan`, `check --here`. `run` stops for the same
//! findings, which are made in one place ([`Engine::find_obstacles`]).

use trefoil::plan::CallBound;
use trefoil::ports::{CallSite, HumanInbox};
use trefoil::{Engine, Flow, FoundErrors, Value};
use trefoil_machine::HumanRequest;
use trefoil_project::load::{LoadOptions, LoadReport, find_root_targets};
use trefoil_project::settings::{self, FoundSettings, Settings};
use trefoil_project::target::LoadTarget;
use trefoil_project::target_settings::target_settings;
use trefoil_runtime::ports::QuestionState;
use trefoil_syntax::{Diagnostic, SourceFiles};

use crate::args::HostArgs;
use crate::refusal::did_not_start;
use crate::store::block_on;

/// The engine of a run with these options. People are there to be asked.
pub fn build_engine(host: &HostArgs, settings: &Settings) -> Engine {
    host.without_people(Engine::new(), settings).humans(LaterAnswers)
}

/// People who answer later, if ever.
struct LaterAnswers;

#[async_trait::async_trait]
impl HumanInbox for LaterAnswers {
    async fn ask_question(&self, _: CallSite<'_>, _: &HumanRequest) -> QuestionState {
        QuestionState::Later
    }
}

/// The obstacles of a run of a flow: what is wrong with its settings, and what the flow lacks. `input`: that of the run, if it is to be
/// judged.
pub fn flow_obstacles(
    engine: &Engine,
    found: &FoundSettings,
    flow: &Flow,
    input: Option<&Option<Value>>,
) -> Result<Vec<FoundErrors>, u8> {
    let mut all = vec![FoundErrors::from(found)];
    // Settings that are not trusted do not apply, so it is not known what else is missing.
    if found.findings.iter().all(|d| d.rule != settings::UNTRUSTED) {
        let found = block_on(engine.find_obstacles(flow, input))?;
        all.push(found.map_err(|error| did_not_start(&error))?);
    }
    Ok(all)
}

/// A number of model calls in words.
pub fn call_number(calls: &CallBound) -> String {
    match calls.fixed_number() {
        _ if calls.endless => "any number of model calls".to_owned(),
        Some(1) => "1 model call".to_owned(),
        _ => format!("{calls} model calls"),
    }
}

/// Why a run does not start that may need more model calls than it may make.
pub fn too_many_calls(calls: &CallBound, most: Option<u64>) -> Option<String> {
    let most = most?;
    if !calls.endless && calls.fixed <= most {
        return None;
    }
    Some(format!("it may need {}, but `--max-calls` allows only {most}", call_number(calls)))
}

/// Where a finding is: `FILE:LINE`.
pub fn finding_location(d: &Diagnostic, files: &SourceFiles) -> Option<String> {
    let file = files.get(d.file?)?;
    Some(format!("{}:{}", file.name(), file.line_number(d.span?.start)))
}

/// The flows of a target, each with the settings of its project, or why it does not load: that of an id, or all that no other one
/// uses.
pub fn flows_at(
    target: &LoadTarget,
    options: &LoadOptions,
    no_config: bool,
) -> Vec<Result<(Flow, FoundSettings), Box<LoadReport>>> {
    let own = |target: &LoadTarget| {
        let found = target_settings(target, options, no_config);
        let settings = &found.settings;
        let mut options = options.clone();
        options.allowed.extend(settings.allowed.iter().cloned());
        options.supplied = settings.supplied_declarations();
        let loaded = trefoil_project::load::load_target(target, &options).map_err(Box::new)?;
        Ok((Flow::from(loaded), found))
    };
    match target.id {
        Some(_) => vec![own(target)],
        None => find_root_targets(&target.path, options).iter().map(own).collect(),
    }
}
