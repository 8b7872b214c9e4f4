//! `kind: Agent`: an agent as written.

use std::sync::Arc;

use trefoil_syntax::suggestions::{self, NearMatch};
use trefoil_syntax::yaml::{YamlEntry, YamlNode, YamlText};
use trefoil_syntax::{Diagnostic, Location, Span};

use super::execution::{self, AgentExecution, ValidatorSpec};
use super::metadata::{self, ManifestIdentity};
use super::schema::{self, JsonSchema};
use super::tools::{self, AegisTool};
use super::{AegisUnitKind, RefusedFeature, duration, key_synonyms, read_text_map, unsupported_parts};
use crate::spelling_fixes::fix_spelling;
use crate::{ManifestReader, MappingReader, NeededFile, NeededFileKind, providers};

/// An agent.
pub struct AegisAgentManifest {
    /// Name and version.
    pub identity: ManifestIdentity,
    /// The whole document.
    pub whole: Span,
    /// `runtime.model`, an alias; `None`: `default`.
    pub model: Option<YamlText>,
    /// `runtime.temperature`.
    pub temperature: Option<f64>,
    /// `task.instruction`: data, not a template.
    pub instruction: Option<YamlText>,
    /// `task.prompt_template`.
    pub prompt: Option<YamlText>,
    /// `context`.
    pub context: Vec<ContextEntry>,
    /// `input_schema`.
    pub input_schema: Option<JsonSchema>,
    /// `execution`.
    pub execution: AgentExecution,
    /// `security.resources.timeout`, a limit for all iterations together: milliseconds, and where it is written.
    pub deadline: Option<(u64, Span)>,
    /// The templates of `output_handler`.
    pub handler_templates: Vec<YamlText>,
    /// The tools that its model may call.
    pub tools: Vec<AegisTool>,
    /// Whether it declares repositories, whose names templates can read.
    pub has_repositories: bool,
    /// Unsupported features that it declares.
    pub refused: Vec<RefusedFeature>,
}

impl AegisAgentManifest {
    /// The validators that run before each tool call; none if the agent has no tools.
    pub fn gate(&self) -> impl Iterator<Item = &ValidatorSpec> {
        let validators: &[ValidatorSpec] = if self.tools.is_empty() { &[] } else { &self.execution.tool_validation };
        validators.iter()
    }
}

/// An entry of `context` with a text.
pub enum ContextEntry {
    /// `type: text`.
    Text(YamlText),
    /// `type: file`.
    File(YamlText),
}

const NO_CONTAINER: &str = "the agent runs as a model call, not in a container";

/// Reads an agent's manifest below its header.
pub fn read_agent(reader: &ManifestReader<'_>, fields: &mut MappingReader<'_, '_>) -> AegisAgentManifest {
    let identity = match fields.require_mapping("metadata") {
        Some(mut metadata) => {
            let identity = metadata::read_identity(&mut metadata, AegisUnitKind::Agent);
            metadata.finish_mapping();
            identity
        }
        None => {
            ManifestIdentity { name: Arc::default(), span: fields.head_span(), at: fields.head_span(), version: None }
        }
    };
    let mut agent = AegisAgentManifest {
        identity,
        whole: fields.span,
        model: None,
        temperature: None,
        instruction: None,
        prompt: None,
        context: Vec::new(),
        input_schema: None,
        execution: AgentExecution::default(),
        deadline: None,
        handler_templates: Vec::new(),
        tools: Vec::new(),
        has_repositories: false,
        refused: Vec::new(),
    };
    if let Some(mut spec) = fields.require_mapping("spec") {
        read_spec(reader, &mut spec, &mut agent);
        spec.finish_mapping();
    }
    agent
}

fn read_spec(reader: &ManifestReader<'_>, spec: &mut MappingReader<'_, '_>, agent: &mut AegisAgentManifest) {
    spec.also_called(key_synonyms::AGENT);
    spec.set_foreign_keys(key_synonyms::NOT_AGENT);
    // One finding for everything that only a container would need.
    let mut contained: Vec<(String, Span)> = Vec::new();
    read_runtime(spec, agent, &mut contained);
    if let Some(mut task) = spec.require_mapping("task") {
        task.also_called(key_synonyms::TASK);
        task.set_foreign_keys(key_synonyms::NOT_TASK);
        agent.instruction = task.require_text("instruction").cloned();
        if let Some(text) = &agent.instruction
            && text.value.trim().is_empty()
        {
            reader.report_error("missing-key", text.span, "`instruction` is blank");
        }
        agent.prompt = task.read_text("prompt_template").cloned();
        task.no_effect(&["input_data"], "write the data into the instruction, or pass it as input");
        task.finish_mapping();
    }
    if let Some(entry) = spec.take("context") {
        agent.context = read_context(reader, &entry.value);
    }
    if let Some(entry) = spec.take("input_schema") {
        agent.input_schema = schema::read_json_schema(reader, &entry.value, "input_schema");
    }
    if let Some(mut fields) = spec.read_mapping("execution") {
        agent.execution = execution::read_execution(reader, &mut fields);
        fields.finish_mapping();
    }
    if let Some(entry) = spec.take("security") {
        agent.deadline = read_security(reader, &entry.value);
        if let Some(what) = in_security(entry) {
            contained.push((what.to_owned(), entry.key.span));
        }
    }
    for key in ["volumes", "env", "security_context", "advanced", "type"] {
        let Some(entry) = spec.take(key) else { continue };
        contained.push((format!("`{key}`"), entry.key.span));
        match key {
            "env" => drop(read_text_map(reader, &entry.value, key)),
            "volumes" => unsupported_parts::check_agent_volumes(reader, &entry.value),
            "advanced" => unsupported_parts::check_advanced(reader, &entry.value),
            _ => drop(reader.read_text(&entry.value, key)),
        }
    }
    report_contained(reader, contained);
    if let Some(entry) = spec.take("tools") {
        agent.tools = tools::read_tools(reader, &entry.value);
    }
    agent.refused.append(&mut agent.execution.refused);
    if agent.tools.is_empty() {
        report_without_tools(reader, &agent.execution);
    }
    if let Some(entry) = spec.take("output_handler") {
        agent.refused.extend(output_handler(reader, &entry.value, entry.key.span, &mut agent.handler_templates));
    }
    if let Some(entry) = spec.take("schedule") {
        unsupported_parts::check_schedule(reader, &entry.value);
    }
    if let Some(entry) = spec.take("delivery") {
        unsupported_parts::check_delivery(reader, &entry.value);
    }
    spec.no_effect(&["schedule"], "runs start only on request");
    spec.no_effect(&["delivery"], "the result is returned to the caller");
    read_connections(reader, spec, agent);
}

/// Reports the parts that only a container would need.
fn report_contained(reader: &ManifestReader<'_>, mut contained: Vec<(String, Span)>) {
    contained.sort_by_key(|(_, span)| span.start);
    let [(_, first), ..] = contained.as_slice() else { return };
    let names: Vec<&str> = contained.iter().map(|(key, _)| &**key).collect();
    let verb = if names.len() == 1 { "has" } else { "have" };
    // An agent that is complete for its own system is not a mistake.
    let message = format!("{} {verb} no effect: {NO_CONTAINER}", names.join(", "));
    reader.report_finding(Diagnostic::new_info("no-effect", reader.location_of(*first), message));
}

/// Reports the keys about tool calls of an agent without tools.
fn report_without_tools(reader: &ManifestReader<'_>, execution: &AgentExecution) {
    for (key, at) in [
        ("tool_validation", execution.tool_validation_at),
        ("require_tool_call", execution.needs_call_at),
        ("max_tool_calls", execution.max_calls_at),
    ] {
        if let Some(at) = at {
            reader.report_warning("no-effect", at, format!("`{key}` has no effect: the agent has no tools"));
        }
    }
}

/// What an AEGIS server connects an agent to, and what it may be instead of a model call.
fn read_connections(reader: &ManifestReader<'_>, spec: &mut MappingReader<'_, '_>, agent: &mut AegisAgentManifest) {
    if let Some(entry) = spec.take("contexts") {
        let message = "`contexts` has no effect: the agent is not connected to any service";
        reader.report_finding(Diagnostic::new_info("no-effect", reader.location_of(entry.key.span), message));
    }
    for (key, why) in [
        ("program", "the agent runs as a model call, not as a program"),
        ("repositories", "the agent has no repository of an AEGIS server"),
    ] {
        let Some(entry) = spec.take(key) else { continue };
        agent.has_repositories |= key == "repositories";
        agent.refused.push(RefusedFeature::report_feature(reader, entry.key.span, &format!("`{key}`"), why));
    }
}

fn read_runtime(spec: &mut MappingReader<'_, '_>, agent: &mut AegisAgentManifest, contained: &mut Vec<(String, Span)>) {
    let Some(entry) = spec.take("runtime") else {
        spec.reader.report_finding(
            Diagnostic::new_warning(
                "missing-key",
                spec.reader.location_of(spec.owner_span()),
                "`spec` has no `runtime`",
            )
            .with_help("other tools for this format require it; only `runtime.model` is used here"),
        );
        return;
    };
    let Some(mut runtime) = spec.reader.read_mapping(&entry.value, "runtime") else { return };
    runtime.set_foreign_keys(key_synonyms::NOT_RUNTIME);
    agent.model = runtime.read_text("model").cloned();
    if let Some(model) = &agent.model {
        check_model(runtime.reader, model);
    }
    agent.temperature = runtime.read_number("temperature", 0.0..=2.0);
    for entry in unsupported_parts::check_runtime(&mut runtime) {
        if matches!(entry.value.as_string(), Some(text) if &*text.value == "inherit") {
            continue;
        }
        contained.push((format!("`runtime.{}`", entry.key.value), entry.key.span));
    }
    runtime.finish_mapping();
}

/// Checks the model: an alias is any word, a provider's model is `provider:model`. Reports probable misspellings of
/// both.
fn check_model(reader: &ManifestReader<'_>, model: &YamlText) {
    let name = &*model.value;
    if name.trim().is_empty() {
        return reader.report_error("missing-key", model.span, "`model` is blank");
    }
    if let Some(stray) = providers::stray_characters(name) {
        let message = format!("a model name cannot {stray}: `{name}`");
        let d = Diagnostic::new_warning("bad-model", reader.location_of(model.span), message);
        let bare = providers::without_stray(name);
        let sure = !bare.is_empty() && !name.trim().contains(char::is_whitespace);
        let help = format!("write `{bare}`");
        return reader.report_finding(if sure {
            d.with_suggestion(help, reader.location_of(model.content_span()), bare)
        } else {
            d
        });
    }
    if let Some((provider, _)) = name.split_once([':', '/']) {
        if let Some(near) = suggestions::find_near_match(provider, providers::PROVIDERS)
            && near.sure
            && near.name != provider
        {
            let message = format!("unknown provider `{provider}`");
            let d = Diagnostic::new_warning("unknown-provider", reader.location_of(model.span), message);
            let at = reader.location_of(model.source_span(0..provider.len() as u32));
            reader.report_finding(d.with_help(format!("did you mean `{}`?", near.name)).with_suggestion(
                format!("write `{}`", near.name),
                at,
                near.name,
            ));
        }
        return;
    }
    if let Some(near) = suggestions::find_near_match(name, ALIASES.iter().copied())
        && near.sure
        && near.name != name
    {
        let message = format!("`{name}` is not a usual model alias");
        let d = Diagnostic::new_warning("unknown-provider", reader.location_of(model.span), message);
        let near = NearMatch { sure: false, ..near };
        reader.report_finding(fix_spelling(
            d.with_help(format!("did you mean `{}`?", near.name)),
            reader.location_of(model.span),
            model,
            near,
        ));
    }
}

/// Aliases in the examples of the format.
const ALIASES: &[&str] = &["default", "smart", "fast", "judge", "cheap", "local"];

/// `security`: without a container, only the time limit has an effect.
fn read_security(reader: &ManifestReader<'_>, node: &YamlNode) -> Option<(u64, Span)> {
    let mut security = reader.read_mapping(node, "security")?;
    unsupported_parts::check_security(&mut security);
    let mut deadline = None;
    if let Some(mut resources) = security.read_mapping("resources") {
        unsupported_parts::check_resource_amounts(&mut resources, true);
        let ms = match resources.take("timeout") {
            Some(e) if matches!(e.value.as_scalar(), Some((trefoil_syntax::yaml::YamlScalar::Int(_), _))) => {
                duration::read_seconds(&mut resources, "timeout")
            }
            Some(e) => duration::read_duration(reader, &e.value, "timeout"),
            None => None,
        };
        if let Some(ms) = ms
            && let Some(entry) = resources.peek_entry("timeout")
        {
            deadline = Some((ms, entry.value.span));
        }
        resources.finish_mapping();
    }
    security.finish_mapping();
    deadline
}

/// The part of `security` that only a container would need: all of it, or all except the time limit; `None` if there is
/// no such part.
fn in_security(entry: &YamlEntry) -> Option<&'static str> {
    let all = Some("`security`");
    let Some(security) = entry.value.as_mapping() else { return all };
    let Some(resources) = security.get("resources") else { return all };
    let Some(resources) = resources.value.as_mapping() else { return all };
    if resources.get("timeout").is_none() {
        return all;
    }
    let has_others = security.entries.len() > 1 || resources.entries.len() > 1;
    if has_others { Some("`security` (except `timeout`)") } else { None }
}

/// A handler that is not required is skipped with a warning. One whose failure would fail the run is refused.
pub fn output_handler(
    reader: &ManifestReader<'_>,
    node: &YamlNode,
    span: Span,
    templates: &mut Vec<YamlText>,
) -> Option<RefusedFeature> {
    let mut handler = reader.read_mapping(node, "output_handler")?;
    let kinds = [("agent", "agent"), ("webhook", "webhook"), ("container", "container"), ("mcp_tool", "mcp_tool")];
    let kind = handler.require_word("type", &kinds);
    let required = handler.read_boolean("required") == Some(true);
    if let Some(kind) = kind {
        templates.extend(unsupported_parts::output_handler(&mut handler, kind));
        if matches!(kind, "agent" | "webhook") { handler.finish_mapping() } else { handler.report_misspelt() }
    }
    if required {
        return Some(RefusedFeature::report_feature(
            reader,
            span,
            "a required `output_handler`",
            "results are not sent anywhere",
        ));
    }
    reader.report_warning("no-effect", span, "`output_handler` has no effect: the result is returned to the caller");
    None
}

fn read_context(reader: &ManifestReader<'_>, node: &YamlNode) -> Vec<ContextEntry> {
    let mut entries = Vec::new();
    for item in reader.read_list(node, "context").unwrap_or_default() {
        let Some(mut fields) = reader.read_mapping(item, "a context entry") else { continue };
        fields.read_text("description");
        let Some(kind) = fields.require_entry("type") else { continue };
        let words = [("text", 0), ("file", 1), ("directory", 2), ("url", 3)];
        match reader.read_word(&kind.value, "type", &words) {
            Some(0) => {
                if let Some(text) = fields.require_text("content") {
                    entries.push(ContextEntry::Text(text.clone()));
                }
            }
            Some(1) => {
                if let Some(path) = fields.require_text("path") {
                    entries.push(ContextEntry::File(path.clone()));
                }
            }
            Some(sort) => {
                let directory = sort == 2;
                fields.require_text(if directory { "path" } else { "url" });
                reader.report_finding(
                    Diagnostic::new_warning(
                        "no-effect",
                        reader.location_of(kind.value.span),
                        "directories and URLs in `context` are not read",
                    )
                    .with_help("list the files one by one, or pass one text with `--context FILE`"),
                );
            }
            None => continue,
        }
        fields.finish_mapping();
    }
    entries
}

/// The files that an agent's context needs. Reports nothing.
pub fn needed_files(root: &YamlNode, file: trefoil_syntax::FileId) -> Vec<NeededFile> {
    let context = || root.as_mapping()?.get("spec")?.value.as_mapping()?.get("context")?.value.as_sequence();
    let mut needs = Vec::new();
    for item in context().unwrap_or_default() {
        let Some(fields) = item.as_mapping() else { continue };
        let Some(kind) = fields.get("type").and_then(|entry| entry.value.as_string()) else { continue };
        if &*kind.value != "file" {
            continue;
        }
        if let Some(path) = fields.get("path").and_then(|entry| entry.value.as_string()) {
            let location = Location::new(file, path.span);
            needs.push(NeededFile { kind: NeededFileKind::Attachment, path: path.value.to_string(), location });
        }
    }
    needs
}
