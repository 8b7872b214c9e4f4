//! Reads `[serve.flows.NAME]`: what a flow may do on a server. Which flows there are is known only when they are loaded, so their names
//! are compared later.

use trefoil_syntax::suggestions::nearest_name;
use trefoil_syntax::{Diagnostic, FindingSeverity, Location};
use trefoil_tools::guard::AllowedHost;

use super::Settings;
use super::trusted_tables::SettingsReading;
use super::values::{TableEntry, WrongValue, read_table, read_words};
use crate::project_file::RULE;

/// The keys of a flow.
const KEYS: &str = "`commands`, `hosts`, `tools`, `env`";

/// What a flow may do on a server. What is not set is as for other flows.
#[derive(Debug, Clone)]
pub struct ServedFlowRule {
    /// The name of the flow.
    pub flow: String,
    /// Whether it may run commands and Python functions.
    pub commands: Option<bool>,
    /// The only hosts that it may call.
    pub hosts: Option<Vec<AllowedHost>>,
    /// The only tools and MCP servers of the settings that it may use.
    pub tools: Option<Vec<String>>,
    /// The only variables of the environment that it may read, of those that flows may read.
    pub env: Option<Vec<String>>,
    /// Where it is set.
    places: Vec<RulePlace>,
}

/// A name in a rule, to be compared with those that exist.
#[derive(Debug, Clone)]
struct RulePlace {
    at: Location,
    /// The tool that is named there. `None`: the flow.
    tool: Option<String>,
    /// Whether the file is that of the project. The user's file is for all projects, so it may name flows of others.
    of_project: bool,
}

impl ServedFlowRule {
    fn for_flow(flow: &str) -> Self {
        let flow = flow.to_owned();
        Self { flow, commands: None, hosts: None, tools: None, env: None, places: Vec::new() }
    }

    /// With what another one sets.
    fn update_rule(&mut self, other: Self) {
        self.commands = other.commands.or(self.commands);
        self.hosts = other.hosts.or(self.hosts.take());
        self.env = other.env.or(self.env.take());
        if other.tools.is_some() {
            self.tools = other.tools;
            self.places.retain(|place| place.tool.is_none());
        }
        self.places.extend(other.places);
    }
}

impl SettingsReading<'_> {
    /// `[serve.flows]`
    pub(super) fn read_flow_rules(&mut self, value: &TableEntry<'_>) {
        let flows = match read_table(value) {
            Ok(flows) => flows,
            Err((at, _)) => {
                return self.report_wrong_value(at, "`flows` must have a table for each flow: `[serve.flows.NAME]`");
            }
        };
        for (key, value) in flows {
            let flow: &str = key.get_ref();
            let of_project = self.found.settings.of_project;
            let mut rule = ServedFlowRule::for_flow(flow);
            rule.places.push(RulePlace { at: self.to_location(key.span()), tool: None, of_project });
            if let Err((at, why)) = self.read_flow_rule(&mut rule, value) {
                self.report_wrong_value(at, &format!("invalid `[serve.flows.{flow}]`: {why}"));
                continue;
            }
            let rules = &mut self.found.settings.flow_rules;
            match rules.iter_mut().find(|known| known.flow == flow) {
                Some(known) => known.update_rule(rule),
                None => rules.push(rule),
            }
        }
    }

    fn read_flow_rule(&self, rule: &mut ServedFlowRule, value: &TableEntry<'_>) -> Result<(), WrongValue> {
        for (key, value) in read_table(value)? {
            match &**key.get_ref() {
                "commands" => match value.get_ref().as_bool() {
                    Some(allowed) => rule.commands = Some(allowed),
                    None => return Err((value.span(), "`commands` must be true or false".to_owned())),
                },
                "hosts" => rule.hosts = Some(read_hosts(value)?),
                "tools" => {
                    rule.tools = Some(read_words(value)?);
                    let of_project = self.found.settings.of_project;
                    for item in value.get_ref().as_array().into_iter().flatten() {
                        let tool = item.get_ref().as_str().map(str::to_owned);
                        rule.places.push(RulePlace { at: self.to_location(item.span()), tool, of_project });
                    }
                }
                "env" => rule.env = Some(read_words(value)?),
                other => return Err((key.span(), format!("unknown key `{other}`; its keys are {KEYS}"))),
            }
        }
        Ok(())
    }
}

/// A list of hosts, as for `[http] allow`.
fn read_hosts(value: &TableEntry<'_>) -> Result<Vec<AllowedHost>, WrongValue> {
    let mut hosts = Vec::new();
    let Some(items) = value.get_ref().as_array() else {
        return Err((value.span(), "`hosts` must be a list of hosts: `[\"api.example.com\"]`".to_owned()));
    };
    for item in items {
        match item.get_ref().as_str().unwrap_or_default().parse() {
            Ok(host) => hosts.push(host),
            Err(_) => {
                let form = "write `name`, `name:port`, `*.domain` or `10.0.0.0/8`";
                return Err((item.span(), format!("invalid host: {form}")));
            }
        }
    }
    Ok(hosts)
}

impl Settings {
    /// Whether a flow may run commands although flows may not.
    pub fn grants_commands(&self) -> bool {
        self.flow_rules.iter().any(|rule| rule.commands == Some(true))
    }

    /// The names in `[serve.flows]` that mean nothing: flows that are not among these, and tools that are not declared. A warning where
    /// the name may be right: in the user's own file, which is for all projects, or if some flows do not load (`some_unknown`).
    pub fn find_unknown_rules(&self, flows: &[&str], some_unknown: bool) -> Vec<Diagnostic> {
        let tools = self.rule_tools();
        let mut found = Vec::new();
        for rule in &self.flow_rules {
            for place in &rule.places {
                let (name, known, what) = match &place.tool {
                    Some(tool) => (tool, &tools[..], "tool or MCP server in the settings"),
                    None => (&rule.flow, flows, "flow here"),
                };
                if known.contains(&name.as_str()) {
                    continue;
                }
                let may_be_right = !place.of_project || place.tool.is_none() && some_unknown;
                let severity = if may_be_right { FindingSeverity::Warning } else { FindingSeverity::Error };
                let message = format!("no {what} is named `{name}`, so this allows and forbids nothing");
                let finding = Diagnostic::new(RULE, severity, place.at, message);
                found.push(match nearest_name(name, known.iter().copied()) {
                    Some(near) => finding.with_help(format!("did you mean `{near}`?")),
                    None if known.is_empty() => finding,
                    None => finding.with_help(format!("the names are `{}`", known.join("`, `"))),
                });
            }
        }
        found
    }

    /// The names that `tools` of a rule may have.
    fn rule_tools(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for tool in &self.tools {
            names.push(&*tool.tool_spec().name);
        }
        for tool in &self.flows {
            names.push(&*tool.name);
        }
        #[cfg(feature = "mcp")]
        for server in &self.mcp {
            names.push(&*server.name);
        }
        names
    }
}
