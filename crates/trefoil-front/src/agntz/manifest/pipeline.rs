//! `kind: sequential` and `kind: parallel`: steps, loop, output map.

use std::borrow::Cow;
use std::sync::Arc;

use trefoil_syntax::hash::HashMap;
use trefoil_syntax::yaml::{Entry, Mapping, Node, Scalar, Text};
use trefoil_syntax::{Diagnostic, Span, suggest};

use super::texts::{entry_span, not_empty, value_wanted};
use super::{Agent, AgentPlace, agent};
use crate::agntz::ids::state_key;
use crate::read::{Fields, Reader};

/// A pipeline.
pub struct Pipeline<'n> {
    /// Steps or branches.
    pub steps: Vec<Step<'n>>,
    /// The condition that ends the loop.
    pub until: Option<&'n Text>,
    /// The maximum number of passes; 0 if there is no `until` or the number is wrong (reported).
    pub max_iterations: u32,
    /// The result of the pipeline.
    pub output: Option<OutputMap<'n>>,
}

/// One step or branch.
pub struct Step<'n> {
    /// The called agent.
    pub target: Target<'n>,
    /// Its input; `None`: no explicit input.
    pub input: Option<Vec<(&'n Text, &'n Text)>>,
    /// The names in the input, including those with an invalid value (reported) and those of a misspelt `input`.
    pub given: Option<Vec<&'n Text>>,
    /// Whether `input` is misspelt or not a mapping (reported), so that what the agent receives is unknown.
    pub unclear: bool,
    /// The texts of an input that has another name, or is in the agent: no step gets them, but they show what was meant.
    pub misplaced_input: Vec<&'n Text>,
    /// A condition that is in the agent.
    pub misplaced_when: Option<&'n Text>,
    /// The place of the `input` key, or of the step.
    pub input_span: Span,
    /// The state key of its output.
    pub state_key: Option<&'n Text>,
    /// The condition; if false, the step is skipped.
    pub when: Option<&'n Text>,
    /// The span of the `ref` or `agent` entry.
    pub span: Span,
    /// The span of the whole step.
    pub whole: Span,
}

impl<'n> Step<'n> {
    /// The text that sets the state key of its output, if there is one.
    pub fn chosen_key(&self) -> Option<&'n Text> {
        let inline = match &self.target {
            Target::Inline(agent) => agent.state_key,
            Target::Ref(_) | Target::Nobody => None,
        };
        self.state_key.or(inline)
    }
}

/// The agent that a step calls.
pub enum Target<'n> {
    /// Another manifest, by id.
    Ref(&'n Text),
    /// An agent written in the step.
    Inline(Arc<Agent<'n>>),
    /// Neither; reported.
    Nobody,
}

/// An output map: templates at the leaves.
pub enum OutputMap<'n> {
    /// A template.
    Text(&'n Text),
    /// A map of outputs.
    Map(Vec<(&'n Text, OutputMap<'n>)>),
}

/// Reads the keys of a sequential agent.
pub fn sequential<'n>(fields: &mut Fields<'n, '_>) -> Pipeline<'n> {
    let mistaken = fields.entry("steps").is_none() && fields.entry("branches").is_some();
    let steps = steps(fields, if mistaken { "branches" } else { "steps" }, "step");
    let until_entry = fields.take("until");
    let until = until_entry.and_then(|e| condition(fields.reader, e, "until"));
    let max = fields.integer("maxIterations", 1..=i64::from(u32::MAX));
    let reader = fields.reader;
    match (until_entry, fields.take("maxIterations")) {
        (Some(until), None) => {
            let d = Diagnostic::error("missing-key", reader.at(until.key.span), "a loop needs `maxIterations`");
            let d = d.help("`until` repeats the steps; limit them, for example with `maxIterations: 5`");
            let at = Span::new(until.key.span.start, until.key.span.start);
            reader.report(match reader.indent(at) {
                Some(indent) => {
                    d.suggestion("add `maxIterations: 10`", reader.at(at), format!("maxIterations: 10\n{indent}"))
                }
                None => d,
            });
        }
        (Some(_), Some(entry)) if max == Some(1) => {
            let message = "with `maxIterations: 1` the steps run once, and the run fails if `until` is still false";
            reader.warning("no-effect", entry.value.span, message);
        }
        (None, Some(max)) => {
            let message = "`maxIterations` has no effect: without `until` the steps run once";
            reader.warning("no-effect", max.key.span, message);
        }
        _ => {}
    }
    Pipeline {
        steps,
        until,
        max_iterations: max.and_then(|n| u32::try_from(n).ok()).unwrap_or(0),
        output: output(fields),
    }
}

/// Reads the keys of a parallel agent.
pub fn parallel<'n>(fields: &mut Fields<'n, '_>) -> Pipeline<'n> {
    Pipeline { steps: steps(fields, "branches", "branch"), until: None, max_iterations: 0, output: output(fields) }
}

fn steps<'n>(fields: &mut Fields<'n, '_>, key: &'static str, what: &str) -> Vec<Step<'n>> {
    let reader = fields.reader;
    let Some(entry) = fields.require(key) else { return Vec::new() };
    let items = reader.list(&entry.value, key).unwrap_or_default();
    if items.is_empty() && entry.value.sequence().is_some() {
        reader.error("wrong-type", entry.key.span, format!("`{key}` needs at least one {what}"));
    }
    let a_what = format!("a {what}");
    let steps: Vec<Step<'n>> = items.iter().filter_map(|n| step(reader, n, &a_what)).collect();
    repeated_ids(reader, &steps);
    steps
}

/// Reports agents with the same id in several steps, because traces and events could not distinguish them. Agents whose
/// outputs have the same key are reported separately.
fn repeated_ids(reader: &Reader<'_>, steps: &[Step<'_>]) {
    let mut seen: HashMap<&str, Vec<(Cow<'_, str>, Span)>> = HashMap::default();
    for step in steps {
        let Target::Inline(agent) = &step.target else { continue };
        let Some(id) = agent.id else { continue };
        let key = step.chosen_key().map_or_else(|| state_key(&id.value).into(), |text| Cow::from(&*text.value));
        let before = seen.entry(&id.value).or_default();
        // An agent shared by two steps through an alias necessarily has the same id.
        if let Some((_, first)) = before.iter().find(|(other, at)| *other != key && *at != id.span) {
            let message = format!("two agents of this pipeline have the id `{}`", id.value);
            let d = Diagnostic::warning("duplicate-id", reader.at(id.span), message);
            reader.report(d.label(reader.at(*first), "the other one").help("rename one of them"));
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

fn step<'n>(reader: &Reader<'_>, node: &'n Node, a_what: &str) -> Option<Step<'n>> {
    let mut fields = reader.fields(node, a_what)?;
    let reference = fields.take("ref");
    let inline = fields.take("agent");
    fields.deciding(&[("when", "the step always runs")]);
    fields.also_called(if reference.or(inline).is_some() { OF_STEP } else { OF_CALL });
    let target = match (reference, inline) {
        (Some(first), Some(second)) => {
            // The later one is probably too many: often it is a separate step that lost its dash.
            let (first, second) =
                if first.key.span.start < second.key.span.start { (first, second) } else { (second, first) };
            let message = format!("{a_what} cannot have both `ref` and `agent`");
            let d = Diagnostic::error("ambiguous-step", reader.at(second.key.span), message);
            let d = d.help(format!("add `- ` to make it a separate {}", a_what.trim_start_matches("a ")));
            reader.report(d.label(reader.at(first.key.span), format!("`{}` is here", first.key.value)));
            Target::Nobody
        }
        (Some(entry), None) => reader.text(&entry.value, "ref").map_or(Target::Nobody, Target::Ref),
        (None, Some(entry)) => inline_agent(reader, entry),
        (None, None) => {
            let d =
                Diagnostic::error("missing-key", reader.at(fields.owner()), format!("{a_what} needs `ref` or `agent`"));
            reader.report(d.help("write `ref: ID` to call another manifest, or `agent:` to define one here"));
            Target::Nobody
        }
    };
    let input_entry = fields.take("input");
    let input = input_entry.map(|e| input(reader, e));
    let misspelt = || fields.entries().iter().find(|e| suggest::near(&e.key.value, ["input"]).is_some());
    // What the agent in the step has of the step's keys is reported there.
    let of_agent = |key: &str| inline.and_then(|e| e.value.mapping()).and_then(|m| m.get(key));
    let meant = input_entry
        .or_else(|| misspelt().filter(|e| !STEP.contains(&&*e.key.value)))
        .or_else(|| fields.written_as("input").filter(|e| e.value.mapping().is_some()))
        .or_else(|| of_agent("input"));
    let given =
        meant.map(|e| e.value.mapping().map(|m| m.entries.iter().map(|e| &e.key).collect()).unwrap_or_default());
    let unclear = meant.is_some_and(|e| input_entry.is_none() || e.value.mapping().is_none());
    let values = meant.filter(|_| input_entry.is_none()).and_then(|e| e.value.mapping());
    let misplaced_input = values.into_iter().flat_map(|m| &m.entries).filter_map(|e| e.value.string()).collect();
    let when_entry = fields.take("when");
    let when = when_entry.and_then(|e| condition(reader, e, "when"));
    let state_key = fields.text("stateKey").filter(|t| not_empty(reader, t, "stateKey"));
    fields.no_effect(&["until", "maxIterations"], "a loop is declared on the pipeline, not on a step");
    fields.no_effect(&["retry", "onError"], "a failing step fails its pipeline");
    let head = fields.head();
    let span = reference.or(inline).map_or(head, entry_span);
    fields.finish();
    Some(Step {
        target,
        input,
        given,
        unclear,
        misplaced_input,
        misplaced_when: of_agent("when").and_then(|e| e.value.string()),
        input_span: input_entry.map_or(span, |e| e.key.span),
        state_key,
        when,
        span,
        whole: node.span,
    })
}

fn inline_agent<'n>(reader: &Reader<'_>, entry: &'n Entry) -> Target<'n> {
    if let Some(text) = entry.value.string() {
        let d = Diagnostic::error("wrong-type", reader.at(entry.value.span), "`agent` must be a mapping, not text");
        let d = d.help(format!("to call another manifest write `ref: {}`", text.value));
        reader.report(d.suggestion("write `ref`", reader.at(entry.key.content()), "ref"));
        return Target::Nobody;
    }
    agent(reader, &entry.value, AgentPlace::Step).map_or(Target::Nobody, |a| Target::Inline(Arc::new(a)))
}

fn input<'n>(reader: &Reader<'_>, entry: &'n Entry) -> Vec<(&'n Text, &'n Text)> {
    if entry.value.mapping().is_some() {
        return super::texts::text_map(reader, &entry.value, "input");
    }
    let message = format!("`input` must be a mapping, not {}", entry.value.describe());
    let d = Diagnostic::error("wrong-type", reader.at(entry.value.span), message);
    reader.report(d.help("list the inputs, for example `input: { text: \"{{draft}}\" }`"));
    Vec::new()
}

fn condition<'n>(reader: &Reader<'_>, entry: &'n Entry, what: &str) -> Option<&'n Text> {
    let text = entry.value.string();
    if text.is_none() {
        let message = format!("`{what}` must be a condition in quotes, not {}", entry.value.describe());
        let mut d = Diagnostic::error("wrong-type", reader.at(entry.value.span), message);
        d = match entry.value.scalar() {
            Some((Scalar::Bool(_), _)) => d.help("compare something, for example `\"{{reviewer.approved}} == true\"`"),
            _ => d.help("for example `\"{{language}} != en\"`"),
        };
        reader.report(d);
    }
    text
}

fn output<'n>(fields: &mut Fields<'n, '_>) -> Option<OutputMap<'n>> {
    let reader = fields.reader;
    let entry = fields.take("output")?;
    match entry.value.mapping() {
        Some(mapping) => Some(output_map(reader, mapping)),
        None => {
            let message = format!("`output` must be a mapping, not {}", entry.value.describe());
            let d = Diagnostic::error("wrong-type", reader.at(entry.value.span), message);
            reader.report(d.help("list what the pipeline returns, for example `output: { article: \"{{writer}}\" }`"));
            None
        }
    }
}

fn output_map<'n>(reader: &Reader<'_>, mapping: &'n Mapping) -> OutputMap<'n> {
    let mut entries = Vec::with_capacity(mapping.entries.len());
    for entry in &mapping.entries {
        match (entry.value.mapping(), entry.value.string()) {
            (Some(inner), _) => entries.push((&entry.key, output_map(reader, inner))),
            (None, Some(text)) => entries.push((&entry.key, OutputMap::Text(text))),
            (None, None) => value_wanted(reader, &entry.value, &entry.key.value),
        }
    }
    OutputMap::Map(entries)
}
