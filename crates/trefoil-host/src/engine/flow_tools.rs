//! Flows as tools: which there are, what they are as tools, and the flows that a program can call.
//! `flow_calls` performs the calls.

use std::sync::{Arc, OnceLock};

use trefoil_ir::schema::SchemaChecker;
use trefoil_ir::{OnExceeded, Program, Step, StepKind, ToolKind};
use trefoil_machine::Effects;
use trefoil_machine::step_path::{StepPath as _, step_places};
use trefoil_models::ModelOverride;
use trefoil_models::plan::has_name;
use trefoil_runtime::driver::HiddenValues;
use trefoil_runtime::ports::{CallSite, NoTools};
use trefoil_runtime::{Share, ToolHost, ToolRequest, ToolSpec};
use trefoil_template::Value;

use super::{AnswersFrom, Engine, EngineParts};
use crate::answers::is_human;
use crate::reuse::{EarlierCalls, LinesOfCalls};
use trefoil_project::flow::Flow;
use trefoil_project::load::LoadOptions;
use trefoil_project::settings::FlowTool;
use trefoil_project::tool_interface::FlowToolInterface;
use trefoil_view::plan::called_flows::tools_of;
use trefoil_view::plan::{CallBound, CalledFlow, called_flows};

/// Flows that are tools.
pub(crate) struct FlowTools {
    pub(super) engine: Engine,
    /// The tools. Each flow is loaded when it is first needed.
    tools: Vec<(FlowTool, OnceLock<Result<LoadedTool, String>>)>,
    /// The values to hide that the calling run and all runs beneath it share.
    seen: Arc<HiddenValues>,
    /// The calls of the earlier runs whose results the calling run reuses. Empty if it reuses none.
    pub(super) before: OnceLock<EarlierCalls>,
    /// What the called runs have reused.
    lines: LinesOfCalls,
}

/// A flow that can be called.
pub(super) struct LoadedTool {
    pub flow: Flow,
    pub as_tool: FlowToolInterface,
    pub spec: ToolSpec,
    /// Validates the arguments. `None`: the run itself validates its input.
    pub takes: Option<SchemaChecker>,
}

/// Makes the tool host that performs the calls of flows. It starts runs of engines, and this module is a part of what starts a run, so
/// the engine is given it when it is made.
#[derive(Clone, Copy)]
pub(super) struct FlowHost(pub fn(Arc<FlowTools>) -> Arc<dyn ToolHost>);

/// No flow can be called.
impl Default for FlowHost {
    fn default() -> Self {
        Self(|_| Arc::new(NoTools))
    }
}

impl FlowTools {
    /// The flows in the operator's settings. A flow that does not load fails when it is called.
    pub fn new(engine: &Engine) -> Self {
        let tools = engine.parts.settings.flows.iter().map(|tool| (tool.clone(), OnceLock::new())).collect();
        let seen = engine.parts.seen.clone().unwrap_or_default();
        let engine = engine.clone().with_parts(|parts| {
            parts.seen = Some(seen.clone());
            parts.events.clear();
            (parts.journal, parts.begun) = (None, None);
            // A called flow chooses its own models, as it did when the run started.
            if std::mem::take(&mut parts.models_of_run) {
                parts.models.clear();
            }
            parts.depth += 1;
        });
        Self { engine, tools, seen, before: OnceLock::new(), lines: LinesOfCalls::default() }
    }

    /// The tool host that performs their calls.
    pub fn tool_host(self: Arc<Self>) -> Arc<dyn ToolHost> {
        let FlowHost(host) = self.engine.parts.flow_host;
        host(self)
    }

    /// Whether one of these flows is the tool of this name.
    pub fn offers_tool(&self, name: &str, kind: &ToolKind) -> bool {
        *kind == ToolKind::Local && self.tools.iter().any(|(tool, _)| tool.name == name)
    }

    /// Their descriptions.
    pub fn tool_specs(&self) -> Vec<ToolSpec> {
        let mut specs = Vec::new();
        for tool in &self.tools {
            if let Ok(loaded) = self.load_once(tool) {
                specs.push(loaded.spec.clone());
            }
        }
        specs
    }

    /// What the called runs have reused.
    pub fn called_decisions(&self) -> &LinesOfCalls {
        &self.lines
    }

    /// The values to hide that the calling run shares with those that it calls.
    pub fn hidden_values(&self) -> &Arc<HiddenValues> {
        &self.seen
    }

    /// Sets the calls of the earlier runs whose results the calling run reuses.
    pub fn set_earlier_calls(&self, before: EarlierCalls) {
        let _ = self.before.set(before);
    }

    /// Why the flow with this name does not load.
    pub fn load_fault(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Ok(_) => None,
            Err(fault) => Some(fault),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Result<LoadedTool, String>> {
        let tool = self.tools.iter().find(|(tool, _)| tool.name == name)?;
        Some(self.load_once(tool))
    }

    fn load_once<'t>(
        &self,
        (tool, loaded): &'t (FlowTool, OnceLock<Result<LoadedTool, String>>),
    ) -> &'t Result<LoadedTool, String> {
        loaded.get_or_init(|| LoadedTool::new(&self.engine, tool))
    }

    /// Whether an answer given in advance may be for a step of a flow that a program calls: by its name there, or as `CALL/STEP`.
    pub fn may_ask(&self, name: &str, program: &Program) -> bool {
        if self.have_step(name, program, &is_human) {
            return true;
        }
        for tool in &self.tools {
            if let Ok(loaded) = self.load_once(tool)
                && self.have_step(name, &loaded.flow.loaded_target().program, &is_human)
            {
                return true;
            }
        }
        false
    }

    /// The parts for the run of a flow, without model overrides for steps of other flows.
    pub(super) fn parts_of(&self, tool: &LoadedTool) -> EngineParts {
        let mut parts = (*self.engine.parts).clone();
        let program = &tool.flow.loaded_target().program;
        parts.models.retain(|model| match model {
            ModelOverride::For { name, .. } => has_name(program, name) || self.have_model(program, name),
            _ => true,
        });
        parts
    }

    /// Whether a flow that a program can call, or one that those can call, has an alias, an agent or a step with this name.
    pub(super) fn have_model(&self, program: &Program, name: &str) -> bool {
        let mut left: Vec<Arc<str>> = tools_of(program).into_iter().cloned().collect();
        let mut seen: Vec<Arc<str>> = Vec::new();
        while let Some(tool) = left.pop() {
            if seen.contains(&tool) {
                continue;
            }
            let Some(Ok(called)) = self.get(&tool) else { continue };
            let program = &called.flow.loaded_target().program;
            if has_name(program, name) {
                return true;
            }
            left.extend(tools_of(program).into_iter().cloned());
            seen.push(tool);
        }
        false
    }

    /// An engine for the runs of calls, with these parts.
    pub(super) fn engine_with(&self, parts: EngineParts) -> Engine {
        Engine { parts: Arc::new(parts), cache: self.engine.cache.clone() }
    }
}

impl LoadedTool {
    fn new(engine: &Engine, tool: &FlowTool) -> Result<Self, String> {
        let settings = &engine.parts.settings;
        let options = LoadOptions {
            allowed: settings.allowed.clone(),
            supplied: settings.supplied_declarations(),
            ..LoadOptions::default()
        };
        let loaded = match trefoil_project::load::load_target(&tool.flow, &options) {
            Ok(loaded) => loaded,
            Err(report) => {
                let mut diagnostics = report.diagnostics.into_iter();
                let first = diagnostics.find(|d| d.severity == trefoil_syntax::FindingSeverity::Error);
                let why = first.map(|d| d.message).unwrap_or_default();
                return Err(format!(
                    "its flow `{}` does not load: {why} (see `trefoil check {}`)",
                    tool.flow, tool.flow
                ));
            }
        };
        let flow = Flow::from(loaded);
        let as_tool = flow.as_tool();
        let description = tool.description.as_ref().unwrap_or(&as_tool.description);
        let spec = ToolSpec {
            name: tool.name.as_str().into(),
            description: description.as_str().into(),
            parameters: Value::from_json(serde_json::Value::Object(as_tool.parameters.clone())),
            effects: Effects::Writes,
        };
        let takes = SchemaChecker::new(&serde_json::Value::Object(as_tool.parameters.clone())).ok();
        Ok(Self { flow, as_tool, spec, takes })
    }

    /// Whether the limit that ended the flow's run, and that no option raises, is probably one of its own manifest.
    pub fn is_limited(&self, at: CallSite<'_>) -> bool {
        let fails = |flow: &trefoil_ir::FlowDefinition| match &flow.budget {
            Some(budget) => budget.on_exceeded == OnExceeded::Abort,
            None => false,
        };
        self.flow.loaded_target().program.flows.iter().any(fails)
            && !at.meter.allowance_share().is_some_and(Share::was_refused)
    }
}

impl FlowTools {
    /// The flow of a tool. `None`: the tool is not a flow, or its flow does not load.
    pub fn flow(&self, name: &str) -> Option<&Flow> {
        let tool = self.get(name)?.as_ref().ok()?;
        Some(&tool.flow)
    }

    /// Whether a program, or one of these flows that it calls, has a step of a sort with this name.
    pub fn have_step(&self, name: &str, program: &Program, is_wanted: &dyn Fn(&Step) -> bool) -> bool {
        let places = step_places(program, |step| is_wanted(step) || matches!(step.kind, StepKind::Tool(_)));
        for place in &places {
            let step = &program.steps[place.id];
            if is_wanted(step) && place.is_named(name) {
                return true;
            }
            if let StepKind::Tool(call) = &step.kind
                && self.have_inner_step(place.names_inside(name), &call.name, is_wanted)
            {
                return true;
            }
        }
        false
    }

    /// Whether the flow that a call runs has a step of a sort with one of these names.
    pub fn have_inner_step<'n>(
        &self,
        mut names: impl Iterator<Item = &'n str>,
        tool: &str,
        is_wanted: &dyn Fn(&Step) -> bool,
    ) -> bool {
        let Some(flow) = self.flow(tool) else { return false };
        let program = &flow.loaded_target().program;
        names.any(|inner| self.have_step(inner, program, is_wanted))
    }

    /// Whether a flow can call one of these.
    pub fn are_called_by(&self, flow: &Flow) -> bool {
        let called = tools_of(&flow.loaded_target().program);
        self.tools.iter().any(|(tool, _)| called.iter().any(|name| tool.name == ***name))
    }

    /// The flow of a tool, and the engine that a run of it would have. `limited`: the run that calls it has had a cost limit
    /// since it began.
    pub fn run_of(&self, name: &str, limited: bool) -> Option<(Flow, Engine)> {
        let tool = self.get(name)?.as_ref().ok()?;
        let mut parts = self.parts_of(tool);
        parts.answers.retain(|(name, _)| self.may_ask(name, &tool.flow.loaded_target().program));
        let limits = &mut parts.spec.limits;
        if limited && limits.cost_micro.is_none() {
            limits.cost_micro = Some(u64::MAX);
        }
        Some((tool.flow.clone(), self.engine_with(parts).for_flow(tool.flow.name())))
    }

    /// The input of the run that a call starts. `None`: the tool is not a flow, or its flow does not take these arguments.
    pub fn input_of(&self, request: &ToolRequest) -> Option<Value> {
        let tool = self.get(&request.name)?.as_ref().ok()?;
        let input = tool.as_tool.run_input(request.arguments.to_json()).ok()?;
        Some(Value::from_json(input))
    }
}

impl Engine {
    /// Whether its runs are called by other runs.
    pub(crate) fn is_called(&self) -> bool {
        self.parts.depth > 0
    }

    /// The flows of the settings as tools, if there are any.
    pub(crate) fn flow_tools(&self) -> Option<Arc<FlowTools>> {
        if self.parts.settings.flows.is_empty() { None } else { Some(Arc::new(FlowTools::new(self))) }
    }

    /// Returns the flows that a program can call as tools of this engine, and that those can call. Flows that do not load are skipped.
    pub fn callable_flows(&self, program: &Program) -> Vec<CalledFlow> {
        let Some(flows) = self.flow_tools() else { return Vec::new() };
        let mut found: Vec<CalledFlow> = Vec::new();
        let mut left: Vec<Arc<str>> = tools_of(program).into_iter().cloned().collect();
        while let Some(name) = left.pop() {
            if found.iter().any(|known| known.tool == name) {
                continue;
            }
            let Some(Ok(tool)) = flows.get(&name) else { continue };
            let engine = flows.engine_with(flows.parts_of(tool));
            let loaded = tool.flow.loaded_target();
            let mut program = loaded.program.clone();
            // Problems with its models are reported when a run starts.
            let answering = engine.choose_models(&mut program).unwrap_or_else(|_| AnswersFrom::AsWritten.into());
            left.extend(tools_of(&program).into_iter().cloned());
            let money = engine.price_flags(&program, &answering);
            found.push(CalledFlow { tool: name, money, files: loaded.files.clone(), program });
        }
        found
    }

    /// Returns the maximum number of model calls of a run, including those of flows that are its tools.
    pub fn model_calls(&self, program: &Program) -> CallBound {
        called_flows::model_calls(program, &self.callable_flows(program))
    }
}
