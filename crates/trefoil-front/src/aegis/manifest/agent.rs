//! `kind: Agent`: an agent as written.

use std::sync::Arc;

use trefoil_syntax::suggest::{self, Near};
use trefoil_syntax::yaml::{Entry, Node, Text};
use trefoil_syntax::{Diagnostic, Location, Span};

use super::execution::{self, Execution, ValidatorSpec};
use super::metadata::{self, Identity};
use super::schema::{self, JsonSchema};
use super::tools::{self, Tool};
use super::{RefusedFeature, Unit, declared, duration, texts, words};
use crate::mend::respelt;
use crate::{Fields, Need, NeedKind, Reader, providers};

/// An agent.
pub struct Agent {
    /// Name and version.
    pub identity: Identity,
    /// The whole document.
    pub whole: Span,
    /// `runtime.model`, an alias; `None`: `default`.
    pub model: Option<Text>,
    /// `runtime.temperature`.
    pub temperature: Option<f64>,
    /// `task.instruction`: data, not a template.
    pub instruction: Option<Text>,
    /// `task.prompt_template`.
    pub prompt: Option<Text>,
    /// `context`.
    pub context: Vec<ContextEntry>,
    /// `input_schema`.
    pub input_schema: Option<JsonSchema>,
    /// `execution`.
    pub execution: Execution,
    /// `security.resources.timeout`, a limit for all iterations together: milliseconds, and where it is written.
    pub deadline: Option<(u64, Span)>,
    /// The templates of `output_handler`.
    pub handler_templates: Vec<Text>,
    /// The tools that its model may call.
    pub tools: Vec<Tool>,
    /// Whether it declares repositories, whose names templates can read.
    pub has_repositories: bool,
    /// Unsupported features that it declares.
    pub refused: Vec<RefusedFeature>,
}

impl Agent {
    /// The validators that run before each tool call; none if the agent has no tools.
    pub fn gate(&self) -> impl Iterator<Item = &ValidatorSpec> {
        self.execution.tool_validation.iter().filter(|_| !self.tools.is_empty())
    }
}

/// An entry of `context` with a text.
pub enum ContextEntry {
    /// `type: text`.
    Text(Text),
    /// `type: file`.
    File(Text),
}

const NO_CONTAINER: &str = "the agent runs as a model call, not in a container";

/// Reads an agent's manifest below its header.
pub fn read(reader: &Reader<'_>, fields: &mut Fields<'_, '_>) -> Agent {
    let identity = match fields.require("metadata").and_then(|e| reader.fields(&e.value, "metadata")) {
        Some(mut m) => {
            let identity = metadata::read(&mut m, Unit::Agent);
            m.finish();
            identity
        }
        None => Identity { name: Arc::default(), span: fields.head(), at: fields.head(), version: None },
    };
    let mut agent = Agent {
        identity,
        whole: fields.span,
        model: None,
        temperature: None,
        instruction: None,
        prompt: None,
        context: Vec::new(),
        input_schema: None,
        execution: Execution::default(),
        deadline: None,
        handler_templates: Vec::new(),
        tools: Vec::new(),
        has_repositories: false,
        refused: Vec::new(),
    };
    if let Some(mut spec) = fields.require("spec").and_then(|e| reader.fields(&e.value, "spec")) {
        read_spec(reader, &mut spec, &mut agent);
        spec.finish();
    }
    agent
}

fn read_spec(reader: &Reader<'_>, spec: &mut Fields<'_, '_>, agent: &mut Agent) {
    spec.also_called(words::AGENT);
    spec.elsewhere(words::NOT_AGENT);
    // One finding for everything that only a container would need.
    let mut contained: Vec<(String, Span)> = Vec::new();
    read_runtime(spec, agent, &mut contained);
    if let Some(mut task) = spec.require("task").and_then(|e| reader.fields(&e.value, "task")) {
        task.also_called(words::TASK);
        task.elsewhere(words::NOT_TASK);
        agent.instruction = task.require_text("instruction").cloned();
        if let Some(text) = agent.instruction.as_ref().filter(|t| t.value.trim().is_empty()) {
            reader.error("missing-key", text.span, "`instruction` is blank");
        }
        agent.prompt = task.text("prompt_template").cloned();
        task.no_effect(&["input_data"], "write the data into the instruction, or pass it as input");
        task.finish();
    }
    if let Some(entry) = spec.take("context") {
        agent.context = read_context(reader, &entry.value);
    }
    if let Some(entry) = spec.take("input_schema") {
        agent.input_schema = schema::read(reader, &entry.value, "input_schema");
    }
    if let Some(mut fields) = spec.fields("execution") {
        agent.execution = execution::read(reader, &mut fields);
        fields.finish();
    }
    if let Some(entry) = spec.take("security") {
        agent.deadline = read_security(reader, &entry.value);
        contained.extend(in_security(entry).map(|what| (what.to_owned(), entry.key.span)));
    }
    for key in ["volumes", "env", "security_context", "advanced", "type"] {
        let Some(entry) = spec.take(key) else { continue };
        contained.push((format!("`{key}`"), entry.key.span));
        match key {
            "env" => drop(texts(reader, &entry.value, key)),
            "volumes" => declared::volumes(reader, &entry.value),
            "advanced" => declared::advanced(reader, &entry.value),
            _ => drop(reader.text(&entry.value, key)),
        }
    }
    contained.sort_by_key(|(_, span)| span.start);
    if let [(_, first), ..] = contained.as_slice() {
        let names: Vec<_> = contained.iter().map(|(key, _)| &**key).collect();
        let verb = if names.len() == 1 { "has" } else { "have" };
        // An agent that is complete for its own system is not a mistake.
        let message = format!("{} {verb} no effect: {NO_CONTAINER}", names.join(", "));
        reader.report(Diagnostic::info("no-effect", reader.at(*first), message));
    }
    if let Some(entry) = spec.take("tools") {
        agent.tools = tools::read(reader, &entry.value);
    }
    agent.refused.append(&mut agent.execution.refused);
    let execution = &agent.execution;
    let about_calls = [
        ("tool_validation", execution.tool_validation_at),
        ("require_tool_call", execution.needs_call_at),
        ("max_tool_calls", execution.max_calls_at),
    ];
    for (key, at) in about_calls.into_iter().filter(|_| agent.tools.is_empty()) {
        if let Some(at) = at {
            reader.warning("no-effect", at, format!("`{key}` has no effect: the agent has no tools"));
        }
    }
    if let Some(entry) = spec.take("output_handler") {
        agent.refused.extend(output_handler(reader, &entry.value, entry.key.span, &mut agent.handler_templates));
    }
    if let Some(entry) = spec.take("schedule") {
        declared::schedule(reader, &entry.value);
    }
    if let Some(entry) = spec.take("delivery") {
        declared::delivery(reader, &entry.value);
    }
    spec.no_effect(&["schedule"], "runs start only on request");
    spec.no_effect(&["delivery"], "the result is returned to the caller");
    read_connections(reader, spec, agent);
}

/// What an AEGIS server connects an agent to, and what it may be instead of a model call.
fn read_connections(reader: &Reader<'_>, spec: &mut Fields<'_, '_>, agent: &mut Agent) {
    if let Some(entry) = spec.take("contexts") {
        let message = "`contexts` has no effect: the agent is not connected to any service";
        reader.report(Diagnostic::info("no-effect", reader.at(entry.key.span), message));
    }
    for (key, why) in [
        ("program", "the agent runs as a model call, not as a program"),
        ("repositories", "the agent has no repository of an AEGIS server"),
    ] {
        let Some(entry) = spec.take(key) else { continue };
        agent.has_repositories |= key == "repositories";
        agent.refused.push(RefusedFeature::report(reader, entry.key.span, &format!("`{key}`"), why));
    }
}

fn read_runtime(spec: &mut Fields<'_, '_>, agent: &mut Agent, contained: &mut Vec<(String, Span)>) {
    let Some(entry) = spec.take("runtime") else {
        spec.reader.report(
            Diagnostic::warning("missing-key", spec.reader.at(spec.owner()), "`spec` has no `runtime`")
                .help("other tools for this format require it; only `runtime.model` is used here"),
        );
        return;
    };
    let Some(mut runtime) = spec.reader.fields(&entry.value, "runtime") else { return };
    runtime.elsewhere(words::NOT_RUNTIME);
    agent.model = runtime.text("model").cloned();
    if let Some(model) = &agent.model {
        check_model(runtime.reader, model);
    }
    agent.temperature = runtime.number("temperature", 0.0..=2.0);
    let inherits = |e: &Entry| e.value.string().is_some_and(|t| &*t.value == "inherit");
    for entry in declared::runtime(&mut runtime).into_iter().filter(|e| !inherits(e)) {
        contained.push((format!("`runtime.{}`", entry.key.value), entry.key.span));
    }
    runtime.finish();
}

/// Checks the model: an alias is any word, a provider's model is `provider:model`. Reports probable misspellings of
/// both.
fn check_model(reader: &Reader<'_>, model: &Text) {
    let name = &*model.value;
    if name.trim().is_empty() {
        return reader.error("missing-key", model.span, "`model` is blank");
    }
    if let Some(stray) = providers::stray(name) {
        let message = format!("a model name cannot {stray}: `{name}`");
        let d = Diagnostic::warning("bad-model", reader.at(model.span), message);
        let bare = providers::without_stray(name);
        let sure = !bare.is_empty() && !name.trim().contains(char::is_whitespace);
        let help = format!("write `{bare}`");
        return reader.report(if sure { d.suggestion(help, reader.at(model.content()), bare) } else { d });
    }
    if let Some((provider, _)) = name.split_once([':', '/']) {
        let near = suggest::near(provider, providers::PROVIDERS).filter(|n| n.sure && n.name != provider);
        if let Some(near) = near {
            let message = format!("unknown provider `{provider}`");
            let d = Diagnostic::warning("unknown-provider", reader.at(model.span), message);
            let at = reader.at(model.source(0..provider.len() as u32));
            reader.report(d.help(format!("did you mean `{}`?", near.name)).suggestion(
                format!("write `{}`", near.name),
                at,
                near.name,
            ));
        }
        return;
    }
    let near = suggest::near(name, ALIASES.iter().copied()).filter(|n| n.sure && n.name != name);
    if let Some(near) = near {
        let message = format!("`{name}` is not a usual model alias");
        let d = Diagnostic::warning("unknown-provider", reader.at(model.span), message);
        let near = Near { sure: false, ..near };
        reader.report(respelt(d.help(format!("did you mean `{}`?", near.name)), reader.at(model.span), model, near));
    }
}

/// Aliases in the examples of the format.
const ALIASES: &[&str] = &["default", "smart", "fast", "judge", "cheap", "local"];

/// `security`: without a container, only the time limit has an effect.
fn read_security(reader: &Reader<'_>, node: &Node) -> Option<(u64, Span)> {
    let mut security = reader.fields(node, "security")?;
    declared::security(&mut security);
    let mut deadline = None;
    if let Some(mut resources) = security.fields("resources") {
        declared::amounts(&mut resources, true);
        let ms = match resources.take("timeout") {
            Some(e) if matches!(e.value.scalar(), Some((trefoil_syntax::yaml::Scalar::Int(_), _))) => {
                duration::seconds(&mut resources, "timeout")
            }
            Some(e) => duration::read(reader, &e.value, "timeout"),
            None => None,
        };
        deadline = ms.zip(resources.entry("timeout").map(|e| e.value.span));
        resources.finish();
    }
    security.finish();
    deadline
}

/// The part of `security` that only a container would need: all of it, or all except the time limit; `None` if there is
/// no such part.
fn in_security(entry: &Entry) -> Option<&'static str> {
    let all = entry.value.mapping();
    let resources = all.and_then(|m| m.get("resources")).and_then(|e| e.value.mapping());
    if resources.and_then(|r| r.get("timeout")).is_none() {
        return Some("`security`");
    }
    let others = |m: Option<&trefoil_syntax::yaml::Mapping>| m.is_some_and(|m| m.entries.len() > 1);
    (others(all) || others(resources)).then_some("`security` (except `timeout`)")
}

/// A handler that is not required is skipped with a warning. One whose failure would fail the run is refused.
pub fn output_handler(
    reader: &Reader<'_>,
    node: &Node,
    span: Span,
    templates: &mut Vec<Text>,
) -> Option<RefusedFeature> {
    let mut handler = reader.fields(node, "output_handler")?;
    let kinds = [("agent", ()), ("webhook", ()), ("container", ()), ("mcp_tool", ())];
    let kinds = kinds.map(|(word, ())| (word, word));
    let kind = handler.require("type").and_then(|e| reader.word(&e.value, "type", &kinds));
    let required = handler.boolean("required") == Some(true);
    if let Some(kind) = kind {
        templates.extend(declared::output_handler(&mut handler, kind));
        if matches!(kind, "agent" | "webhook") { handler.finish() } else { handler.misspelt() }
    }
    if required {
        return Some(RefusedFeature::report(
            reader,
            span,
            "a required `output_handler`",
            "results are not sent anywhere",
        ));
    }
    reader.warning("no-effect", span, "`output_handler` has no effect: the result is returned to the caller");
    None
}

fn read_context(reader: &Reader<'_>, node: &Node) -> Vec<ContextEntry> {
    let mut entries = Vec::new();
    for item in reader.list(node, "context").unwrap_or_default() {
        let Some(mut fields) = reader.fields(item, "a context entry") else { continue };
        fields.text("description");
        let Some(kind) = fields.require("type") else { continue };
        let words = [("text", 0), ("file", 1), ("directory", 2), ("url", 3)];
        match reader.word(&kind.value, "type", &words) {
            Some(0) => entries.extend(fields.require_text("content").cloned().map(ContextEntry::Text)),
            Some(1) => entries.extend(fields.require_text("path").cloned().map(ContextEntry::File)),
            Some(sort) => {
                let directory = sort == 2;
                fields.require_text(if directory { "path" } else { "url" });
                reader.report(
                    Diagnostic::warning(
                        "no-effect",
                        reader.at(kind.value.span),
                        "directories and URLs in `context` are not read",
                    )
                    .help("list the files one by one, or pass one text with `--context FILE`"),
                );
            }
            None => continue,
        }
        fields.finish();
    }
    entries
}

/// The files that an agent's context needs. Reports nothing.
pub fn needs(root: &Node, file: trefoil_syntax::FileId) -> Vec<Need> {
    let context = || root.mapping()?.get("spec")?.value.mapping()?.get("context")?.value.sequence();
    let mut needs = Vec::new();
    for item in context().unwrap_or_default() {
        let Some(m) = item.mapping() else { continue };
        if m.get("type").and_then(|e| e.value.string()).is_none_or(|t| &*t.value != "file") {
            continue;
        }
        if let Some(path) = m.get("path").and_then(|e| e.value.string()) {
            let location = Location::new(file, path.span);
            needs.push(Need { kind: NeedKind::Attachment, path: path.value.to_string(), location });
        }
    }
    needs
}
