//! `kind: sequential` and `kind: parallel`: steps, loop, output map.

use std::borrow::Cow;
use std::sync::Arc;

use trefoil_syntax::hash::HashMap;
use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode, YamlScalar, YamlText};
use trefoil_syntax::{Diagnostic, Span, suggestions};

use super::texts::{entry_span, non_empty_text, value_wanted};
use super::{AgentPlace, AgntzAgentManifest, read_agent};
use crate::agntz::ids::state_key;
use crate::yaml_reader::{ManifestReader, MappingReader};

/// A pipeline.
pub struct PipelineManifest<'n> {
    /// Steps or branches.
    pub steps: Vec<PipelineStep<'n>>,
    /// The condition that ends the loop.
    pub until: Option<&'n YamlText>,
    /// The maximum number of passes; 0 if there is no `until` or the number is wrong (reported).
    pub max_iterations: u32,
    /// The result of the pipeline.
    pub output: Option<OutputMap<'n>>,
}

/// One step or branch.
pub struct PipelineStep<'n> {
    /// The called agent.
    pub target: StepTarget<'n>,
    /// Its input; `None`: no explicit input.
    pub input: Option<Vec<(&'n YamlText, &'n YamlText)>>,
    /// The names in the input, including those with an invalid value (reported) and those of a misspelt `input`.
    pub given: Option<Vec<&'n YamlText>>,
    /// Whether `input` is misspelt or not a mapping (reported), so that what the agent receives is unknown.
    pub unclear: bool,
    /// The texts of an input that has another name, or is in the agent: no step gets them, but they show what was meant.
    pub misplaced_input: Vec<&'n YamlText>,
    /// A condition that is in the agent.
    pub misplaced_when: Option<&'n YamlText>,
    /// The place of the `input` key, or of the step.
    pub input_span: Span,
    /// The state key of its output.
    pub state_key: Option<&'n YamlText>,
    /// The condition; if false, the step is skipped.
    pub when: Option<&'n YamlText>,
    /// The span of the `ref` or `agent` entry.
    pub span: Span,
    /// The span of the whole step.
    pub whole: Span,
}

impl<'n> PipelineStep<'n> {
    /// The text that sets the state key of its output, if there is one.
    pub fn chosen_key(&self) -> Option<&'n YamlText> {
        let inline = match &self.target {
            StepTarget::Inline(agent) => agent.state_key,
            StepTarget::Ref(_) | StepTarget::Nobody => None,
        };
        self.state_key.or(inline)
    }
}

/// The agent that a step calls.
pub enum StepTarget<'n> {
    /// Another manifest, by id.
    Ref(&'n YamlText),
    /// An agent written in the step.
    Inline(Arc<AgntzAgentManifest<'n>>),
    /// Neither; reported.
    Nobody,
}

/// An output map: templates at the leaves.
pub enum OutputMap<'n> {
    /// A template.
    Text(&'n YamlText),
    /// A map of outputs.
    Map(Vec<(&'n YamlText, OutputMap<'n>)>),
}

/// Reads the keys of a sequential agent.
pub fn read_sequential<'n>(fields: &mut MappingReader<'n, '_>) -> PipelineManifest<'n> {
    let mistaken = fields.peek_entry("steps").is_none() && fields.peek_entry("branches").is_some();
    let steps = steps(fields, if mistaken { "branches" } else { "steps" }, "step");
    let until_entry = fields.take("until");
    let until = condition(fields.reader, until_entry, "until");
    let max = fields.read_integer("maxIterations", 1..=i64::from(u32::MAX));
    let reader = fields.reader;
    match (until_entry, fields.take("maxIterations")) {
        (Some(until), None) => {
            let d = Diagnostic::new_error(
                "missing-key",
                reader.location_of(until.key.span),
                "a loop needs `maxIterations`",
            );
            let d = d.with_help("`until` repeats the steps; limit them, for example with `maxIterations: 5`");
            let at = Span::new(until.key.span.start, until.key.span.start);
            reader.report_finding(match reader.leading_spaces(at) {
                Some(indent) => d.with_suggestion(
                    "add `maxIterations: 10`",
                    reader.location_of(at),
                    format!("maxIterations: 10\n{indent}"),
                ),
                None => d,
            });
        }
        (Some(_), Some(entry)) if max == Some(1) => {
            let message = "with `maxIterations: 1` the steps run once, and the run fails if `until` is still false";
            reader.report_warning("no-effect", entry.value.span, message);
        }
        (None, Some(max)) => {
            let message = "`maxIterations` has no effect: without `until` the steps run once";
            reader.report_warning("no-effect", max.key.span, message);
        }
        _ => {}
    }
    PipelineManifest {
        steps,
        until,
        max_iterations: u32::try_from(max.unwrap_or(0)).unwrap_or(0),
        output: output(fields),
    }
}

/// Reads the keys of a parallel agent.
pub fn read_parallel<'n>(fields: &mut MappingReader<'n, '_>) -> PipelineManifest<'n> {
    PipelineManifest {
        steps: steps(fields, "branches", "branch"),
        until: None,
        max_iterations: 0,
        output: output(fields),
    }
}

fn steps<'n>(fields: &mut MappingReader<'n, '_>, key: &'static str, what: &str) -> Vec<PipelineStep<'n>> {
    let reader = fields.reader;
    let Some(entry) = fields.require_entry(key) else { return Vec::new() };
    let items = reader.read_list(&entry.value, key).unwrap_or_default();
    if items.is_empty() && entry.value.as_sequence().is_some() {
        reader.report_error("wrong-type", entry.key.span, format!("`{key}` needs at least one {what}"));
    }
    let a_what = format!("a {what}");
    let steps: Vec<PipelineStep<'n>> = items.iter().filter_map(|n| step(reader, n, &a_what)).collect();
    repeated_ids(reader, &steps);
    steps
}

/// Reports agents with the same id in several steps, because traces and events could not distinguish them. Agents whose
/// outputs have the same key are reported separately.
fn repeated_ids(reader: &ManifestReader<'_>, steps: &[PipelineStep<'_>]) {
    let mut seen: HashMap<&str, Vec<(Cow<'_, str>, Span)>> = HashMap::default();
    for step in steps {
        let StepTarget::Inline(agent) = &step.target else { continue };
        let Some(id) = agent.id else { continue };
        let key: Cow<'_, str> = match step.chosen_key() {
            Some(text) => Cow::from(&*text.value),
            None => state_key(&id.value).into(),
        };
        let before = seen.entry(&id.value).or_default();
        // An agent shared by two steps through an alias necessarily has the same id.
        if let Some((_, first)) = before.iter().find(|(other, at)| *other != key && *at != id.span) {
            let message = format!("two agents of this pipeline have the id `{}`", id.value);
            let d = Diagnostic::new_warning("duplicate-id", reader.location_of(id.span), message);
            reader.report_finding(
                d.with_label(reader.location_of(*first), "the other one").with_help("rename one of them"),
            );
        }
        before.push((key, id.span));
    }
}

/// The keys of a step other than its `input`.
const STEP: &[&str] = &["ref", "agent", "when", "stateKey", "until", "maxIterations", "retry", "onError"];

/// Wrong names for the keys of a step without a callee, from other systems. A key that names something most likely
/// names the agent.
const OF_CALL: &[(&str, &str)] = &[
    ("agentId", "ref"),
    ("agent_id", "ref"),
    ("uses", "ref"),
    ("use", "ref"),
    ("id", "ref"),
    ("name", "ref"),
    ("if", "when"),
    ("condition", "when"),
    ("with", "input"),
    ("params", "input"),
    ("args", "input"),
    ("arguments", "input"),
    ("outputKey", "stateKey"),
    ("output_key", "stateKey"),
    ("saveAs", "stateKey"),
    ("as", "stateKey"),
    ("id", "stateKey"),
    ("name", "stateKey"),
];

/// The same for a step with a callee, in which no key names the agent.
const OF_STEP: &[(&str, &str)] = OF_CALL.split_at(6).1;

fn step<'n>(reader: &ManifestReader<'_>, node: &'n YamlNode, a_what: &str) -> Option<PipelineStep<'n>> {
    let mut fields = reader.read_mapping(node, a_what)?;
    let reference = fields.take("ref");
    let inline = fields.take("agent");
    fields.set_deciding_keys(&[("when", "the step always runs")]);
    fields.also_called(if reference.or(inline).is_some() { OF_STEP } else { OF_CALL });
    let target = step_target(reader, &fields, (reference, inline), a_what);
    let input_entry = fields.take("input");
    let input = input_entry.map(|e| input(reader, e));
    let intended = IntendedInput::find(&fields, input_entry, inline);
    let when_entry = fields.take("when");
    let when = condition(reader, when_entry, "when");
    let state_key = non_empty_text(reader, fields.read_text("stateKey"), "stateKey");
    fields.no_effect(&["until", "maxIterations"], "a loop is declared on the pipeline, not on a step");
    fields.no_effect(&["retry", "onError"], "a failing step fails its pipeline");
    let span = match reference.or(inline) {
        Some(entry) => entry_span(entry),
        None => fields.head_span(),
    };
    let input_span = match input_entry {
        Some(entry) => entry.key.span,
        None => span,
    };
    fields.finish_mapping();
    Some(PipelineStep {
        target,
        input,
        given: intended.names,
        unclear: intended.unclear,
        misplaced_input: intended.misplaced,
        misplaced_when: agent_entry(inline, "when").and_then(|e| e.value.as_string()),
        input_span,
        state_key,
        when,
        span,
        whole: node.span,
    })
}

/// The agent that the entries of `ref` and `agent` name.
fn step_target<'n>(
    reader: &ManifestReader<'_>,
    fields: &MappingReader<'n, '_>,
    (reference, inline): (Option<&'n YamlEntry>, Option<&'n YamlEntry>),
    a_what: &str,
) -> StepTarget<'n> {
    match (reference, inline) {
        (Some(first), Some(second)) => {
            // The later one is probably too many: often it is a separate step that lost its dash.
            let (first, second) =
                if first.key.span.start < second.key.span.start { (first, second) } else { (second, first) };
            let message = format!("{a_what} cannot have both `ref` and `agent`");
            let d = Diagnostic::new_error("ambiguous-step", reader.location_of(second.key.span), message);
            let d = d.with_help(format!("add `- ` to make it a separate {}", a_what.trim_start_matches("a ")));
            reader.report_finding(
                d.with_label(reader.location_of(first.key.span), format!("`{}` is here", first.key.value)),
            );
            StepTarget::Nobody
        }
        (Some(entry), None) => match reader.read_text(&entry.value, "ref") {
            Some(text) => StepTarget::Ref(text),
            None => StepTarget::Nobody,
        },
        (None, Some(entry)) => inline_agent(reader, entry),
        (None, None) => {
            let d = Diagnostic::new_error(
                "missing-key",
                reader.location_of(fields.owner_span()),
                format!("{a_what} needs `ref` or `agent`"),
            );
            reader.report_finding(
                d.with_help("write `ref: ID` to call another manifest, or `agent:` to define one here"),
            );
            StepTarget::Nobody
        }
    }
}

/// What the author of a step meant as its input, even if it is misspelt or misplaced (reported).
#[derive(Default)]
struct IntendedInput<'n> {
    names: Option<Vec<&'n YamlText>>,
    unclear: bool,
    misplaced: Vec<&'n YamlText>,
}

impl<'n> IntendedInput<'n> {
    fn find(fields: &MappingReader<'n, '_>, input_entry: Option<&'n YamlEntry>, inline: Option<&'n YamlEntry>) -> Self {
        let entry = match input_entry {
            Some(entry) => Some(entry),
            None => misplaced_input(fields, inline),
        };
        let Some(entry) = entry else { return Self::default() };
        let Some(mapping) = entry.value.as_mapping() else {
            return Self { names: Some(Vec::new()), unclear: true, misplaced: Vec::new() };
        };
        let mut names = Vec::with_capacity(mapping.entries.len());
        let mut misplaced = Vec::new();
        for member in &mapping.entries {
            names.push(&member.key);
            if input_entry.is_none()
                && let Some(text) = member.value.as_string()
            {
                misplaced.push(text);
            }
        }
        Self { names: Some(names), unclear: input_entry.is_none(), misplaced }
    }
}

/// The entry that was meant as the `input` of a step: misspelt, named as in another system, or in the agent.
fn misplaced_input<'n>(fields: &MappingReader<'n, '_>, inline: Option<&'n YamlEntry>) -> Option<&'n YamlEntry> {
    let misspelt = fields.entries().iter().find(|e| suggestions::find_near_match(&e.key.value, ["input"]).is_some());
    if let Some(entry) = misspelt
        && !STEP.contains(&&*entry.key.value)
    {
        return misspelt;
    }
    let renamed = fields.written_as("input");
    if let Some(entry) = renamed
        && entry.value.as_mapping().is_some()
    {
        return renamed;
    }
    agent_entry(inline, "input")
}

/// A key of the step that the agent in it has; this is reported there.
fn agent_entry<'n>(inline: Option<&'n YamlEntry>, key: &str) -> Option<&'n YamlEntry> {
    inline?.value.as_mapping()?.get(key)
}

fn inline_agent<'n>(reader: &ManifestReader<'_>, entry: &'n YamlEntry) -> StepTarget<'n> {
    if let Some(text) = entry.value.as_string() {
        let d = Diagnostic::new_error(
            "wrong-type",
            reader.location_of(entry.value.span),
            "`agent` must be a mapping, not text",
        );
        let d = d.with_help(format!("to call another manifest write `ref: {}`", text.value));
        reader.report_finding(d.with_suggestion("write `ref`", reader.location_of(entry.key.content_span()), "ref"));
        return StepTarget::Nobody;
    }
    match read_agent(reader, &entry.value, AgentPlace::Step) {
        Some(agent) => StepTarget::Inline(Arc::new(agent)),
        None => StepTarget::Nobody,
    }
}

fn input<'n>(reader: &ManifestReader<'_>, entry: &'n YamlEntry) -> Vec<(&'n YamlText, &'n YamlText)> {
    if entry.value.as_mapping().is_some() {
        return super::texts::text_map(reader, &entry.value, "input");
    }
    let message = format!("`input` must be a mapping, not {}", entry.value.kind_description());
    let d = Diagnostic::new_error("wrong-type", reader.location_of(entry.value.span), message);
    reader.report_finding(d.with_help("list the inputs, for example `input: { text: \"{{draft}}\" }`"));
    Vec::new()
}

fn condition<'n>(reader: &ManifestReader<'_>, entry: Option<&'n YamlEntry>, what: &str) -> Option<&'n YamlText> {
    let entry = entry?;
    let text = entry.value.as_string();
    if text.is_none() {
        let message = format!("`{what}` must be a condition in quotes, not {}", entry.value.kind_description());
        let mut d = Diagnostic::new_error("wrong-type", reader.location_of(entry.value.span), message);
        d = match entry.value.as_scalar() {
            Some((YamlScalar::Bool(_), _)) => {
                d.with_help("compare something, for example `\"{{reviewer.approved}} == true\"`")
            }
            _ => d.with_help("for example `\"{{language}} != en\"`"),
        };
        reader.report_finding(d);
    }
    text
}

fn output<'n>(fields: &mut MappingReader<'n, '_>) -> Option<OutputMap<'n>> {
    let reader = fields.reader;
    let entry = fields.take("output")?;
    match entry.value.as_mapping() {
        Some(mapping) => Some(output_map(reader, mapping)),
        None => {
            let message = format!("`output` must be a mapping, not {}", entry.value.kind_description());
            let d = Diagnostic::new_error("wrong-type", reader.location_of(entry.value.span), message);
            reader.report_finding(
                d.with_help("list what the pipeline returns, for example `output: { article: \"{{writer}}\" }`"),
            );
            None
        }
    }
}

fn output_map<'n>(reader: &ManifestReader<'_>, mapping: &'n YamlMapping) -> OutputMap<'n> {
    let mut entries = Vec::with_capacity(mapping.entries.len());
    for entry in &mapping.entries {
        match (entry.value.as_mapping(), entry.value.as_string()) {
            (Some(inner), _) => entries.push((&entry.key, output_map(reader, inner))),
            (None, Some(text)) => entries.push((&entry.key, OutputMap::Text(text))),
            (None, None) => value_wanted(reader, &entry.value, &entry.key.value),
        }
    }
    OutputMap::Map(entries)
}
