//! What would stop a run here, for the commands that only look: `doctor`, `plan`, `check --here`. `run` stops for the same
//! findings, which are made in one place ([`Engine::obstacles`]).

use std::path::Path;

use clap::Args;
use trefoil::http::AllowedHost;
use trefoil::internals::settings::{self, Settings};
use trefoil::internals::{LoadOptions, Target, roots};
use trefoil::{Engine, Findings, Flow, Value};
use trefoil_syntax::{Diagnostic, Files};

use crate::model::ModelArgs;
use crate::run::HostArgs;
use crate::store::block_on;

/// What runs may do here.
#[derive(Args, Clone, Default)]
pub struct PermissionArgs {
    /// Allow steps to run shell commands and Python functions; Python modules are imported to test them
    #[arg(long)]
    allow_command: bool,
    /// Allow HTTP tools to call this host, as for `run` (repeatable)
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<AllowedHost>,
}

impl PermissionArgs {
    /// The options of a run with these permissions.
    pub fn host(&self, models: &ModelArgs) -> HostArgs {
        HostArgs { models: models.clone(), ..HostArgs::allowing(self.allow_command, self.allow_host.clone()) }
    }
}

/// The engine of a run with these options. People are there to be asked.
pub fn engine(host: &HostArgs, settings: &Settings) -> Engine {
    host.without_people(Engine::new(), settings).humans(LaterAnswers)
}

/// People who answer later, if ever.
struct LaterAnswers;

#[async_trait::async_trait]
impl trefoil::ports::HumanInbox for LaterAnswers {
    async fn ask(
        &self,
        _: trefoil::ports::CallSite<'_>,
        _: &trefoil_machine::HumanRequest,
    ) -> trefoil_runtime::ports::Asked {
        trefoil_runtime::ports::Asked::Later
    }
}

/// The obstacles of a run of a flow. `input`: that of the run, if it is to be judged.
pub fn of_flow(engine: &Engine, flow: &Flow, input: Option<&Option<Value>>) -> Result<Findings, u8> {
    block_on(engine.obstacles(flow, input))?.map_err(|error| crate::commands::run::did_not_start(&error))
}

/// Where a finding is: `FILE:LINE`.
pub fn place(d: &Diagnostic, files: &Files) -> Option<String> {
    let file = files.get(d.file?)?;
    Some(format!("{}:{}", file.name(), file.line(d.span?.start)))
}

/// The flows at a path that load, each with the settings of its project.
pub fn flows_at(path: &Path, options: &LoadOptions, no_config: bool) -> Vec<(Flow, Settings)> {
    let own = |target: &Target| {
        let settings = settings::of(target, options, no_config).settings;
        let allowed = options.allowed.iter().chain(&settings.allowed).cloned().collect();
        let options = LoadOptions { allowed, supplied: settings.supplied(), checks: None, ..options.clone() };
        trefoil::internals::load(target, &options).ok().map(|loaded| (Flow::from(loaded), settings))
    };
    roots(path, options).iter().filter_map(own).collect()
}
