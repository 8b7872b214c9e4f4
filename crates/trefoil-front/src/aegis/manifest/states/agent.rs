//! `kind: Agent`: calls one agent.

use trefoil_syntax::yaml::{Node, Text};

use crate::aegis::manifest::{RefusedFeature, declared, filled, require_spelled, spelled_text, words};
use crate::{Fields, Reader};

/// An Agent state.
pub struct AgentState {
    /// The agent: a name, or a template of one.
    pub agent: Option<Text>,
    /// The template of the input; `None`: the workflow's start input.
    pub input: Option<Text>,
    /// The template of the intent.
    pub intent: Option<Text>,
    /// The judges of the answer.
    pub judges: Vec<JudgeEntry>,
    /// The maximum number of rounds with judges.
    pub max_iterations: u32,
}

/// A judge of a state.
pub struct JudgeEntry {
    /// Its name.
    pub agent: Text,
    /// The weight in the consensus.
    pub weight: f64,
}

/// Reads the keys specific to an Agent state.
pub fn read(reader: &Reader<'_>, fields: &mut Fields<'_, '_>, refused: &mut Vec<RefusedFeature>) -> AgentState {
    let agent = require_spelled(fields, "an Agent state", "agent", "agent_id");
    let agent = agent.and_then(|e| reader.text(&e.value, &e.key.value).cloned());
    let input = spelled_text(fields, "input", "input_template");
    let intent = fields.text("intent").cloned();
    let judges = fields.take("judges").map(|e| read_judges(reader, &e.value)).unwrap_or_default();
    let max = fields.integer("max_iterations", 1..=255).and_then(|n| u32::try_from(n).ok());
    if let Some(entry) = fields.take("pre_execution_validator") {
        filled(fields, "pre_execution_validator");
        let why = "nothing is checked before an agent runs";
        refused.push(RefusedFeature::report(reader, entry.key.span, "`pre_execution_validator`", why));
    }
    if max.is_some() && judges.is_empty() {
        fields.no_effect(&["max_iterations"], "the state has no `judges`");
    }
    fields.word("isolation", declared::ISOLATION);
    fields.number("temperature", 0.0..=2.0);
    fields.no_effect(&["isolation"], "the agent runs as a model call, not in a container");
    fields.no_effect(&["temperature"], "write it under `runtime` of the agent");
    AgentState { agent, input, intent, judges, max_iterations: max.unwrap_or(10) }
}

/// Reads a list of judges.
pub fn read_judges(reader: &Reader<'_>, node: &Node) -> Vec<JudgeEntry> {
    let mut judges = Vec::new();
    for item in reader.list(node, "judges").unwrap_or_default() {
        let Some(mut fields) = reader.fields(item, "a judge") else { continue };
        fields.also_called(words::ENTRY);
        let agent = require_spelled(&mut fields, "a judge", "agent_id", "agent");
        let agent = agent.and_then(|e| reader.text(&e.value, &e.key.value).cloned());
        let weight = fields.number("weight", 0.0..=f64::MAX).unwrap_or(1.0);
        fields.no_effect(&["input_template", "input"], "a judge always gets the answer to judge");
        fields.finish();
        judges.extend(agent.map(|agent| JudgeEntry { agent, weight }));
    }
    judges
}
