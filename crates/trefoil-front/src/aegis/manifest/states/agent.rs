//! `kind: Agent`: calls one agent.

use trefoil_syntax::yaml::{YamlNode, YamlText};

use crate::aegis::manifest::{
    RefusedFeature, key_synonyms, require_filled_text, require_spelled_text, spelled_text, unsupported_parts,
};
use crate::{ManifestReader, MappingReader};

/// An Agent state.
pub struct AgentState {
    /// The agent: a name, or a template of one.
    pub agent: Option<YamlText>,
    /// The template of the input; `None`: the workflow's start input.
    pub input: Option<YamlText>,
    /// The template of the intent.
    pub intent: Option<YamlText>,
    /// The judges of the answer.
    pub judges: Vec<JudgeEntry>,
    /// The maximum number of rounds with judges.
    pub max_iterations: u32,
}

/// A judge of a state.
pub struct JudgeEntry {
    /// Its name.
    pub agent: YamlText,
    /// The weight in the consensus.
    pub weight: f64,
}

/// Reads the keys specific to an Agent state.
pub fn read_agent_state(
    reader: &ManifestReader<'_>,
    fields: &mut MappingReader<'_, '_>,
    refused: &mut Vec<RefusedFeature>,
) -> AgentState {
    let agent = require_spelled_text(fields, "an Agent state", "agent", "agent_id");
    let input = spelled_text(fields, "input", "input_template");
    let intent = fields.read_text("intent").cloned();
    let judges = match fields.take("judges") {
        Some(entry) => read_judges(reader, &entry.value),
        None => Vec::new(),
    };
    let max = fields.read_integer("max_iterations", 1..=255).and_then(|n| u32::try_from(n).ok());
    if let Some(entry) = fields.take("pre_execution_validator") {
        require_filled_text(fields, "pre_execution_validator");
        let why = "nothing is checked before an agent runs";
        refused.push(RefusedFeature::report_feature(reader, entry.key.span, "`pre_execution_validator`", why));
    }
    if max.is_some() && judges.is_empty() {
        fields.no_effect(&["max_iterations"], "the state has no `judges`");
    }
    fields.read_word("isolation", unsupported_parts::ISOLATION);
    fields.read_number("temperature", 0.0..=2.0);
    fields.no_effect(&["isolation"], "the agent runs as a model call, not in a container");
    fields.no_effect(&["temperature"], "write it under `runtime` of the agent");
    AgentState { agent, input, intent, judges, max_iterations: max.unwrap_or(10) }
}

/// Reads a list of judges.
pub fn read_judges(reader: &ManifestReader<'_>, node: &YamlNode) -> Vec<JudgeEntry> {
    let mut judges = Vec::new();
    for item in reader.read_list(node, "judges").unwrap_or_default() {
        let Some(mut fields) = reader.read_mapping(item, "a judge") else { continue };
        fields.also_called(key_synonyms::ENTRY);
        let agent = require_spelled_text(&mut fields, "a judge", "agent_id", "agent");
        let weight = fields.read_number("weight", 0.0..=f64::MAX).unwrap_or(1.0);
        fields.no_effect(&["input_template", "input"], "a judge always gets the answer to judge");
        fields.finish_mapping();
        if let Some(agent) = agent {
            judges.push(JudgeEntry { agent, weight });
        }
    }
    judges
}
