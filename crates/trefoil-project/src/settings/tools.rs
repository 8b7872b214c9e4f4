//! Reads `[tools]`, `[mcp]` and `[python]`: programs and servers declared by the operator.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use trefoil_check::{DeclaredServer, DeclaredTool};
use trefoil_ir::types::ValueType;
use trefoil_machine::Effects;
use trefoil_tools::process::{OperatorProgram, ProcessEnvironment};
use trefoil_tools::{CommandInput, CommandResult, CommandTool, CommandToolDeclaration, TIME};

use super::trusted_tables::SettingsReading;
use super::values::{
    TableEntry, WrongValue, read_command, read_duration, read_environment, read_json, read_table, read_text, read_word,
    read_words, value_of,
};
use super::{FlowTool, argv};
use crate::file_access::clean_path;
use crate::target::LoadTarget;

impl SettingsReading<'_> {
    /// `[tools.NAME]`
    pub(super) fn read_tool(&mut self, name: &str, at: Range<usize>, value: &TableEntry<'_>) {
        let settings = &mut self.found.settings;
        // If two have the same name, the later one is used.
        settings.tools.retain(|have| *have.tool_spec().name != *name);
        settings.flows.retain(|have| have.name != name);
        if let Err((at, why)) = self.add_tool(name, at, value) {
            self.report_wrong_value(at, &format!("invalid tool `{name}`: {why}"));
        }
    }

    fn add_tool(&mut self, name: &str, at: Range<usize>, value: &TableEntry<'_>) -> Result<(), WrongValue> {
        if matches!(value.get_ref(), DeValue::Table(table) if value_of(table, "flow").is_some()) {
            let flow = self.flow(name, value)?;
            self.found.settings.flows.push(flow);
            return Ok(());
        }
        let tool = read_command_tool(self.base, name, at, value)?;
        match argv::find_refused_command(&tool, value) {
            Some(why) => self.wrong_with(why.at, &format!("invalid tool `{name}`: {}", why.message), why.help),
            None => self.found.settings.tools.push(tool),
        }
        Ok(())
    }

    /// `[tools.NAME] flow = "PATH"`
    fn flow(&self, name: &str, value: &TableEntry<'_>) -> Result<FlowTool, WrongValue> {
        let (mut flow, mut description) = (None, None);
        for (key, value) in read_table(value)? {
            match &**key.get_ref() {
                "flow" => {
                    flow = Some(LoadTarget::parse(&clean_path(&self.base.join(read_text(value)?)).to_string_lossy()))
                }
                "description" => description = Some(read_text(value)?.to_owned()),
                other => {
                    let keys = "`flow`, `description`";
                    return Err((key.span(), format!("unknown key `{other}` next to `flow`; the keys are {keys}")));
                }
            }
        }
        let Some(flow) = flow else { return Err((value.span(), "it needs a `flow`".to_owned())) };
        Ok(FlowTool { name: name.to_owned(), description, flow })
    }

    /// `[mcp.NAME]`
    #[cfg(feature = "mcp")]
    pub(super) fn read_mcp_server(&mut self, name: &str, _at: Range<usize>, value: &TableEntry<'_>) {
        match self.server(name, value) {
            Ok(server) => {
                self.found.settings.mcp.retain(|have| have.name != server.name);
                self.found.settings.mcp.push(server);
            }
            Err((at, why)) => self.report_wrong_value(at, &format!("invalid MCP server `{name}`: {why}")),
        }
    }

    #[cfg(not(feature = "mcp"))]
    pub(super) fn read_mcp_server(&mut self, _name: &str, at: Range<usize>, _value: &TableEntry<'_>) {
        self.report_wrong_value(at, "this build has no support for MCP servers");
    }

    #[cfg(feature = "mcp")]
    fn server(&self, name: &str, value: &TableEntry<'_>) -> Result<trefoil_tools::McpServer, WrongValue> {
        use trefoil_tools::{IdempotentTools, McpServer, McpTransport};
        let all = read_table(value)?;
        let (mut tools, mut idempotent, mut limit) = (None, IdempotentTools::These(Vec::new()), TIME);
        let (mut url, mut headers, mut start) = (None, Vec::new(), None);
        for (key, value) in all {
            match &**key.get_ref() {
                "command" | "env" | "folder" => {}
                "url" => {
                    let address = read_text(value)?;
                    if !address.starts_with("https://") && !address.starts_with("http://") {
                        return Err((value.span(), "`url` must start with `https://` or `http://`".to_owned()));
                    }
                    url = Some(address.to_owned());
                }
                "headers" => headers = super::values::read_texts(value)?,
                "tools" => tools = Some(read_words(value)?),
                "timeout" => limit = read_duration(value)?,
                "start_timeout" => start = Some(read_duration(value)?),
                "idempotent" => {
                    idempotent = match value.get_ref().as_bool() {
                        Some(true) => IdempotentTools::All,
                        Some(false) => IdempotentTools::These(Vec::new()),
                        None => IdempotentTools::These(read_words(value)?),
                    };
                }
                other => {
                    let keys = "`command`, `env`, `folder` or `url`, `headers`, and `tools`, `idempotent`, `timeout`, `start_timeout`";
                    return Err((key.span(), format!("unknown key `{other}`; its keys are {keys}")));
                }
            }
        }
        let transport = match (program(self.base, all)?, url) {
            (Some(program), None) => McpTransport::Process(program),
            (None, Some(url)) => McpTransport::Http { url, headers },
            _ => return Err((value.span(), "it needs either a `command` or a `url`".to_owned())),
        };
        Ok(McpServer { name: name.to_owned(), transport, tools, idempotent, time: limit, start })
    }

    /// `[python]`
    pub(super) fn read_python_setting(&mut self, key: &str, at: Range<usize>, value: &TableEntry<'_>) {
        if let Err((at, why)) = self.set_python(key, at, value) {
            self.report_wrong_value(at, &why);
        }
    }

    fn set_python(&mut self, key: &str, at: Range<usize>, value: &TableEntry<'_>) -> Result<(), WrongValue> {
        let python = &mut self.found.settings.python;
        match key {
            "command" => python.command = Some(read_command(value)?),
            "path" => python.path = read_words(value)?.into_iter().map(|path| self.base.join(path)).collect(),
            "env" => python.environment = read_environment(value)?,
            "timeout" => python.time = read_duration(value)?,
            _ => {
                let keys = "`command`, `path`, `env`, `timeout`";
                return Err((at, format!("`[python]` has no key `{key}`; its keys are {keys}")));
            }
        }
        Ok(())
    }
}

/// A program that is a tool, as a table declares it.
fn read_command_tool(
    base: &Path,
    name: &str,
    at: Range<usize>,
    value: &TableEntry<'_>,
) -> Result<CommandTool, WrongValue> {
    let all = read_table(value)?;
    let Some(program) = program(base, all)? else {
        return Err((value.span(), "it needs a `command` or a `flow`".to_owned()));
    };
    let mut declared = CommandToolDeclaration {
        name: name.to_owned(),
        description: String::new(),
        program,
        parameters: None,
        result: None,
        effects: Effects::Writes,
        input: None,
        output: CommandResult::Either,
        time: TIME,
    };
    for (key, value) in all {
        match &**key.get_ref() {
            "command" | "env" | "folder" => {}
            "description" => declared.description = read_text(value)?.to_owned(),
            "parameters" => declared.parameters = Some(read_json(value)?),
            "result" => declared.result = Some(read_json(value)?),
            "timeout" => declared.time = read_duration(value)?,
            "effects" => {
                let known = [
                    ("read_only", Effects::ReadOnly),
                    ("idempotent", Effects::Idempotent),
                    ("writes", Effects::Writes),
                ];
                declared.effects = read_word(value, &known)?;
            }
            "input" => {
                declared.input =
                    Some(read_word(value, &[("json", CommandInput::Json), ("arguments", CommandInput::Words)])?);
            }
            "output" => {
                declared.output = read_word(value, &[("json", CommandResult::Json), ("text", CommandResult::Text)])?;
            }
            other => {
                let keys = "`command`, `description`, `parameters`, `result`, `effects`, `input`, `output`, `timeout`, `env`, `folder`";
                return Err((key.span(), format!("unknown key `{other}`; its keys are {keys}")));
            }
        }
    }
    CommandTool::new(declared).map_err(|why| (at, why))
}

/// `command`, `folder` and `env` of a table; `None` if it has no `command`.
fn program(base: &Path, all: &DeTable<'_>) -> Result<Option<OperatorProgram>, WrongValue> {
    let Some(command) = value_of(all, "command") else { return Ok(None) };
    let folder = match value_of(all, "folder") {
        Some(folder) => base.join(read_text(folder)?),
        None => base.to_owned(),
    };
    // A file named without a folder is in the current one.
    let folder = if folder == PathBuf::new() { None } else { Some(folder) };
    let environment = match value_of(all, "env") {
        Some(environment) => read_environment(environment)?,
        None => ProcessEnvironment::default(),
    };
    Ok(Some(OperatorProgram { command: read_command(command)?, folder, environment }))
}

/// The descriptions of tools in a table, as far as they can be read, for checks, which run no tools.
pub fn read_supplied_tools(base: &Path, tools: &DeTable<'_>) -> Vec<DeclaredTool> {
    tools.iter().map(|(name, value)| supplied_tool(base, name.get_ref(), value)).collect()
}

fn supplied_tool(base: &Path, name: &str, value: &TableEntry<'_>) -> DeclaredTool {
    if let DeValue::Table(table) = value.get_ref()
        && let Some(flow) = value_of(table, "flow")
        && let Some(flow) = flow.get_ref().as_str()
    {
        return of_flow(name.to_owned(), clean_path(&base.join(flow)).to_string_lossy().into_owned());
    }
    match read_command_tool(base, name, 0..0, value) {
        Ok(tool) => describe_tool(&tool),
        Err(_) => DeclaredTool { name: name.to_owned(), ..DeclaredTool::default() },
    }
}

/// The same of MCP servers.
pub fn supplied_servers(servers: &DeTable<'_>) -> Vec<DeclaredServer> {
    servers.iter().map(|(name, value)| supplied_server(name.get_ref(), value)).collect()
}

fn supplied_server(name: &str, value: &TableEntry<'_>) -> DeclaredServer {
    let mut server = DeclaredServer { name: name.to_owned(), tools: None, idempotent: Some(Vec::new()) };
    let DeValue::Table(table) = value.get_ref() else { return server };
    if let Some(tools) = value_of(table, "tools") {
        server.tools = read_words(tools).ok();
    }
    if let Some(idempotent) = value_of(table, "idempotent") {
        server.idempotent = match idempotent.get_ref().as_bool() {
            Some(true) => None,
            _ => Some(read_words(idempotent).unwrap_or_default()),
        };
    }
    server
}

/// The description of a declared MCP server.
#[cfg(feature = "mcp")]
pub fn described_server(server: &trefoil_tools::McpServer) -> DeclaredServer {
    use trefoil_tools::IdempotentTools;
    let idempotent = match &server.idempotent {
        IdempotentTools::All => None,
        IdempotentTools::These(these) => Some(these.clone()),
    };
    DeclaredServer { name: server.name.clone(), tools: server.tools.clone(), idempotent }
}

/// The description of a program that is a tool.
pub fn describe_tool(tool: &CommandTool) -> DeclaredTool {
    let spec = tool.tool_spec();
    let parameters = Some(spec.parameters.clone());
    DeclaredTool {
        name: spec.name.to_string(),
        parameters,
        result: tool.result_schema().map(ValueType::from_schema),
        writes: spec.effects == Effects::Writes,
        on_command_line: tool.is_on_command_line(),
        flow: None,
        calls: None,
    }
}

/// A flow that is a tool. The loader adds what is known about the flow.
pub fn of_flow(name: String, flow: String) -> DeclaredTool {
    DeclaredTool { name, flow: Some(flow), ..DeclaredTool::default() }
}
