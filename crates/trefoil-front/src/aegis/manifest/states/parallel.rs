//! `kind: ParallelAgents`: several concurrent agents, and the consensus of their verdicts.

use trefoil_ir::ConsensusStrategy;
use trefoil_syntax::yaml::{YamlNode, YamlText};
use trefoil_syntax::{Diagnostic, Span};

use super::agent::{JudgeEntry, read_judges};
use crate::aegis::manifest::consensus::{self, ConsensusSpec};
use crate::aegis::manifest::{duration, key_synonyms, require_spelled_text, spelled_text};
use crate::yaml_reader::to_value;
use crate::{ManifestReader, MappingReader};

/// A ParallelAgents state.
pub struct ParallelState {
    /// The agents.
    pub agents: Vec<ParallelBranch>,
    /// Whether some of them could not be read (reported), so that their number is unknown.
    pub cut: bool,
    /// How their verdicts are combined.
    pub consensus: Option<ConsensusSpec>,
    /// The judges of all answers together. Without judges, the answers themselves are verdicts.
    pub judges: Vec<JudgeEntry>,
}

/// One of the agents.
pub struct ParallelBranch {
    /// The agent: a name, or a template of one.
    pub agent: YamlText,
    /// The template of the input; `None`: the workflow's start input.
    pub input: Option<YamlText>,
    /// The weight in the consensus.
    pub weight: f64,
    /// The timeout in milliseconds.
    pub timeout_ms: u64,
    /// Where that is written.
    pub timeout_at: Option<Span>,
}

/// Reads the keys specific to a ParallelAgents state.
pub fn read_parallel_state(reader: &ManifestReader<'_>, fields: &mut MappingReader<'_, '_>) -> ParallelState {
    let entry = fields.require_entry("agents");
    let items = entry.and_then(|e| reader.read_list(&e.value, "agents"));
    if let (Some(entry), Some([])) = (entry, items) {
        reader.report_error("missing-key", entry.value.span, "`agents` is empty");
    }
    let mut agents = Vec::new();
    for item in items.unwrap_or_default() {
        let Some(mut branch) = reader.read_mapping(item, "an entry of `agents`") else { continue };
        branch.also_called(key_synonyms::ENTRY);
        let agent = require_spelled_text(&mut branch, "an entry of `agents`", "agent", "agent_id");
        let input = spelled_text(&mut branch, "input", "input_template");
        let weight = branch.read_number("weight", 0.0..=f64::MAX).unwrap_or(1.0);
        let timeout_ms = duration::read_seconds(&mut branch, "timeout_seconds").unwrap_or(60_000);
        let timeout_at = branch.peek_entry("timeout_seconds").map(|e| e.value.span);
        // Only a polling server uses this.
        branch.read_integer("poll_interval_ms", 1..=3_600_000);
        branch.finish_mapping();
        if let Some(agent) = agent {
            agents.push(ParallelBranch { agent, input, weight, timeout_ms, timeout_at });
        }
    }
    let mut consensus = None;
    if let Some(mut mapping) = fields.require_mapping("consensus") {
        let spec = consensus::read_consensus(&mut mapping, agents.len());
        mapping.finish_mapping();
        report_weights(reader, items.unwrap_or_default(), spec.consensus.strategy);
        consensus = Some(spec);
    }
    let judges = match fields.take("judges_for_parallel") {
        Some(entry) => read_judges(reader, &entry.value),
        None => Vec::new(),
    };
    let cut = match items {
        Some(items) => items.is_empty() || items.len() > agents.len(),
        None => true,
    };
    ParallelState { agents, cut, consensus, judges }
}

/// Reports different weights if the strategy weights all verdicts equally.
fn report_weights(reader: &ManifestReader<'_>, agents: &[YamlNode], strategy: ConsensusStrategy) {
    let word = match strategy {
        ConsensusStrategy::Majority => "majority",
        ConsensusStrategy::Unanimous => "unanimous",
        ConsensusStrategy::WeightedAverage | ConsensusStrategy::BestOfN => return,
    };
    let mut first_entry = None;
    let mut weights = Vec::with_capacity(agents.len());
    for agent in agents {
        let entry = agent.as_mapping().and_then(|branch| branch.get("weight"));
        first_entry = first_entry.or(entry);
        weights.push(match entry {
            Some(entry) => to_value(&entry.value).as_f64(),
            None => Some(1.0),
        });
    }
    let differ = weights.iter().any(|weight| Some(weight) != weights.first());
    if differ && let Some(entry) = first_entry {
        let message = format!("`weight` has no effect: the strategy `{word}` counts all verdicts equally");
        let d = Diagnostic::new_warning("no-effect", reader.location_of(entry.key.span), message);
        reader.report_finding(d.with_help("write `strategy: weighted_average` to weight the verdicts"));
    }
}
