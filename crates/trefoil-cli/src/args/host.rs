//! What a run may use and do here.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use trefoil::http::AllowedHost;
use trefoil_host::command::RunOptions;
use trefoil_host::engine::{CommandGrant, Engine, FlowRights};
use trefoil_machine::AnswerSender;
use trefoil_machine::journal::GivenPermissions;
use trefoil_machine::step_path::split_value;
use trefoil_models::ModelTimeLimits;
use trefoil_project::settings::{ServedFlowRule, Settings};
use trefoil_runtime::{OnUnknown, RecoveryPolicy};

use super::{ModelArgs, StoreArgs};
use crate::os_user::user_sender;

/// What a run may use here.
#[derive(Args, Clone)]
pub struct HostArgs {
    #[command(flatten)]
    pub models: ModelArgs,
    /// Time limit of each model call, in seconds (a manifest's own limit may be shorter)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<u64>,
    /// Answer for a human step; STEP is its name, or its key if the name is not unique (`outer/inner`)
    #[arg(long = "answer", value_name = "STEP=VALUE", value_parser = step_answer)]
    pub answers: Vec<String>,
    /// Allow steps to run shell commands on this machine
    #[arg(long)]
    pub allow_command: bool,
    /// Allow HTTP tools to call a host that is not public, and to send it secrets and environment values: `name`,
    /// `name:port`, `*.domain` or `10.0.0.0/8` (repeatable)
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<AllowedHost>,
}

/// Parses the time limit of a call.
fn seconds(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(seconds @ 1..=86_400) => Ok(seconds),
        _ => Err("write whole seconds, from 1 to 86400: `60`".to_owned()),
    }
}

/// Checks the form of an answer. A name may contain `=`, so it is split when the steps are known.
fn step_answer(text: &str) -> Result<String, String> {
    match split_value(text, |_| false) {
        Some(_) => Ok(text.to_owned()),
        None => Err("write STEP=VALUE".to_owned()),
    }
}

impl HostArgs {
    /// The options of printed commands: the store, and what is permitted.
    pub fn run_options(&self, store: &StoreArgs, no_config: bool) -> RunOptions {
        RunOptions::new(store.store_option(), &self.permissions(no_config))
    }
    /// What the options allow, in this process only. `no_config`: the settings of the project are ignored.
    pub fn permissions(&self, no_config: bool) -> GivenPermissions {
        let hosts = self.allow_host.iter().map(ToString::to_string).collect();
        GivenPermissions { commands: self.allow_command, hosts, no_config }
    }

    /// Configures an engine without a terminal.
    pub fn without_people(&self, engine: Engine, settings: &Settings) -> Engine {
        let call_ms = self.timeout.map(|seconds| seconds.saturating_mul(1000));
        #[cfg(debug_assertions)]
        let engine = crate::crash::with_panicking_tool(engine);
        let mut engine = self
            .models
            .configure_engine(engine, settings)
            .model_time_limits(ModelTimeLimits { call_ms, ..ModelTimeLimits::default() });
        engine = engine.typed_answers(self.answers.iter().cloned());
        engine = engine.answer_sender(user_sender(AnswerSender::BEFORE_RUN));
        let mut rules = settings.http.clone();
        rules.allow.extend(self.allow_host.iter().cloned());
        engine = engine.http(rules).permissions(self.permissions(false));
        let commands = self.allow_command || settings.commands;
        // This process's memory contains keys, whether or not it starts other processes.
        trefoil_project::shell::hide_memory();
        if commands || settings.starts_processes() {
            trefoil_project::shell::adopt_orphans();
        }
        if commands {
            engine = engine.commands(settings.command_shell()).python(settings.python.clone());
        }
        engine
    }

    /// The same for flows of others, each with the rights that `[serve.flows]` gives it. `around`: the rules of the folder that is served.
    /// `grants`: whether rules may allow commands that are not allowed to all flows.
    pub fn for_flows(&self, settings: &Settings, around: &[ServedFlowRule], grants: bool) -> Engine {
        let engine = self.without_people(Engine::new(), settings).share_models();
        let mut rights = FlowRights {
            rules: settings.flow_rules.clone(),
            around: around.to_vec(),
            commands: self.allow_command || settings.commands,
            grant: None,
        };
        if grants && settings.grants_commands() {
            trefoil_project::shell::adopt_orphans();
            let commands = Arc::new(settings.command_shell());
            rights.grant = Some(CommandGrant { commands, python: settings.python.clone() });
        }
        engine.flow_rights(rights)
    }
}

/// The decision about tools and commands with an unknown outcome.
#[derive(Clone, Copy, ValueEnum)]
pub enum UnknownArg {
    /// Wait for a decision.
    Ask,
    /// Run it again.
    Retry,
    /// Treat it as failed.
    Fail,
}

impl UnknownArg {
    /// The recovery policy for the engine.
    pub fn recovery_policy(self) -> RecoveryPolicy {
        let policy = match self {
            Self::Ask => OnUnknown::Ask,
            Self::Retry => OnUnknown::Retry,
            Self::Fail => OnUnknown::Fail,
        };
        RecoveryPolicy { tools: policy, commands: policy }
    }
}

/// What runs may do here.
#[derive(Args, Clone, Default)]
pub struct PermissionArgs {
    /// Allow steps to run shell commands and Python functions; Python modules are imported to test them
    #[arg(long)]
    allow_command: bool,
    /// Allow HTTP tools to call this host, as for `run` (repeatable)
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<AllowedHost>,
    /// Answer for a human step, as for `run`
    #[arg(long = "answer", value_name = "STEP=VALUE", value_parser = step_answer)]
    answers: Vec<String>,
}

impl PermissionArgs {
    /// The options of a run with these permissions.
    pub fn host_args(&self, models: &ModelArgs) -> HostArgs {
        let Self { allow_command, allow_host, answers } = self.clone();
        HostArgs { models: models.clone(), timeout: None, answers, allow_command, allow_host }
    }
}
