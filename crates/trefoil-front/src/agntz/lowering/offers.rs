//! The tools of a model agent. Each is a step that receives the model's arguments.

use std::sync::Arc;

use trefoil_ir::{
    ClientTool, FlowCallee, Offer, ProgramSchema, SchemaId, Source, StepKind, SubflowCall, ToolCall, ToolKind,
    ValueExpression,
};
use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Location, Span};
use trefoil_template::{Policy, Value, ValueObject};

use super::{AgntzLowering, text, tool};
use crate::agntz::binding::{self, BoundAgent};
use crate::agntz::ids::AgentRef;
use crate::agntz::manifest::http::UrlPlaceholder;
use crate::agntz::manifest::{HttpToolRequest, LlmAgent, LlmTool, McpTool};
use crate::agntz::names::PipelinePosition;
use crate::agntz::schema::closed_object;
use crate::program_builder::{plain_step, result_member};

/// The maximum number of characters of a server's name in a tool's name, so that there is room for the tool's own name.
const SERVER: usize = 24;

/// Lowers the tools of an agent, with the names that the original system gives them.
pub fn lower_offers(lowering: &mut AgntzLowering<'_, '_>, bound: &BoundAgent<'_>, llm: &LlmAgent<'_>) -> Vec<Offer> {
    let mut offers = OfferLowering { lowering, bound, all: Vec::new() };
    let mut agents = bound.callees.iter();
    let spawned = bound.callees.len() - llm.spawnable.len().min(bound.callees.len());
    for tool in &llm.tools {
        match tool {
            LlmTool::Local(names) => {
                for name in names {
                    offers.local(name, None, None);
                }
            }
            LlmTool::Client { name, description, input, timeout_ms } => {
                let tool = ClientTool { name: name.value.clone(), timeout_ms: *timeout_ms };
                offers.lowering.builder.add_client_tool(tool);
                offers.local(name, *description, Some(&input.json));
            }
            LlmTool::Http { name, description, http } => offers.http(name, *description, http),
            LlmTool::Mcp { server, tools, headers } => {
                let kind = ToolKind::Mcp { server: server.value.clone(), headers: headers.clone() };
                let Some(tools) = tools else {
                    offers.server(server, kind);
                    continue;
                };
                for tool in tools {
                    offers.mcp(server, tool, kind.clone());
                }
            }
            LlmTool::Agent { target, version } => {
                if let Some(binding::AgntzCallee::Document(document)) = agents.next() {
                    offers.agent(target, *version, *document);
                }
            }
        }
    }
    offers.spawn(bound.callees.get(spawned..).unwrap_or_default(), llm);
    offers.all
}

struct OfferLowering<'l, 'b, 'u, 'p> {
    lowering: &'l mut AgntzLowering<'u, 'p>,
    bound: &'b BoundAgent<'b>,
    all: Vec<Offer>,
}

impl OfferLowering<'_, '_, '_, '_> {
    fn local(&mut self, name: &YamlText, description: Option<&YamlText>, input: Option<&Value>) {
        let parameters = input.map(|json| self.schema(&name.value, json.clone(), name.span));
        let call = tool(&name.value, ToolKind::Local, model_arguments());
        self.offer((&name.value, name.span), description, parameters, call);
    }

    fn http(&mut self, name: &YamlText, description: Option<&YamlText>, http: &HttpToolRequest<'_>) {
        let parameters = self.schema(&name.value, parameters(http), name.span);
        let typed = |t: &YamlText| text::typed_expression(self.bound, t, PipelinePosition::End);
        let call = tool(&name.value, ToolKind::Http, tool::request_arguments(http, &typed, Some(model_arguments())));
        self.offer((&format!("http__{}", name.value), name.span), description, Some(parameters), call);
    }

    fn mcp(&mut self, server: &YamlText, wanted: &McpTool<'_>, kind: ToolKind) {
        let pinned = tool::object_expression(&wanted.params, &|t: &YamlText| {
            text::typed_expression(self.bound, t, PipelinePosition::End)
        });
        let arguments = if wanted.params.is_empty() {
            model_arguments()
        } else {
            ValueExpression::Merge(vec![model_arguments(), pinned])
        };
        let called = wanted.name.unwrap_or(wanted.tool);
        let name = format!("mcp__{}__{}", spoken(&server.value), called.value);
        let call = tool(&wanted.tool.value, kind, arguments);
        self.offer((&name, called.span), wanted.description, None, call);
        if let Some(offer) = self.all.last_mut() {
            offer.pinned = wanted.params.iter().map(|(key, _)| key.value.clone()).collect();
        }
    }

    fn server(&mut self, server: &YamlText, kind: ToolKind) {
        let call = tool("", kind, model_arguments());
        self.offer((&format!("mcp__{}__", spoken(&server.value)), server.span), None, None, call);
        if let Some(offer) = self.all.last_mut() {
            offer.all = true;
        }
    }

    fn agent(&mut self, target: &YamlText, version: Option<&YamlText>, document: usize) {
        self.lowering.document(document);
        let Some(Some(callee)) = self.lowering.units.agents.get(&document) else { return };
        let version = match (version, AgentRef::parse(&target.value)) {
            (Some(version), _) => Some(&*version.value),
            (None, Ok(reference)) => reference.version,
            (None, Err(_)) => None,
        };
        let name = match version {
            Some(version) => format!("invoke_{}__{version}", callee.id),
            None => format!("invoke_{}", callee.id),
        };
        let (input, member) = match &callee.agent.input {
            Some(schema) => (schema.json.clone(), None),
            // An agent without an input contract receives a text.
            None => (text_input(), Some(Arc::from("input"))),
        };
        let parameters = self.schema(&name, input, target.span);
        let call = SubflowCall {
            callee: FlowCallee::Flow(callee.signature.flow),
            input: Some(model_arguments()),
            exports: None,
            span: None,
        };
        let description = match callee.agent.description {
            Some(text) => text.value.clone(),
            None => format!("Runs the agent `{}`.", callee.id).into(),
        };
        self.offer((&name, target.span), None, Some(parameters), StepKind::Call(Box::new(call)));
        if let Some(offer) = self.all.last_mut() {
            (offer.description, offer.member) = (Some(description), member);
        }
    }

    /// `spawn_agent`: one tool for all agents that may be spawned; it returns the agent's result. In the original
    /// system, the call returns immediately, and the result comes in a later turn. Here the calls of a turn run
    /// concurrently, and the next turn has all results.
    fn spawn(&mut self, callees: &[binding::AgntzCallee<'_>], llm: &LlmAgent<'_>) {
        let mut flows = Vec::new();
        let mut descriptions = Vec::new();
        let mut contracts = Vec::new();
        for callee in callees {
            let agent = match callee {
                binding::AgntzCallee::Document(document) => {
                    self.lowering.document(*document);
                    match self.lowering.units.agents.get(document) {
                        Some(Some(agent)) => Some(agent),
                        _ => None,
                    }
                }
                binding::AgntzCallee::Inline(inner) => {
                    self.lowering.lower_agent(inner);
                    Some(&**inner)
                }
                binding::AgntzCallee::Nobody => None,
            };
            let Some(agent) = agent else { continue };
            flows.push((agent.id.clone(), agent.signature.flow));
            descriptions.push(match agent.agent.description {
                Some(text) => format!("`{}`: {}", agent.id, text.value),
                None => format!("`{}`", agent.id),
            });
            contracts.push(match &agent.agent.input {
                Some(schema) if schema.sound => Some(schema.json.clone()),
                _ => None,
            });
        }
        let Some(at) = llm.spawnable_at else { return };
        if flows.is_empty() {
            return;
        }
        let origin = Location::new(self.bound.at.file, at);
        let read = |name| result_member(name, &Policy::AGNTZ, origin);
        let (Some(name), Some(input)) = (read("agent_id"), read("input")) else { return };
        let ids: Value = flows.iter().map(|(id, _)| Value::Str(id.clone())).collect();
        let id: Value = [("type", Value::from("string")), ("enum", ids)].into_iter().collect();
        let properties: Value = [("agent_id", id), ("input", taken(contracts))].into_iter().collect();
        let parameters = closed_object(properties, vec!["agent_id".into(), "input".into()]);
        let parameters = self.schema("spawn_agent", parameters, at);
        let callee = FlowCallee::Named { name, flows };
        let call = SubflowCall { callee, input: Some(ValueExpression::Typed(input)), exports: None, span: None };
        self.offer(("spawn_agent", at), None, Some(parameters), StepKind::Call(Box::new(call)));
        if let Some(offer) = self.all.last_mut() {
            let agents = descriptions.join("; ");
            offer.description =
                Some(format!("Runs another agent and returns what it answers. Agents: {agents}.").into());
        }
    }

    fn offer(
        &mut self,
        (name, at): (&str, Span),
        description: Option<&YamlText>,
        parameters: Option<SchemaId>,
        kind: StepKind,
    ) {
        let origin = Location::new(self.bound.at.file, at);
        let mut step = plain_step(kind, origin);
        step.label = Some(name.trim_end_matches("__").into());
        let step = self.lowering.builder.add_step(step);
        let description = description.map(|t| t.value.clone());
        let (name, pinned) = (Arc::from(name), Vec::new());
        self.all.push(Offer { name, description, parameters, pinned, member: None, all: false, step, origin });
    }

    fn schema(&mut self, name: &str, json: Value, at: Span) -> SchemaId {
        let origin = Location::new(self.bound.at.file, at);
        self.lowering.builder.add_schema(ProgramSchema { name: format!("{name}_parameters").into(), json, origin })
    }
}

fn tool(name: &str, kind: ToolKind, arguments: ValueExpression) -> StepKind {
    StepKind::Tool(Box::new(ToolCall { name: name.into(), kind, arguments }))
}

/// The arguments from the model.
fn model_arguments() -> ValueExpression {
    ValueExpression::Read(Source::Result)
}

/// The input of any of these agents: the contract that they share, otherwise a text or an object.
fn taken(contracts: Vec<Option<Value>>) -> Value {
    let has_none = contracts.iter().any(Option::is_none);
    let mut known: Vec<Value> = contracts.into_iter().flatten().collect();
    known.dedup();
    match (has_none, known.as_slice()) {
        (true, []) => [("type", Value::from("string"))].into_iter().collect(),
        (false, [one]) => one.clone(),
        _ => {
            let kinds: &[&str] = if has_none { &["string", "object"] } else { &["object"] };
            [("type", kinds.iter().copied().collect::<Value>())].into_iter().collect()
        }
    }
}

/// The text input of an agent without an input contract.
fn text_input() -> Value {
    let text: Value = [("type", Value::from("string"))].into_iter().collect();
    let properties: Value = [("input", text)].into_iter().collect();
    closed_object(properties, vec!["input".into()])
}

/// The parameters for the model: the placeholders of the address that are not pinned, as texts.
fn parameters(http: &HttpToolRequest<'_>) -> Value {
    let mut properties = ValueObject::default();
    let mut required = Vec::new();
    for UrlPlaceholder { name, optional, .. } in &http.placeholders {
        let is_pinned = http.params.iter().any(|(key, _)| key.value == *name);
        if is_pinned {
            continue;
        }
        properties.insert(name.clone(), [("type", Value::from("string"))].into_iter().collect());
        if !optional && !required.contains(&Value::Str(name.clone())) {
            required.push(Value::Str(name.clone()));
        }
    }
    closed_object(properties.into(), required)
}

/// A server as part of a tool's name; for an address, its host.
fn spoken(server: &str) -> String {
    let host = match server.split_once("://") {
        Some((_, address)) => address.split(['/', '?', '#']).next().unwrap_or(address),
        None => server,
    };
    host.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).take(SERVER).collect()
}
