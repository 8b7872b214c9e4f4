//! Manifests as written: structs over the spanned tree. Every key is checked; nothing is resolved.
//!
//! Mistakes inside one manifest are reported here. Those that need other manifests or names are found after binding.

mod auth;
mod examples;
mod extra_keys;
mod hosted_kinds;
pub mod http;
mod llm;
mod model;
mod model_call;
mod model_names;
mod pipeline;
mod texts;
mod tool;
mod tools;

use trefoil_syntax::yaml::{YamlNode, YamlText};
use trefoil_syntax::{Diagnostic, Span};

pub use examples::AgntzExample;
pub use hosted_kinds::HostedAgent;
pub use http::HttpToolRequest;
pub use llm::{AgntzRefusal, LlmAgent, LlmTool, McpTool};
pub use model::AgntzModel;
pub use pipeline::{OutputMap, PipelineManifest, PipelineStep, StepTarget};
pub use texts::TemplateTree;
pub use tool::{ToolAgent, ToolInvocation};

use crate::agntz::schema::{self, AgntzSchema};
use crate::yaml_reader::{ManifestReader, MappingReader};

/// An agent of any kind.
pub struct AgntzAgentManifest<'n> {
    /// Its id; `None`: reported.
    pub id: Option<&'n YamlText>,
    /// The span for findings about the agent as a whole: its first key.
    pub head: Span,
    /// The span of the whole agent.
    pub span: Span,
    /// The state key of its output, if it is written in a step.
    pub state_key: Option<&'n YamlText>,
    /// The input contract.
    pub input: Option<AgntzSchema<'n>>,
    /// The timeout of one activation in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Where that is.
    pub timeout_at: Option<Span>,
    /// The token limit of one activation.
    pub token_budget: Option<u64>,
    /// The limit of model calls in one activation, including those of called agents.
    pub max_turns: Option<u64>,
    /// Where that is.
    pub max_turns_at: Option<Span>,
    /// Its description for models that have it as a tool.
    pub description: Option<&'n YamlText>,
    /// Its kind.
    pub kind: AgntzAgentKind<'n>,
}

impl AgntzAgentManifest<'_> {
    /// The id as written, or a placeholder if it is missing.
    pub fn name(&self) -> &str {
        match self.id {
            Some(id) => &id.value,
            None => "agent",
        }
    }
}

/// The kinds of agent.
pub enum AgntzAgentKind<'n> {
    /// One model call.
    Llm(Box<LlmAgent<'n>>),
    /// One tool call.
    Tool(Box<ToolAgent<'n>>),
    /// Steps in order, possibly repeated.
    Sequential(PipelineManifest<'n>),
    /// Concurrent branches.
    Parallel(PipelineManifest<'n>),
    /// A kind of the hosted product; refused.
    Hosted(HostedAgent<'n>),
    /// No kind or an unknown one; reported.
    Unknown,
}

/// Where an agent is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentPlace {
    /// In its own file.
    File,
    /// Under a step's `agent`.
    Step,
    /// Under `spawnable`.
    Spawnable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KindWord {
    Llm,
    Tool,
    Sequential,
    Parallel,
    Transcription,
    Image,
}

/// The kinds as written in manifests.
pub const KINDS: [&str; 6] = ["llm", "tool", "sequential", "parallel", "transcription", "image"];

const WORDS: [(&str, KindWord); 6] = [
    (KINDS[0], KindWord::Llm),
    (KINDS[1], KindWord::Tool),
    (KINDS[2], KindWord::Sequential),
    (KINDS[3], KindWord::Parallel),
    (KINDS[4], KindWord::Transcription),
    (KINDS[5], KindWord::Image),
];

/// Keys that only some kinds have. In other kinds they have no effect.
const KIND_KEYS: &[(&str, &[KindWord])] = &[
    ("model", &[KindWord::Llm, KindWord::Transcription, KindWord::Image]),
    ("instruction", &[KindWord::Llm, KindWord::Transcription, KindWord::Image]),
    ("prompt", &[KindWord::Llm, KindWord::Image]),
    ("settings", &[KindWord::Transcription, KindWord::Image]),
    ("examples", &[KindWord::Llm]),
    ("tools", &[KindWord::Llm]),
    ("outputSchema", &[KindWord::Llm]),
    ("spawnable", &[KindWord::Llm]),
    ("skills", &[KindWord::Llm]),
    ("reply", &[KindWord::Llm]),
    ("resources", &[KindWord::Llm]),
    ("tool", &[KindWord::Tool]),
    ("steps", &[KindWord::Sequential]),
    ("until", &[KindWord::Sequential]),
    ("maxIterations", &[KindWord::Sequential]),
    ("branches", &[KindWord::Parallel]),
    ("output", &[KindWord::Sequential, KindWord::Parallel]),
];

/// Reads an agent; `None` if the node is not a mapping.
pub fn read_agent<'n>(
    reader: &ManifestReader<'_>,
    node: &'n YamlNode,
    place: AgentPlace,
) -> Option<AgntzAgentManifest<'n>> {
    if node.as_mapping().is_none() {
        let message = format!("an agent must be a mapping, not {}", node.kind_description());
        reader.report_error("wrong-type", node.span, message);
        return None;
    }
    let mut fields = reader.read_mapping(node, "an agent")?;
    let head = fields.head_span();
    let id = texts::non_empty_text(reader, fields.require_text("id"), "id");
    fields.read_text("name");
    let description = fields.read_text("description");
    if let Some(entry) = fields.take("$schema")
        && entry.value.as_mapping().is_some()
    {
        let message = "`$schema` has no effect: only editors use it";
        let d = Diagnostic::new_warning("no-effect", reader.location_of(entry.key.span), message);
        reader.report_finding(d.with_help("declare inputs in `inputSchema` and outputs in `outputSchema`"));
    }
    let state_key = texts::non_empty_text(reader, fields.read_text("stateKey"), "stateKey");
    if place == AgentPlace::File {
        fields.no_effect(&["stateKey"], "it works only on a step, or on an agent inside a step");
    }
    let input = fields.take("inputSchema").map(|e| schema::read_schema(reader, e));
    let timeout_ms = positive(&mut fields, "timeoutMs");
    let timeout_at = value_span(&fields, "timeoutMs");
    let token_budget = positive(&mut fields, "tokenBudget");
    let max_turns = positive(&mut fields, "maxSteps");
    let max_turns_at = value_span(&fields, "maxSteps");
    extra_keys::read_retention(&mut fields);
    fields.no_effect(&["defaultDataset"], "batch runs are not supported yet; the agent runs on its own input");
    if place == AgentPlace::Step {
        fields.mark_misplaced(&["input", "when", "ref"], "on the step, next to `agent`");
    } else {
        fields.mark_misplaced(&["input", "when", "ref"], "on a step of a pipeline");
    }
    let kind = kind(&mut fields);
    fields.also_called(match kind {
        Some(KindWord::Sequential | KindWord::Parallel) => OF_PIPELINE,
        _ => OF_MODEL,
    });
    if !matches!(kind, Some(KindWord::Sequential | KindWord::Parallel | KindWord::Tool)) {
        fields.set_foreign_keys(ELSEWHERE);
    }
    let other = of_other_kinds(&mut fields, kind);
    let kind = match other.or(kind) {
        Some(KindWord::Llm) => AgntzAgentKind::Llm(Box::new(model_call::read_llm(&mut fields, id))),
        Some(KindWord::Tool) => AgntzAgentKind::Tool(Box::new(tool::read_tool(&mut fields))),
        Some(KindWord::Sequential) => AgntzAgentKind::Sequential(pipeline::read_sequential(&mut fields)),
        Some(KindWord::Parallel) => AgntzAgentKind::Parallel(pipeline::read_parallel(&mut fields)),
        Some(KindWord::Transcription) => AgntzAgentKind::Hosted(hosted_kinds::read_transcription(&mut fields)),
        Some(KindWord::Image) => AgntzAgentKind::Hosted(hosted_kinds::read_image(&mut fields)),
        None => AgntzAgentKind::Unknown,
    };
    fields.finish_mapping();
    Some(AgntzAgentManifest {
        id,
        head,
        span: node.span,
        state_key,
        input,
        timeout_ms,
        timeout_at,
        token_budget,
        max_turns,
        max_turns_at,
        description,
        kind,
    })
}

/// Reports keys that only other kinds of agents have. Returns the intended kind, if they show that it is another one.
fn of_other_kinds(fields: &mut MappingReader<'_, '_>, kind: Option<KindWord>) -> Option<KindWord> {
    let why = match kind {
        Some(KindWord::Llm) | None => "an agent without tools makes one model call",
        Some(_) => "it is a key of `kind: llm`",
    };
    let offers_tools = fields.peek_entry("tools").is_some() || fields.peek_entry("spawnable").is_some();
    if kind != Some(KindWord::Llm) || !offers_tools {
        fields.no_effect(&["maxSteps"], why);
    }
    let other = match kind {
        Some(word) => misplaced_kind(fields, word),
        None => None,
    };
    if let (Some(word), None) = (kind, other) {
        for (key, kinds) in KIND_KEYS {
            if !kinds.contains(&word) && fields.peek_entry(key).is_some() {
                fields.no_effect(&[key], &format!("it is a key of {}", spoken(kinds)));
            }
        }
    } else {
        for (key, _) in KIND_KEYS {
            fields.take_nullable(key);
        }
    }
    other
}

/// Wrong names for the keys of a pipeline, from other systems.
const OF_PIPELINE: &[(&str, &str)] = &[
    ("type", "kind"),
    ("inputs", "inputSchema"),
    ("schema", "inputSchema"),
    ("parameters", "inputSchema"),
    ("while", "until"),
    ("repeatUntil", "until"),
    ("repeat_until", "until"),
    ("maxLoops", "maxIterations"),
    ("max_loops", "maxIterations"),
    ("maxRounds", "maxIterations"),
];

/// Wrong names for the keys of an agent that calls a model, from other systems.
const OF_MODEL: &[(&str, &str)] = &[
    ("type", "kind"),
    ("inputs", "inputSchema"),
    ("parameters", "inputSchema"),
    ("outputs", "outputSchema"),
    ("response_format", "outputSchema"),
    ("responseFormat", "outputSchema"),
    ("schema", "inputSchema"),
    ("schema", "outputSchema"),
    ("user", "prompt"),
    ("user_prompt", "prompt"),
    ("userPrompt", "prompt"),
    ("system", "instruction"),
    ("system_prompt", "instruction"),
    ("systemPrompt", "instruction"),
];

/// Keys of `model` that are written next to it.
const ELSEWHERE: &[(&str, &str)] = &[
    ("timeout", "here as `timeoutMs`, in milliseconds"),
    ("timeout_seconds", "here as `timeoutMs`, in milliseconds"),
    ("timeoutSeconds", "here as `timeoutMs`, in milliseconds"),
    ("timeout_ms", "here as `timeoutMs`"),
    ("temperature", "under `model`"),
    ("maxTokens", "under `model`"),
    ("max_tokens", "under `model`, as `maxTokens`"),
    ("topP", "under `model`"),
    ("top_p", "under `model`, as `topP`"),
    ("provider", "under `model`"),
    ("retry", "under `model`, as `maxRetries`"),
    ("retries", "under `model`, as `maxRetries`"),
];

/// The main key of each kind. If it is present, it shows the kind.
const SUBSTANCE: [(&str, KindWord); 4] = [
    ("steps", KindWord::Sequential),
    ("branches", KindWord::Parallel),
    ("tool", KindWord::Tool),
    ("instruction", KindWord::Llm),
];

/// If an agent has nothing of its own kind and everything of another one, returns the kind as which it is read, so that
/// only this mistake is reported.
fn misplaced_kind(fields: &mut MappingReader<'_, '_>, word: KindWord) -> Option<KindWord> {
    let reader = fields.reader;
    let written = |key: &str| fields.peek_entry(key);
    let (own, _) = SUBSTANCE.iter().find(|(_, w)| *w == word)?;
    if written(own).is_some() {
        return None;
    }
    let mut others = Vec::new();
    for (key, other) in &SUBSTANCE {
        if let Some(entry) = written(key) {
            others.push((entry, *other));
        }
    }
    let [(entry, other)] = *others.as_slice() else { return None };
    let pipelines = is_pipeline(word) && is_pipeline(other);
    let has_own_keys = KIND_KEYS.iter().any(|(key, kinds)| *kinds == [word] && written(key).is_some());
    if !pipelines && has_own_keys {
        return None;
    }
    let at = written("kind")?.value.span;
    let (key, name, kind) = (&entry.key.value, kind_name(other), kind_name(word));
    let d = Diagnostic::new_error(
        "missing-key",
        reader.location_of(at),
        format!("`kind: {kind}` needs `{own}`, but this has `{key}`"),
    )
    .with_label(reader.location_of(entry.key.span), format!("only for `kind: {name}`"))
    .with_help(format!("write `kind: {name}`, or `{own}` instead of `{key}`"));
    reader.report_finding(d.with_suggestion(format!("write `{name}`"), reader.location_of(at), name));
    reader.report_warning("no-effect", entry.key.span, format!("`{key}` has no effect: it is a key of `kind: {name}`"));
    // In a sequence, all names of a parallel pipeline are available, and more.
    Some(if pipelines { KindWord::Sequential } else { other })
}

fn is_pipeline(word: KindWord) -> bool {
    matches!(word, KindWord::Sequential | KindWord::Parallel)
}

fn kind_name(word: KindWord) -> &'static str {
    match WORDS.iter().find(|(_, known)| *known == word) {
        Some((name, _)) => name,
        None => "",
    }
}

fn kind(fields: &mut MappingReader<'_, '_>) -> Option<KindWord> {
    if fields.take("kind").is_some() {
        return fields.read_word("kind", &WORDS);
    }
    let span = match fields.peek_entry("kind") {
        Some(entry) => entry.key.span,
        None => fields.head_span(),
    };
    let at = fields.reader.location_of(span);
    let words = KINDS.map(|k| format!("`{k}`")).join(", ");
    fields.reader.report_finding(
        Diagnostic::new_error("missing-key", at, "an agent needs `kind`").with_help(format!("available: {words}")),
    );
    None
}

fn positive(fields: &mut MappingReader<'_, '_>, key: &'static str) -> Option<u64> {
    fields.read_integer(key, 1..=i64::MAX).map(i64::unsigned_abs)
}

fn value_span(fields: &MappingReader<'_, '_>, key: &str) -> Option<Span> {
    Some(fields.peek_entry(key)?.value.span)
}

fn spoken(kinds: &[KindWord]) -> String {
    let mut names = Vec::new();
    for (name, word) in &WORDS {
        if kinds.contains(word) {
            names.push(format!("`kind: {name}`"));
        }
    }
    names.join(" and ")
}
