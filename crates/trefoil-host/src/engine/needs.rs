//! What a run of a flow has, and everything that it lacks: of the flow that is to be started, and of the flows that it can call as
//! tools. A model need not call them, but it may, and then it is too late.

use std::collections::HashSet;
use std::sync::Arc;

use trefoil_ir::{Program, Step, StepId, StepKind, ToolCall, ToolKind};
use trefoil_machine::{Flags, Reserve, RunSpec};
use trefoil_models::{NonDefaultAddress, Scripted};
use trefoil_runtime::ports::{EnvFile, Secrets};
use trefoil_runtime::{ModelProvider, ToolRefusal};
use trefoil_syntax::{Diagnostic, DiagnosticLabel, FileId, FindingSeverity, Location};
use trefoil_template::HoleKind;
use trefoil_tools::PythonTools;

use super::hosts::{RunHosts, is_rehearsal};
use super::models::{PreparedFlow, load_script};
use super::{AnswersFrom, Engine, EngineParts, prices};
use crate::allowed_hosts;
use crate::preflight::{
    HostOffer, MISSING_TOOL, ModuleUse, certain_steps, local_calls, missing_environment, modules_of, run_preflight,
    uncalled_steps,
};
use trefoil_project::error::FoundErrors;
use trefoil_project::flow::Flow;
use trefoil_project::load::LoadedTarget;
use trefoil_project::load::rules::{ENV_FILE, ENV_LINE, ENV_LINE_HELP};
use trefoil_project::secrets::{self, AllowedEnvironment, OperatorSecrets};

/// What the run of a flow has.
pub(super) struct RunNeeds {
    /// The models that are asked; none: they cannot be.
    pub aimed: Option<Arc<PreparedFlow>>,
    /// Who answers.
    pub models: Option<Arc<dyn ModelProvider>>,
    /// The script, if it is the source of answers.
    pub script: Option<Arc<Scripted>>,
    /// Its tools.
    pub hosts: RunHosts,
    /// What is in `env.*` and `secrets.*`.
    pub secrets: Arc<dyn Secrets>,
    /// Prices, context windows, and what is reserved.
    pub money: Flags,
    /// What is missing.
    pub lacks: Vec<Diagnostic>,
}

impl RunNeeds {
    /// Of a flow. `caller`: what the run has whose tool the flow may be.
    pub fn of_flow(engine: &Engine, flow: &Flow, caller: Option<&CallerTools<'_>>) -> Self {
        let (parts, loaded) = (&*engine.parts, flow.loaded_target());
        let mut lacks = env_files(loaded);
        let aimed = match engine.prepared_flow(flow).and_then(|aimed| aimed.for_begun(parts, flow)) {
            Ok(aimed) => Some(aimed),
            Err(why) => {
                lacks.extend(why);
                None
            }
        };
        let answers_from = aimed.as_ref().map(|aimed| &aimed.from);
        let mut script = None;
        if let Some(from) = answers_from {
            match load_script(from) {
                Ok(loaded_script) => script = loaded_script,
                Err(why) => lacks.push(why),
            }
        }
        // Only `env.*` is different for each flow, and a source of secrets may ask somebody for each.
        let (secrets, flows) = match caller {
            Some(caller) => (caller.secrets.clone(), caller.hosts.flows.clone()),
            None => (secrets_of(parts, loaded), engine.flow_tools()),
        };
        let hosts = RunHosts::for_flow(engine, answers_from, script.clone(), &secrets, flows);
        let rehearsal = answers_from.is_some_and(is_rehearsal);
        // It is not known whether a resumed run comes to a command. If it does, it stops there.
        // So does the run of a call: what its flow needs was checked before the calling run started.
        let is_kept_call = parts.caller.is_some() && engine.keeps_runs();
        let resumes = parts.begun.is_some() || is_kept_call || matches!(caller, Some(caller) if caller.resumes);
        let host = HostOffer {
            tools: &*hosts.tools,
            fault: &|name| hosts.flow_of(name)?.load_fault(name),
            on_command_line: &|name| hosts.is_after(name) && settings_show(parts, name),
            is_flow: &|name| hosts.flow_of(name).is_some(),
            asks: &|name| matches!(&hosts.flows, Some(flows) if flows.may_ask(name, &loaded.program)),
            commands: parts.commands.is_some() || resumes || parts.submits,
            python: parts.python.is_some() || resumes || parts.submits,
            people: parts.humans.is_some() || engine.keeps_runs(),
            answers: &parts.answers,
            program: &|call| if resumes { None } else { missing_program(parts, &hosts, call) },
            script: script.is_some() && rehearsal,
            rehearsal,
            embedded: is_embedded(aimed.as_deref()),
            library: !parts.has_settings,
            no_commands: parts.command_refusal(),
            refused: &|call| if resumes || parts.submits { None } else { refused_tool(parts, &hosts, call) },
        };
        let unscripted = matches!(answers_from, Some(AnswersFrom::Script(_))) && script.is_none();
        for lack in run_preflight(&loaded.program, &host) {
            // What a script that cannot be read would answer is unknown.
            if !unscripted || lack.rule != MISSING_TOOL {
                lacks.push(lack);
            }
        }
        let uncalled = uncalled_steps(&loaded.program, host.embedded);
        if !parts.submits && !resumes {
            lacks.extend(refused_requests(parts, &loaded.program, &hosts, &uncalled, host.library));
        }
        // Whoever runs it elsewhere has others.
        if !parts.submits {
            lacks.extend(missing_secrets(parts, flow, &*secrets, &hosts, &uncalled, rehearsal));
            // A run that goes on may be beyond the step that needs it, and that of a tool may never be called.
            let is_certain = match caller {
                Some(caller) => caller.is_certain,
                None => true,
            };
            if !resumes && is_certain {
                lacks.extend(missing_environment(&loaded.program, &*secrets));
            }
        }
        let models = model_provider(aimed.as_deref(), script.as_ref());
        let mut money = Flags::default();
        if let (Some(aimed), true) = (&aimed, lacks.is_empty()) {
            match money_of(parts, aimed, parts.clock().wall_ms()) {
                Ok(known) => money = known,
                Err(missing) => lacks = missing,
            }
        }
        Self { aimed, models, script, hosts, secrets, money, lacks }
    }
}

/// What answers the model calls of a run: the provider that was prepared, otherwise the script.
fn model_provider(aimed: Option<&PreparedFlow>, script: Option<&Arc<Scripted>>) -> Option<Arc<dyn ModelProvider>> {
    if let Some(aimed) = aimed
        && let Some(provider) = &aimed.provider
    {
        return Some(provider.clone());
    }
    Some(script?.clone())
}

/// The secrets that a run of the flow lacks, and those that it would show.
fn missing_secrets(
    parts: &EngineParts,
    flow: &Flow,
    known: &dyn Secrets,
    hosts: &RunHosts,
    uncalled: &HashSet<StepId>,
    rehearsal: bool,
) -> Vec<Diagnostic> {
    // Made up answers need none, but what is called outside does.
    let calls_out = |id: StepId, step: &Step| match &step.kind {
        _ if !rehearsal => true,
        StepKind::Tool(call) => !uncalled.contains(&id) && !hosts.is_before(&call.name, &call.kind),
        StepKind::Command(_) => true,
        _ => false,
    };
    let settings = |call: &ToolCall| read_by_settings(parts, hosts, call);
    let mut lacks = Vec::new();
    lacks.extend(secrets::find_missing_secrets(&flow.loaded_target().program, known, &calls_out, &settings));
    lacks.extend(secrets::by_value(&flow.prepared_program(), known, &hosts.keys, flow.credential_variables()));
    lacks
}

/// Why the program of a tool or of a server cannot be started here, and the table that declares it.
fn missing_program(parts: &EngineParts, hosts: &RunHosts, call: &ToolCall) -> Option<(String, String)> {
    // Whether the call comes to the declared program, and not to another tool with this name.
    let is_performed_here = match &call.kind {
        ToolKind::Local => hosts.is_after(&call.name),
        kind => !hosts.is_before(&call.name, kind),
    };
    let table = match &call.kind {
        ToolKind::Local => format!("tools.{}", call.name),
        ToolKind::Mcp { server, .. } => format!("mcp.{server}"),
        ToolKind::Http | ToolKind::Python => return None,
    };
    // Whoever runs it elsewhere has other programs.
    if !is_performed_here || parts.submits {
        return None;
    }
    for declared in parts.settings.declared_programs() {
        if declared.table == table
            && let Some(missing) = declared.missing
        {
            return Some((table, missing));
        }
    }
    None
}

/// Why the flow may not use a tool of the settings, or a server. A list of a server's tools is asked for even if a script has some of them.
fn refused_tool(parts: &EngineParts, hosts: &RunHosts, call: &ToolCall) -> Option<ToolRefusal> {
    if !call.name.is_empty() && hosts.is_before(&call.name, &call.kind) {
        return None;
    }
    parts.tool_refusal(&call.name, &call.kind)
}

/// The hosts that the program's own requests need and that are not allowed.
fn refused_requests(
    parts: &EngineParts,
    program: &Program,
    hosts: &RunHosts,
    uncalled: &HashSet<StepId>,
    library: bool,
) -> Vec<Diagnostic> {
    let Some(http) = &hosts.http else { return Vec::new() };
    // A list of a server's tools is asked for even if a script has some of them.
    let is_before = |call: &ToolCall| !call.name.is_empty() && hosts.is_before(&call.name, &call.kind);
    let is_sent =
        |id: StepId, call: &ToolCall| !uncalled.contains(&id) && !is_before(call) && !is_declared(parts, &call.kind);
    allowed_hosts::refused_hosts(program, http.guarded_client(), &is_sent, library)
}

/// Whether the operator has declared the server of a tool.
fn is_declared(parts: &EngineParts, kind: &ToolKind) -> bool {
    #[cfg(feature = "mcp")]
    if let ToolKind::Mcp { server, .. } = kind {
        return parts.settings.mcp.iter().any(|declared| *declared.name == **server);
    }
    let _ = (parts, kind);
    false
}

/// Whether a tool of the settings has its arguments on the command line.
fn settings_show(parts: &EngineParts, name: &str) -> bool {
    parts.settings.tools.iter().any(|tool| *tool.tool_spec().name == *name && tool.is_on_command_line())
}

/// What the settings of a tool read for its process or its requests, if this is what is called by its name.
fn read_by_settings(parts: &EngineParts, hosts: &RunHosts, call: &ToolCall) -> Vec<(HoleKind, Arc<str>)> {
    match &call.kind {
        ToolKind::Local if hosts.is_after(&call.name) => {
            match parts.settings.tools.iter().find(|tool| *tool.tool_spec().name == *call.name) {
                Some(tool) => tool.operator_program().environment.required_holes(),
                None => Vec::new(),
            }
        }
        #[cfg(feature = "mcp")]
        ToolKind::Mcp { server, .. } if !hosts.is_before(&call.name, &call.kind) => {
            match parts.settings.mcp.iter().find(|declared| *declared.name == **server) {
                Some(server) => server.required_holes(),
                None => Vec::new(),
            }
        }
        ToolKind::Python if !hosts.is_before(&call.name, &call.kind) => match &parts.python {
            Some(python) => python.environment.required_holes(),
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

fn is_embedded(aimed: Option<&PreparedFlow>) -> bool {
    matches!(aimed, Some(aimed) if aimed.from == AnswersFrom::Embedded)
}

/// What a run has that flows are tools of.
pub(super) struct CallerTools<'c> {
    hosts: &'c RunHosts,
    secrets: &'c Arc<dyn Secrets>,
    /// It goes on, and may never come to the call.
    resumes: bool,
    /// Every run of it comes to the call.
    is_certain: bool,
}

/// The flows that a flow can call as tools, and those that they can call.
#[derive(Default)]
pub(super) struct CallableFlows {
    /// The flows.
    pub flows: Vec<Flow>,
    /// Where else than at the provider their models are called.
    pub elsewhere: Vec<NonDefaultAddress>,
    /// The Python modules that they name.
    pub trials: Vec<ModuleTrial>,
}

/// The Python modules that a flow names, to be imported.
pub(super) struct ModuleTrial {
    pub modules: Vec<ModuleUse>,
    pub python: PythonTools,
    /// Its files among those of the findings.
    pub files: Vec<FileId>,
    /// The tool that the flow is, and where that is called.
    pub tool: Option<(Arc<str>, Location)>,
}

/// A call of a flow that was not looked at yet.
struct PendingFlowCall {
    tool: Arc<str>,
    /// The step that calls it, in the files of the findings.
    at: Location,
    /// Every run comes to it.
    is_certain: bool,
}

impl PendingFlowCall {
    /// Those of a program, the certain ones last. `files`: its files among those of the findings. `is_certain`: whether every run
    /// comes to the program.
    fn of_program(program: &Program, needs: &RunNeeds, files: &[FileId], is_certain: bool) -> Vec<Self> {
        let certain: HashSet<Location> = certain_steps(program).into_iter().map(|(_, step)| step.origin).collect();
        let mut calls = Vec::new();
        for (tool, location) in local_calls(program, is_embedded(needs.aimed.as_deref())) {
            if needs.hosts.flow_of(&tool).is_none() {
                continue;
            }
            if let Some(at) = moved_location(location, files) {
                calls.push(Self { tool, at, is_certain: is_certain && certain.contains(&location) });
            }
        }
        calls.sort_by_key(|call| call.is_certain);
        calls
    }
}

impl RunNeeds {
    /// The Python modules of a flow with these needs, if it has any and Python is allowed.
    pub fn module_trial(
        &self,
        engine: &Engine,
        flow: &Flow,
        (files, tool): (Vec<FileId>, Option<(Arc<str>, Location)>),
    ) -> Option<ModuleTrial> {
        let python = engine.parts.python.as_ref()?;
        let runs_in_python = |call: &ToolCall| !self.hosts.is_before(&call.name, &call.kind);
        let modules = modules_of(&flow.loaded_target().program, &runs_in_python);
        if modules.is_empty() {
            return None;
        }
        let python = PythonTools::new(python.clone(), self.secrets.clone());
        Some(ModuleTrial { modules, python, files, tool })
    }

    /// What the flows lack that a flow can call as tools, and those that they can call in turn: each as if it were to be started
    /// itself.
    pub fn check_called_flows(&self, engine: &Engine, flow: &Flow, findings: &mut FoundErrors) -> CallableFlows {
        let mut beneath = CallableFlows::default();
        let Some(flows) = &self.hosts.flows else { return beneath };
        let parts = &*engine.parts;
        // Flows that have a cost limit in their manifest are SirenSpec's, and call no flows as tools.
        let limited = was_limited(parts);
        let own: Vec<FileId> = findings.source_files().iter().map(|(id, _)| id).collect();
        let mut left = PendingFlowCall::of_program(&flow.loaded_target().program, self, &own, true);
        let cause = |d: &Diagnostic| (d.rule, d.file, d.span, d.message.clone());
        let mut reported: HashSet<_> = findings.found_diagnostics().iter().map(cause).collect();
        let mut seen: HashSet<Arc<str>> = HashSet::new();
        while let Some(PendingFlowCall { tool, at, is_certain }) = left.pop() {
            if !seen.insert(tool.clone()) {
                continue;
            }
            let Some((called, engine)) = flows.run_of(&tool, limited) else { continue };
            let resumes = parts.begun.is_some();
            let caller = CallerTools { hosts: &self.hosts, secrets: &self.secrets, resumes, is_certain };
            let needs = RunNeeds::of_flow(&engine, &called, Some(&caller));
            let files = findings.adopt_files(&called.loaded_target().files);
            for lack in &needs.lacks {
                let lack = in_files(lack.clone(), &files);
                // Two flows may have a file in common, or lack the same model.
                if reported.insert(cause(&lack)) {
                    findings.push(of_tool(lack, &tool, at));
                }
            }
            if let Some(aimed) = &needs.aimed {
                beneath.elsewhere.extend(aimed.elsewhere.iter().cloned());
            }
            left.extend(PendingFlowCall::of_program(&called.loaded_target().program, &needs, &files, is_certain));
            left.sort_by_key(|call| call.is_certain);
            beneath.trials.extend(needs.module_trial(&engine, &called, (files, Some((tool.clone(), at)))));
            beneath.flows.push(called);
        }
        beneath
    }
}

/// A finding in the files of others.
pub(super) fn in_files(mut d: Diagnostic, files: &[FileId]) -> Diagnostic {
    d.file = d.file.and_then(|file| files.get(file.0 as usize).copied());
    for label in std::mem::take(&mut d.labels) {
        if let Some(location) = moved_location(label.location, files) {
            d.labels.push(DiagnosticLabel { location, ..label });
        }
    }
    d
}

fn moved_location(at: Location, files: &[FileId]) -> Option<Location> {
    Some(Location::new(*files.get(at.file.0 as usize)?, at.span))
}

/// The same of the flow of a tool, which is called at a place.
pub(super) fn of_tool(mut d: Diagnostic, tool: &str, at: Location) -> Diagnostic {
    d.message = format!("{} (in the flow of the tool `{tool}`)", d.message);
    d.labels.push(DiagnosticLabel { location: at, message: format!("`{tool}` is called here") });
    d
}

/// Whether a run that goes on has a cost limit since it began.
fn was_limited(parts: &EngineParts) -> bool {
    matches!(&parts.begun, Some(begun) if begun.now.run_spec().limits.cost_micro.is_some())
}

impl Engine {
    /// What a preview of a flow may read: the environment as far as the flow may, and no secrets. Whether a source has a secret may be a
    /// question to the user.
    pub(crate) fn preview_environment(&self, loaded: &LoadedTarget) -> AllowedEnvironment {
        let engine = self.for_flow(&loaded.program.name);
        AllowedEnvironment::new(loaded.environment_secrets(), engine.parts.allowed_env.clone())
    }
}

/// The environment, with these files, and the secrets.
fn secrets_of(parts: &EngineParts, loaded: &LoadedTarget) -> Arc<dyn Secrets> {
    match &parts.secrets {
        Some(secrets) => secrets.clone(),
        None => {
            let secrets = OperatorSecrets::new(loaded.environment_secrets(), parts.settings.secrets.clone());
            Arc::new(secrets.with_allowed_env(parts.allowed_env.clone()))
        }
    }
}

/// Prices, context windows and what is reserved for a run that starts now; or what cost limits lack.
fn money_of(parts: &EngineParts, aimed: &PreparedFlow, now: u64) -> std::result::Result<Flags, Vec<Diagnostic>> {
    // Prices stay what they were as long as the same models answer.
    let begun = parts.begun.as_deref().map(|begun| &begun.now);
    let program = &aimed.prepared.program;
    let (prices, windows, fallbacks) = match begun {
        Some(begun) if begun.answers == aimed.from.journal_form() => {
            (begun.flags.prices.clone(), begun.flags.windows.clone(), begun.flags.fallbacks.clone())
        }
        _ => {
            let others = prices::fallback_models(program, &aimed.fallbacks);
            let prices = prices::model_prices(program, &aimed.from, &others, &parts.settings, now);
            (prices, prices::context_windows(program, &others), others)
        }
    };
    let reserve = match begun {
        Some(begun) => parts.spec.reserve.unwrap_or(begun.flags.spec.reserve()),
        None => parts.spec.reserve.or(parts.settings.reserve).unwrap_or_default(),
    };
    let strict = reserve == Reserve::Bound;
    let windows = match strict {
        // It began without.
        true if windows.is_empty() => prices::context_windows(program, &fallbacks),
        true => windows,
        false => Vec::new(),
    };
    let spec = RunSpec { reserve: Some(reserve), ..RunSpec::NONE };
    let money = Flags { spec, prices, windows, fallbacks, ..Flags::default() };
    let limited = parts.spec.limits.cost_micro.is_some() || was_limited(parts) || prices::limits_cost(program);
    let mut missing = if limited { prices::missing_prices(program, &money) } else { Vec::new() };
    if limited && strict && missing.is_empty() {
        missing = prices::unbounded_calls(program, &money);
    }
    if missing.is_empty() { Ok(money) } else { Err(missing) }
}

/// An environment file that cannot be read is a reason not to start, and so is a value of which only a part would be read.
fn env_files(loaded: &LoadedTarget) -> Vec<Diagnostic> {
    let new_finding = |rule, message: String, help: &str| {
        Diagnostic::without_location(rule, FindingSeverity::Error, Some(loaded.entry), message).with_help(help)
    };
    let mut lacks = Vec::new();
    for file in &loaded.env_files {
        let name = file.path.display().to_string();
        match file.text() {
            Ok(text) => {
                for line in EnvFile::from_text(&text).unread {
                    if line.is_open {
                        lacks.push(new_finding(ENV_LINE, line.describe_fault(&name), ENV_LINE_HELP));
                    }
                }
            }
            Err(why) => {
                let message = format!("the environment file `{name}` cannot be read: {}", why.reason_text());
                let help = "create it with one `NAME=value` per line, or remove `env_file`";
                lacks.push(new_finding(ENV_FILE, message, help));
            }
        }
    }
    lacks
}
