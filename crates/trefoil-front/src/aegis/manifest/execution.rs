//! `execution` of an agent: iterations, their limits and the validators.

use std::sync::Arc;

use trefoil_ir::ConsensusStrategy;
use trefoil_ir::pattern::LinearPattern;
use trefoil_syntax::yaml::{YamlNode, YamlNodeKind, YamlText};
use trefoil_syntax::{Diagnostic, Span};
use trefoil_template::Value;

use super::consensus::{self, STRATEGIES};
use super::schema::{self, JsonSchema};
use super::unsupported_parts::{self, UnsupportedValueType};
use super::{RefusedFeature, duration, key_synonyms, require_filled_text, take_spelled, text_list};
use crate::{ManifestReader, MappingReader};

/// How an agent runs.
pub struct AgentExecution {
    /// The maximum number of iterations (by default 1 for `one-shot` and 10 for `iterative`).
    pub max_iterations: u32,
    /// The timeout of one iteration in milliseconds.
    pub iteration_timeout_ms: u64,
    /// Where that is written.
    pub iteration_timeout_at: Option<Span>,
    /// The timeout of one model call in milliseconds.
    pub llm_timeout_ms: u64,
    /// Where that is written.
    pub llm_timeout_at: Option<Span>,
    /// The validators, in order.
    pub validation: Vec<ValidatorSpec>,
    /// The validators that run before each tool call, in order.
    pub tool_validation: Vec<ValidatorSpec>,
    /// Where they are declared, if they are.
    pub tool_validation_at: Option<Span>,
    /// Where `require_tool_call: true` is written.
    pub needs_call_at: Option<Span>,
    /// The maximum number of tool calls in one iteration.
    pub max_calls: u32,
    /// Where that is written.
    pub max_calls_at: Option<Span>,
    /// Unsupported features that it declares.
    pub refused: Vec<RefusedFeature>,
}

impl Default for AgentExecution {
    fn default() -> Self {
        Self {
            max_iterations: 1,
            iteration_timeout_ms: 600_000,
            iteration_timeout_at: None,
            llm_timeout_ms: 300_000,
            llm_timeout_at: None,
            validation: Vec::new(),
            tool_validation: Vec::new(),
            tool_validation_at: None,
            needs_call_at: None,
            max_calls: 50,
            max_calls_at: None,
            refused: Vec::new(),
        }
    }
}

/// A validator as written.
pub struct ValidatorSpec {
    /// Its kind and the data for it.
    pub kind: ValidatorKindSpec,
    /// The minimum score, 0 to 1.
    pub min_score: f64,
    /// The minimum confidence, 0 to 1.
    pub min_confidence: f64,
    /// Where it is written.
    pub span: Span,
    /// Its `type`, or a word for it.
    pub name: &'static str,
}

/// The kinds of validator.
pub enum ValidatorKindSpec {
    /// `exit_code`.
    ExitCode(i64),
    /// `json_schema`.
    JsonSchema(JsonSchema),
    /// `regex`.
    Regex {
        /// The pattern. It was compiled once to check it.
        pattern: Arc<str>,
        /// `target: stderr`.
        stderr: bool,
    },
    /// `semantic` and `multi_judge`.
    Judges {
        /// The judges, as names of agents.
        judges: Vec<YamlText>,
        /// The criteria for the judges.
        criteria: YamlText,
        /// How their verdicts are combined.
        strategy: ConsensusStrategy,
        /// The minimum number of verdicts; with fewer, the validator fails.
        min_judges: u32,
        /// The timeout of each judge in milliseconds, and where it is written.
        timeout: (u64, Option<Span>),
        /// Whether a judge gets the whole record as an object (`semantic`).
        semantic: bool,
    },
}

/// Reads `execution`.
pub fn read_execution(reader: &ManifestReader<'_>, fields: &mut MappingReader<'_, '_>) -> AgentExecution {
    let mut execution = AgentExecution::default();
    fields.also_called(key_synonyms::EXECUTION);
    fields.set_deciding_keys(&[("validation", "no answer is checked")]);
    fields.set_foreign_keys(key_synonyms::NOT_EXECUTION);
    if let Some(max) = read_max_iterations(reader, fields) {
        execution.max_iterations = max;
    }
    if let Some(entry) = fields.take("iteration_timeout")
        && let Some(ms) = duration::read_duration(reader, &entry.value, "iteration_timeout")
    {
        execution.iteration_timeout_ms = ms;
        execution.iteration_timeout_at = Some(entry.value.span);
    }
    if let Some(ms) = duration::read_seconds(fields, "llm_timeout_seconds") {
        execution.llm_timeout_ms = ms;
        execution.llm_timeout_at = fields.peek_entry("llm_timeout_seconds").map(|e| e.value.span);
    }
    if let Some(entry) = fields.take("validation") {
        execution.validation = match &*entry.value.kind {
            YamlNodeKind::Mapping(_) => read_object_form(reader, &entry.value),
            _ => {
                let items = reader.read_list(&entry.value, "validation").unwrap_or_default();
                items.iter().filter_map(|item| read_validator(reader, item)).collect()
            }
        };
    }
    if let Some(entry) = fields.take("tool_validation") {
        let items = reader.read_list(&entry.value, "tool_validation").unwrap_or_default();
        execution.tool_validation = items.iter().filter_map(|item| read_validator(reader, item)).collect();
        if !items.is_empty() {
            execution.tool_validation_at = Some(entry.key.span);
        }
    }
    if let Some(entry) = fields.take("require_tool_call")
        && reader.read_boolean(&entry.value, "require_tool_call") == Some(true)
    {
        execution.needs_call_at = Some(entry.key.span);
    }
    if let Some(max) = fields.read_integer("max_tool_calls", 1..=i64::from(u32::MAX)) {
        execution.max_calls = u32::try_from(max).unwrap_or(u32::MAX);
        execution.max_calls_at = fields.peek_entry("max_tool_calls").map(|e| e.value.span);
    }
    // Both decide whether an iteration succeeds, so it must not succeed without them.
    for key in ["done_when", "outputs"] {
        if let Some(entry) = fields.take(key) {
            let feature = format!("`{key}`");
            execution.refused.push(RefusedFeature::report_feature(
                reader,
                entry.key.span,
                &feature,
                "the agent has no files",
            ));
        }
    }
    if let Some(entry) = fields.take("memory")
        && reader.read_boolean(&entry.value, "memory") == Some(true)
    {
        reader.report_warning("no-effect", entry.key.span, "`memory` has no effect: nothing is kept between runs");
    }
    if let Some(entry) = fields.take("delivery") {
        unsupported_parts::check_delivery(reader, &entry.value);
    }
    fields.no_effect(&["delivery"], "the result is returned to the caller");
    execution
}

/// Reads `mode` and `max_iterations`. `None` if neither sets the maximum.
fn read_max_iterations(reader: &ManifestReader<'_>, fields: &mut MappingReader<'_, '_>) -> Option<u32> {
    let is_iterative = fields.read_word("mode", &[("one-shot", false), ("iterative", true)]);
    let by_mode = if is_iterative == Some(true) { Some(10) } else { None };
    let Some(entry) = take_spelled(fields, "max_iterations", "max_retries") else { return by_mode };
    let Some(max) = reader.read_integer(&entry.value, &entry.key.value, 1..=255) else { return by_mode };
    if let Some(mode) = fields.peek_entry("mode")
        && is_iterative == Some(false)
        && max > 1
    {
        let message = format!("`one-shot` has no effect: `{}` is {max}", entry.key.value);
        let finding = Diagnostic::new_warning("no-effect", reader.location_of(mode.value.span), message)
            .with_label(reader.location_of(entry.key.span), "this decides")
            .with_help("remove one of them");
        reader.report_finding(finding);
    }
    Some(u32::try_from(max).unwrap_or(1))
}

fn read_validator(reader: &ManifestReader<'_>, node: &YamlNode) -> Option<ValidatorSpec> {
    let mut fields = reader.read_mapping(node, "a validator")?;
    fields.also_called(key_synonyms::VALIDATOR);
    fields.set_key_forms(key_synonyms::LISTS_OF_VALIDATOR, key_synonyms::SCALARS_OF_VALIDATOR);
    let entry = fields.require_entry("type")?;
    let names = [
        ("exit_code", "exit_code"),
        ("json_schema", "json_schema"),
        ("regex", "regex"),
        ("semantic", "semantic"),
        ("multi_judge", "multi_judge"),
    ];
    let name = reader.read_word(&entry.value, "type", &names)?;
    let judged = matches!(name, "semantic" | "multi_judge");
    let min_score = fields.read_number("min_score", 0.0..=1.0).unwrap_or(if judged { 0.7 } else { 1.0 });
    let min_confidence = if judged { fields.read_number("min_confidence", 0.0..=1.0).unwrap_or(0.0) } else { 0.0 };
    let kind = match name {
        "exit_code" => {
            Some(ValidatorKindSpec::ExitCode(fields.read_integer("expected", i64::MIN..=i64::MAX).unwrap_or(0)))
        }
        "json_schema" => {
            let schema = fields.require_entry("schema");
            let schema = schema.and_then(|entry| schema::read_json_schema(reader, &entry.value, "schema"));
            schema.map(ValidatorKindSpec::JsonSchema)
        }
        "regex" => read_regex(reader, &mut fields, min_score),
        "semantic" => read_semantic(&mut fields),
        _ => read_multi_judge(reader, &mut fields),
    };
    fields.finish_mapping();
    Some(ValidatorSpec { kind: kind?, min_score, min_confidence, span: node.span, name })
}

fn read_regex(
    reader: &ManifestReader<'_>,
    fields: &mut MappingReader<'_, '_>,
    min_score: f64,
) -> Option<ValidatorKindSpec> {
    let pattern = require_filled_text(fields, "pattern");
    let stderr = fields.read_word("target", &[("stdout", false), ("stderr", true)]).unwrap_or(false);
    let pattern = pattern?;
    let made = LinearPattern::new(&pattern.value);
    if let (Ok(regex), true) = (&made, min_score > 0.0) {
        report_vain(reader, pattern, regex, stderr);
    }
    if let Err(error) = made {
        let message = error.to_string();
        let last = message.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned();
        reader.report_error(
            "invalid-regex",
            pattern.span,
            format!("`pattern` is not a valid regular expression: {last}"),
        );
        return None;
    }
    Some(ValidatorKindSpec::Regex { pattern: pattern.value.clone(), stderr })
}

/// Reports a pattern that can never match.
fn report_vain(reader: &ManifestReader<'_>, pattern: &YamlText, regex: &LinearPattern, stderr: bool) {
    let text = pattern.value.trim();
    let flags = text.rsplit('/').next().unwrap_or_default();
    let slashes = text.starts_with("/^") && text.len() > flags.len() + 2 && flags.chars().all(|c| "gimsuy".contains(c));
    let (message, help) = if stderr && !regex.is_match("") {
        ("`pattern` never matches: a model call has no stderr", "write `target: stdout` to match the agent's answer")
    } else if slashes {
        (
            "`pattern` never matches: its slashes are literal, and `^` cannot follow one",
            "remove the slashes; write flags at the start, as in `(?i)`",
        )
    } else if text.starts_with("$^") && !regex.is_match("") {
        ("`pattern` never matches: `^` follows `$`", "`^` is the start, `$` is the end")
    } else {
        return;
    };
    reader.report_finding(
        Diagnostic::new_warning("invalid-regex", reader.location_of(pattern.span), message).with_help(help),
    );
}

fn read_semantic(fields: &mut MappingReader<'_, '_>) -> Option<ValidatorKindSpec> {
    let judge = require_filled_text(fields, "judge_agent").cloned();
    let criteria = require_filled_text(fields, "criteria").cloned();
    let timeout = judge_timeout(fields);
    Some(ValidatorKindSpec::Judges {
        judges: vec![judge?],
        criteria: criteria?,
        strategy: ConsensusStrategy::WeightedAverage,
        min_judges: 1,
        timeout,
        semantic: true,
    })
}

/// The time limit of a judge: five minutes, if none is written.
fn judge_timeout(fields: &mut MappingReader<'_, '_>) -> (u64, Option<Span>) {
    match (duration::read_seconds(fields, "timeout_seconds"), fields.peek_entry("timeout_seconds")) {
        (Some(ms), Some(entry)) => (ms, Some(entry.value.span)),
        _ => (300_000, None),
    }
}

fn read_multi_judge(reader: &ManifestReader<'_>, fields: &mut MappingReader<'_, '_>) -> Option<ValidatorKindSpec> {
    let mut judges = Vec::new();
    if let Some(entry) = fields.require_entry("judges") {
        judges = text_list(reader, &entry.value, "judges");
        if judges.is_empty() {
            reader.report_error("missing-key", entry.value.span, "`judges` is empty");
        }
    }
    let criteria = require_filled_text(fields, "criteria").cloned();
    let strategy = fields.read_word("consensus", STRATEGIES).unwrap_or(ConsensusStrategy::WeightedAverage);
    let min_judges = consensus::min_judges(fields, judges.len(), "judges").unwrap_or(1);
    let timeout = judge_timeout(fields);
    Some(ValidatorKindSpec::Judges { judges, criteria: criteria?, strategy, min_judges, timeout, semantic: false })
}

/// The keys of `semantic` in the older form.
const OLD_SEMANTIC: &[unsupported_parts::UnsupportedKey] = &[
    ("enabled", UnsupportedValueType::Flag, false),
    ("threshold", UnsupportedValueType::Share, false),
    ("prompt", UnsupportedValueType::Text, false),
    ("criteria", UnsupportedValueType::Any, false),
    ("judge_agent", UnsupportedValueType::Text, false),
    ("model", UnsupportedValueType::Text, false),
];
const FORMATS: &[(&str, bool)] = &[("json", true), ("text", false)];

/// Reads the older form, an object with `system`, `output` and `semantic`. Only the exit code and the output format are
/// used.
fn read_object_form(reader: &ManifestReader<'_>, node: &YamlNode) -> Vec<ValidatorSpec> {
    let mut validators = Vec::new();
    // One entry of the newer form, but not in a list.
    if let Some(mapping) = node.as_mapping()
        && mapping.get("type").is_some()
    {
        reader.wrong_type(node, "validation", "a list");
        return validators;
    }
    let Some(mut fields) = reader.read_mapping(node, "validation") else { return validators };
    reader.report_finding(
        Diagnostic::new_warning(
            "deprecated",
            reader.location_of(fields.head_span()),
            "`validation` as a mapping is an old spelling",
        )
        .with_help("write a list of validators, each with a `type`"),
    );
    let spec = |kind, span, name| ValidatorSpec { kind, min_score: 1.0, min_confidence: 0.0, span, name };
    if let Some(mut system) = fields.read_mapping("system") {
        if system.read_boolean("must_succeed") != Some(false) {
            validators.push(spec(ValidatorKindSpec::ExitCode(0), system.span, "exit_code"));
        }
        system.no_effect(&["allow_stderr"], "a model call has no stderr");
        system.no_effect(&["timeout_seconds"], "`execution.iteration_timeout` limits an iteration");
        system.finish_mapping();
    }
    if let Some(mut output) = fields.read_mapping("output") {
        let format = output.take("format");
        let is_json = matches!(format, Some(entry) if reader.read_word(&entry.value, "format", FORMATS) == Some(true));
        let schema = match (output.take("schema"), format) {
            (Some(entry), _) => schema::read_json_schema(reader, &entry.value, "schema"),
            // Any JSON.
            (None, Some(entry)) if is_json => Some(JsonSchema::new(Value::Object(Arc::default()), entry.value.clone())),
            _ => None,
        };
        if let Some(schema) = schema {
            let at = schema.node.span;
            validators.push(spec(ValidatorKindSpec::JsonSchema(schema), at, "json_schema"));
        }
        output.no_effect(&["schema_path", "target_path"], "files of a container are not read");
        output.finish_mapping();
    }
    for key in ["semantic", "script"] {
        if let Some(entry) = fields.take(key) {
            if key == "semantic"
                && let Some(mut old) = reader.read_mapping(&entry.value, key)
            {
                unsupported_parts::check_keys(&mut old, OLD_SEMANTIC);
                old.report_misspelt();
            }
            reader.report_finding(
                Diagnostic::new_warning(
                    "no-effect",
                    reader.location_of(entry.key.span),
                    format!("`{key}` has no effect here"),
                )
                .with_help("write a list entry with `type: semantic`, `judge_agent` and `criteria`"),
            );
        }
    }
    fields.finish_mapping();
    validators
}
