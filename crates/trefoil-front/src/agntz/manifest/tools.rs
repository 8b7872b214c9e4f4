//! `tools` of an llm agent. Tools that need the hosted product are refused.

use std::sync::Arc;

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{YamlNode, YamlText};
use trefoil_template::{Masked, Value};

use super::extra_keys::report_version;
use super::http;
use super::llm::{AgntzRefusal, LlmAgent, LlmTool, McpTool};
use super::texts::{bad_name, non_empty_text, take_text_map, text_items};
use crate::agntz::ids::is_tool_name;
use crate::agntz::schema;
use crate::requests;
use crate::yaml_reader::{ManifestReader, MappingReader};

#[derive(Clone, Copy)]
enum ToolWord {
    Local,
    Http,
    Mcp,
    Agent,
    Callback,
    Client,
}

const WORDS: [(&str, ToolWord); 6] = [
    ("local", ToolWord::Local),
    ("http", ToolWord::Http),
    ("mcp", ToolWord::Mcp),
    ("agent", ToolWord::Agent),
    ("callback", ToolWord::Callback),
    ("client", ToolWord::Client),
];

const NAME_RULE: &str = "start with a letter or `_`, then use letters, digits and `_`";

/// Reads `tools`.
pub fn read_tools<'n>(fields: &mut MappingReader<'n, '_>, llm: &mut LlmAgent<'n>) {
    let Some(entry) = fields.take("tools") else { return };
    let reader = fields.reader;
    let items = reader.read_list(&entry.value, "tools").unwrap_or_default();
    let mut clients: Vec<&YamlText> = Vec::new();
    let mut named: Vec<&YamlText> = Vec::new();
    for item in items {
        let Some(mut tool) = reader.read_mapping(item, "a tool") else { continue };
        tool.require_entry("kind");
        let Some(kind) = tool.read_word("kind", &WORDS) else { continue };
        match kind {
            ToolWord::Local => {
                let names = local(&mut tool);
                named.extend(&names);
                llm.tools.push(LlmTool::Local(names));
            }
            ToolWord::Http => {
                let name = name(&mut tool, "an http tool");
                named.extend(name);
                let description = tool.read_text("description");
                let http = http::read_request(&mut tool);
                if let Some(name) = name {
                    llm.tools.push(LlmTool::Http { name, description, http });
                }
            }
            // For the model, the server's name precedes those of its tools.
            ToolWord::Mcp => clashes(reader, &mcp(&mut tool, llm)),
            ToolWord::Agent => agent(&mut tool, llm),
            ToolWord::Callback => {
                named.extend(callback(&mut tool));
                let help = "call its address with an http tool";
                llm.refusals.push(AgntzRefusal::report_feature(reader, "kind: callback", item.span, help));
            }
            ToolWord::Client => {
                let (client, tool) = client(&mut tool, &clients);
                llm.tools.extend(tool);
                if let Some(client) = client {
                    clients.push(client);
                    // Client tools with the same name are reported separately.
                    if !named.iter().any(|other| other.value == client.value && is_among(&clients, other)) {
                        named.push(client);
                    }
                }
            }
        }
        tool.finish_mapping();
    }
    clashes(reader, &named);
}

fn is_among(clients: &[&YamlText], name: &YamlText) -> bool {
    clients.iter().any(|client| client.span == name.span)
}

/// Reports two tools with the same name, because a model calls tools by name.
fn clashes(reader: &ManifestReader<'_>, named: &[&YamlText]) {
    for (at, second) in named.iter().enumerate() {
        if let Some(first) = named.iter().take(at).find(|n| n.value == second.value) {
            let message = format!("two tools are named `{}`, so the model cannot tell them apart", second.value);
            let d = Diagnostic::new_warning("tool-clash", reader.location_of(second.span), message);
            reader.report_finding(
                d.with_label(reader.location_of(first.span), "the other one").with_help("rename one of them"),
            );
        }
    }
}

fn name<'n>(tool: &mut MappingReader<'n, '_>, what: &str) -> Option<&'n YamlText> {
    let name = tool.require_text("name")?;
    if !is_tool_name(&name.value) {
        bad_name(tool.reader, name, what, NAME_RULE);
    }
    Some(name)
}

fn local<'n>(tool: &mut MappingReader<'n, '_>) -> Vec<&'n YamlText> {
    let reader = tool.reader;
    let Some(entry) = tool.require_entry("tools") else { return Vec::new() };
    let names = reader.read_list(&entry.value, "tools").unwrap_or_default();
    if names.is_empty() && entry.value.as_sequence().is_some() {
        reader.report_error("wrong-type", entry.value.span, "a local tool entry needs at least one tool");
    }
    let names = text_items(reader, names, "tools");
    for name in &names {
        if name.value.starts_with("memory_") {
            bad_name(reader, name, "a local tool", "`memory_` is reserved for the tools of a memory resource");
        }
    }
    names
}

/// The names under which its tools are offered, if they are listed.
fn mcp<'n>(tool: &mut MappingReader<'n, '_>, llm: &mut LlmAgent<'n>) -> Vec<&'n YamlText> {
    let reader = tool.reader;
    let server = non_empty_text(reader, tool.require_text("server"), "server");
    if let Some(server) = server {
        check_server(reader, server);
    }
    let items = tool.read_list("tools");
    let tools = items.map(|items| items.iter().filter_map(|item| wrapped(reader, item)).collect::<Vec<_>>());
    let mut names = Vec::new();
    for tool in tools.iter().flatten() {
        names.push(tool.name.unwrap_or(tool.tool));
    }
    let headers = headers(tool);
    if let Some(server) = server {
        llm.tools.push(LlmTool::Mcp { server, tools, headers });
    }
    names
}

/// One connection serves all calls, so its headers can only read values that are the same for all calls.
fn headers(tool: &mut MappingReader<'_, '_>) -> Vec<(Arc<str>, Value)> {
    let reader = tool.reader;
    let mut headers = Vec::new();
    for (name, text) in take_text_map(tool, "headers") {
        match Masked::parse_text(&text.value) {
            Ok(value) => headers.push((name.value.clone(), value)),
            Err(why) => {
                let message = "the headers of an MCP server can read secrets and the environment only";
                let d = Diagnostic::new_error("unknown-value", reader.location_of(text.span), message);
                reader.report_finding(d.with_help(why));
            }
        }
    }
    headers
}

fn wrapped<'n>(reader: &ManifestReader<'_>, item: &'n YamlNode) -> Option<McpTool<'n>> {
    if let Some(tool) = item.as_string() {
        return Some(McpTool { tool, name: None, description: None, params: Vec::new() });
    }
    if item.as_mapping().is_none() {
        reader.wrong_type(item, "tools", "a tool's name or a mapping with `tool`");
        return None;
    }
    let mut inner = reader.read_mapping(item, "a wrapped tool")?;
    let tool = inner.require_text("tool");
    let name = inner.read_text("name");
    let description = inner.read_text("description");
    let params = take_text_map(&mut inner, "params");
    inner.finish_mapping();
    Some(McpTool { tool: tool?, name, description, params })
}

fn agent<'n>(tool: &mut MappingReader<'n, '_>, llm: &mut LlmAgent<'n>) {
    let reader = tool.reader;
    let target = tool.require_text("agent");
    let version = tool.read_text("version");
    if let Some(target) = target {
        llm.tools.push(LlmTool::Agent { target, version });
    }
    if let Some(version) = version {
        report_version(reader, version);
        if let Some(target) = target
            && target.value.contains('@')
        {
            let message = format!("the version of `{}` is set twice", target.value);
            let d = Diagnostic::new_error("invalid-reference", reader.location_of(version.span), message);
            reader.report_finding(d.with_label(reader.location_of(target.span), "already set here"));
        }
    }
}

/// A callback tool, which is not supported yet; returns its name.
fn callback<'n>(tool: &mut MappingReader<'n, '_>) -> Option<&'n YamlText> {
    let name = name(tool, "a callback tool");
    if let Some(url) = tool.require_text("url") {
        callback_url(tool.reader, url);
    }
    tool.read_text("description");
    tool.require_text("secret");
    tool.read_integer("timeoutMs", 1000..=120_000);
    tool.read_integer("maxRetries", 0..=5);
    if let Some(entry) = tool.take("inputSchema") {
        schema::read_schema(tool.reader, entry);
    }
    name
}

/// The address of a callback is not a template.
fn callback_url(reader: &ManifestReader<'_>, url: &YamlText) {
    let text = &*url.value;
    if text.contains("{{") {
        return;
    }
    if !text.starts_with("https://") && !text.starts_with("http://") {
        let d = Diagnostic::new_warning(
            "invalid-url",
            reader.location_of(url.span),
            format!("`{text}` is not an HTTP URL"),
        );
        reader.report_finding(d.with_help("start it with `https://` and a host"));
    } else {
        reader.report_all(requests::check_host(reader.file, url));
    }
}

/// The server of mcp tools, if it looks like an address; the name of a connection contains no slash.
pub fn check_server(reader: &ManifestReader<'_>, server: &YamlText) {
    let text = &*server.value;
    let scheme = ["https", "http"].into_iter().find(|s| text.starts_with(s) && !text.starts_with(&format!("{s}://")));
    if scheme.is_some() && text.contains('/') && !text.starts_with("https://") {
        let d = Diagnostic::new_warning(
            "invalid-url",
            reader.location_of(server.span),
            format!("`{text}` is not an HTTP URL"),
        );
        reader.report_finding(d.with_help("start it with `https://` and a host"));
    } else {
        reader.report_all(requests::check_host(reader.file, server));
    }
}

fn client<'n>(tool: &mut MappingReader<'n, '_>, known: &[&'n YamlText]) -> (Option<&'n YamlText>, Option<LlmTool<'n>>) {
    let reader = tool.reader;
    let name = name(tool, "a client tool");
    let description = non_empty_text(reader, tool.require_text("description"), "description");
    let timeout = tool.read_integer("timeoutMs", 1000..=120_000);
    let timeout_ms = timeout.and_then(|ms| u64::try_from(ms).ok());
    let schema_entry = tool.require_entry("inputSchema");
    let schema = schema_entry.map(|entry| schema::read_schema(reader, entry));
    if let (Some(entry), Some(schema)) = (schema_entry, &schema)
        && schema.shorthand
        && schema.sound
    {
        let d = Diagnostic::new_error(
            "invalid-schema",
            reader.location_of(entry.key.span),
            "a client tool needs a JSON Schema",
        );
        reader.report_finding(d.with_help("write `type: object` and `properties:`"));
    }
    if let Some(name) = name
        && let Some(first) = known.iter().find(|known| known.value == name.value)
    {
        reader.report_duplicate(name.span, first.span, format!("`{}` is declared twice", name.value));
    }
    let tool = match (name, schema) {
        (Some(name), Some(input)) => Some(LlmTool::Client { name, description, input, timeout_ms }),
        _ => None,
    };
    (name, tool)
}
