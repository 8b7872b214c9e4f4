//! What single flows may do on a server: the rules of `[serve.flows]`, and the engine for a flow that has them.
//!
//! An engine that serves has the rules of all flows. Where a run is prepared, it becomes the engine for that flow: with its commands, its
//! hosts, its tools and its variables. The flows that this one calls have the engine that it has, and become theirs in turn, so
//! a called flow may do what its own rules and those of all its callers allow.

use std::sync::Arc;

use async_trait::async_trait;
use trefoil_check::words::toml_key;
use trefoil_ir::ToolKind;
use trefoil_machine::CommandRequest;
use trefoil_project::secrets::AllowedVariables;
use trefoil_project::settings::ServedFlowRule;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{CommandHost, CommandOutput, RunError, ToolError, ToolHost, ToolRefusal, ToolRequest, ToolSpec};
use trefoil_template::Value;
use trefoil_tools::PythonSettings;
use trefoil_tools::guard::HostRestriction;

use super::{Engine, EngineParts};

/// What flows may do on a server, each by its name.
#[derive(Clone, Default)]
pub struct FlowRights {
    /// The rules in the settings that this engine has.
    pub rules: Vec<ServedFlowRule>,
    /// The rules of the folder that is served. They hold for all flows that are served there, but allow commands only to those that have
    /// its settings.
    pub around: Vec<ServedFlowRule>,
    /// Whether flows may run commands that have no rule about it.
    pub commands: bool,
    /// What runs the commands of flows whose rule allows them. `None`: rules allow none.
    pub grant: Option<CommandGrant>,
}

/// What runs commands and Python functions.
#[derive(Clone)]
pub struct CommandGrant {
    /// The shell.
    pub commands: Arc<dyn CommandHost>,
    /// The interpreter.
    pub python: PythonSettings,
}

/// The rules that hold for a run.
#[derive(Clone, Default)]
pub(super) struct HeldRights {
    /// The flows whose rules hold: that of the run is the last one, those before have called it.
    flows: Vec<Arc<str>>,
    /// Why it may run no commands.
    no_commands: Option<ToolRefusal>,
    /// The tools and servers of the settings that it may use, according to each of these.
    tools: Vec<ToolRestriction>,
}

/// The only tools and servers of the settings that a flow may use.
#[derive(Clone)]
struct ToolRestriction {
    flow: Arc<str>,
    names: Vec<String>,
}

/// The table of a flow in the settings.
fn table_name(flow: &str) -> String {
    format!("`[serve.flows.{}]`", toml_key(flow))
}

fn find_rule<'r>(rules: &'r [ServedFlowRule], flow: &str) -> Option<&'r ServedFlowRule> {
    rules.iter().find(|rule| rule.flow == flow)
}

impl Engine {
    /// Lets flows do on a server what these rights allow.
    pub fn flow_rights(self, rights: FlowRights) -> Self {
        self.with_parts(|parts| parts.rights = Some(Arc::new(rights)))
    }

    /// The same with rules that only forbid.
    pub(crate) fn with_rules_around(self, rules: Vec<ServedFlowRule>) -> Self {
        let Some(rights) = &self.parts.rights else { return self };
        if rules.is_empty() {
            return self;
        }
        let mut rights = FlowRights::clone(rights);
        rights.around.extend(rules);
        self.flow_rights(rights)
    }

    /// Whether any flow has rules here.
    pub(crate) fn has_flow_rules(&self) -> bool {
        matches!(&self.parts.rights, Some(rights) if !(rights.rules.is_empty() && rights.around.is_empty()))
    }

    /// The engine for the runs of a flow: with what this engine has, as far as the flow may use it.
    pub(crate) fn for_flow(&self, flow: &str) -> Engine {
        let Some(rights) = self.parts.rights.clone() else { return self.clone() };
        if !self.has_flow_rules() {
            return self.clone();
        }
        if matches!(self.parts.held.flows.last(), Some(last) if **last == *flow) {
            return self.clone();
        }
        let mut parts = (*self.parts).clone();
        parts.hold_rights(&rights, flow);
        // Connections depend on the hosts that may be called. Nothing else that is cached depends on the rights.
        let is_restricted = parts.restricted_hosts() > self.parts.restricted_hosts();
        let cache = if is_restricted { self.cache.for_restricted(flow) } else { self.cache.clone() };
        Engine { parts: Arc::new(parts), cache }
    }
}

impl EngineParts {
    fn restricted_hosts(&self) -> usize {
        match &self.http {
            Some(rules) => rules.only.len(),
            None => 0,
        }
    }

    /// Holds the rules of one more flow, which the flow called whose rules are held already.
    fn hold_rights(&mut self, rights: &FlowRights, flow: &str) {
        self.hold_commands(rights, flow);
        let who = format!("the flow `{flow}`");
        let table = table_name(flow);
        for rule in rights.around.iter().chain(&rights.rules).filter(|rule| rule.flow == flow) {
            if let (Some(hosts), Some(http)) = (&rule.hosts, &mut self.http) {
                let setting = format!("`hosts` under {table}");
                let restriction = HostRestriction { hosts: hosts.clone(), who: who.clone(), setting };
                // The settings of the folder that is served are often those of the flow.
                if !http.only.contains(&restriction) {
                    http.only.push(restriction);
                }
            }
            if let Some(names) = &rule.tools {
                self.held.tools.push(ToolRestriction { flow: flow.into(), names: names.clone() });
            }
            if let Some(names) = &rule.env {
                let setting = format!("`env` under {table}");
                self.allowed_env.push(AllowedVariables { names: names.clone(), who: who.clone(), setting });
            }
        }
        self.held.flows.push(flow.into());
    }

    fn hold_commands(&mut self, rights: &FlowRights, flow: &str) {
        let is_forbidden =
            |rules: &[ServedFlowRule]| matches!(find_rule(rules, flow), Some(rule) if rule.commands == Some(false));
        let is_first = self.held.flows.is_empty();
        let is_granted = matches!(find_rule(&rights.rules, flow), Some(rule) if rule.commands == Some(true));
        let why = if is_forbidden(&rights.rules) || is_forbidden(&rights.around) {
            ToolRefusal {
                why: format!("the flow `{flow}` may not run commands"),
                help: format!("set `commands = true` under {}", table_name(flow)),
            }
        } else if rights.commands || is_granted && rights.grant.is_some() {
            if let (true, Some(grant)) = (is_first, &rights.grant)
                && self.commands.is_none()
            {
                (self.commands, self.python) = (Some(grant.commands.clone()), Some(grant.python.clone()));
            }
            return;
        } else {
            let setting = match is_granted {
                // It is set, but for the files of the project.
                true => String::new(),
                false => format!("set `commands = true` under {}, or ", table_name(flow)),
            };
            ToolRefusal {
                why: "commands are not allowed in this run".to_owned(),
                help: format!("{setting}allow all flows to run them with `--allow-command`"),
            }
        };
        // What forbids it to the caller comes first.
        self.held.no_commands.get_or_insert(why);
        (self.commands, self.python) = (None, None);
    }

    /// Why the flow may run no commands, if that is due to its rights.
    pub(super) fn command_refusal(&self) -> Option<&ToolRefusal> {
        self.held.no_commands.as_ref()
    }

    /// What runs commands, or refuses them and says why.
    pub(super) fn command_host(&self) -> Option<Arc<dyn CommandHost>> {
        match &self.held.no_commands {
            Some(refusal) => Some(Arc::new(RefusedCommands(refusal.clone()))),
            None => self.commands.clone(),
        }
    }

    /// Why a flow may not use a tool of the settings, or a server.
    pub(super) fn tool_refusal(&self, name: &str, kind: &ToolKind) -> Option<ToolRefusal> {
        self.held.find_refusal(self.settings_name(name, kind)?)
    }

    /// The name that a tool or its server has in the settings. `None`: it is not of the settings.
    fn settings_name<'n>(&self, name: &'n str, kind: &'n ToolKind) -> Option<&'n str> {
        let settings = &self.settings;
        let (name, is_declared) = match kind {
            ToolKind::Local => {
                let is_program = settings.tools.iter().any(|tool| *tool.tool_spec().name == *name);
                (name, is_program || settings.flows.iter().any(|tool| tool.name == name))
            }
            #[cfg(feature = "mcp")]
            ToolKind::Mcp { server, .. } => (&**server, settings.mcp.iter().any(|known| *known.name == **server)),
            _ => return None,
        };
        if is_declared { Some(name) } else { None }
    }
}

/// A host of tools of the settings, without those that the flow may not use.
pub(super) fn restrict_tools(parts: &Arc<EngineParts>, host: Arc<dyn ToolHost>) -> Arc<dyn ToolHost> {
    match parts.held.tools.is_empty() {
        true => host,
        false => Arc::new(RestrictedTools { host, parts: parts.clone() }),
    }
}

impl HeldRights {
    fn find_refusal(&self, name: &str) -> Option<ToolRefusal> {
        let restriction = self.tools.iter().find(|restriction| !restriction.names.iter().any(|known| known == name))?;
        let flow = &restriction.flow;
        Some(ToolRefusal {
            why: format!("the flow `{flow}` may not use `{name}`"),
            help: format!("add `{name}` to `tools` under {}", table_name(flow)),
        })
    }
}

/// Refuses commands.
struct RefusedCommands(ToolRefusal);

#[async_trait]
impl CommandHost for RefusedCommands {
    async fn run_command(&self, _at: CallSite<'_>, _request: &CommandRequest) -> Result<CommandOutput, ToolError> {
        Err(refused_call(self.0.clone()))
    }
    fn command_refusal(&self) -> Option<ToolRefusal> {
        Some(self.0.clone())
    }
}

fn refused_call(ToolRefusal { why, help }: ToolRefusal) -> ToolError {
    ToolError::with_advice(why, help)
}

/// Tools of the settings, of which a flow may use only some.
struct RestrictedTools {
    host: Arc<dyn ToolHost>,
    parts: Arc<EngineParts>,
}

#[async_trait]
impl ToolHost for RestrictedTools {
    fn offers_tool(&self, name: &str, kind: &ToolKind) -> bool {
        self.host.offers_tool(name, kind)
    }
    async fn call_tool(&self, at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        match self.parts.tool_refusal(&request.name, &request.kind) {
            Some(refusal) => Err(refused_call(refusal)),
            None => self.host.call_tool(at, request).await,
        }
    }
    async fn list_tools(&self, at: CallSite<'_>, kind: &ToolKind) -> Result<Vec<ToolSpec>, ToolError> {
        if let Some(refusal) = self.parts.tool_refusal("", kind) {
            return Err(refused_call(refusal));
        }
        let mut tools = self.host.list_tools(at, kind).await?;
        tools.retain(|tool| self.parts.tool_refusal(&tool.name, kind).is_none());
        Ok(tools)
    }
    fn is_idempotent(&self, request: &ToolRequest) -> bool {
        self.host.is_idempotent(request)
    }
    fn recall_tool_call(&self, at: CallSite<'_>, request: &ToolRequest, error: Option<&RunError>) {
        self.host.recall_tool_call(at, request, error);
    }
    fn tool_refusal(&self, name: &str, kind: &ToolKind, arguments: &Value) -> Option<ToolRefusal> {
        let own = self.parts.tool_refusal(name, kind);
        own.or_else(|| self.host.tool_refusal(name, kind, arguments))
    }
}
