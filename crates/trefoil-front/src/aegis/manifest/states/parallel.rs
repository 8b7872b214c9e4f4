//! `kind: ParallelAgents`: several concurrent agents, and the consensus of their verdicts.

use trefoil_ir::Strategy;
use trefoil_syntax::yaml::{Entry, Node, Text};
use trefoil_syntax::{Diagnostic, Span};

use super::agent::{JudgeEntry, read_judges};
use crate::aegis::manifest::consensus::{self, ConsensusSpec};
use crate::aegis::manifest::{duration, require_spelled, spelled_text, words};
use crate::{Fields, Reader};

/// A ParallelAgents state.
pub struct ParallelState {
    /// The agents.
    pub agents: Vec<Branch>,
    /// Whether some of them could not be read (reported), so that their number is unknown.
    pub cut: bool,
    /// How their verdicts are combined.
    pub consensus: Option<ConsensusSpec>,
    /// The judges of all answers together. Without judges, the answers themselves are verdicts.
    pub judges: Vec<JudgeEntry>,
}

/// One of the agents.
pub struct Branch {
    /// The agent: a name, or a template of one.
    pub agent: Text,
    /// The template of the input; `None`: the workflow's start input.
    pub input: Option<Text>,
    /// The weight in the consensus.
    pub weight: f64,
    /// The timeout in milliseconds.
    pub timeout_ms: u64,
    /// Where that is written.
    pub timeout_at: Option<Span>,
}

/// Reads the keys specific to a ParallelAgents state.
pub fn read(reader: &Reader<'_>, fields: &mut Fields<'_, '_>) -> ParallelState {
    let entry = fields.require("agents");
    let items = entry.and_then(|e| reader.list(&e.value, "agents"));
    if let Some((entry, [])) = entry.zip(items) {
        reader.error("missing-key", entry.value.span, "`agents` is empty");
    }
    let mut agents = Vec::new();
    for item in items.unwrap_or_default() {
        let Some(mut branch) = reader.fields(item, "an entry of `agents`") else { continue };
        branch.also_called(words::ENTRY);
        let agent = require_spelled(&mut branch, "an entry of `agents`", "agent", "agent_id");
        let agent = agent.and_then(|e| reader.text(&e.value, &e.key.value).cloned());
        let input = spelled_text(&mut branch, "input", "input_template");
        let weight = branch.number("weight", 0.0..=f64::MAX).unwrap_or(1.0);
        let timeout_ms = duration::seconds(&mut branch, "timeout_seconds").unwrap_or(60_000);
        let timeout_at = branch.entry("timeout_seconds").map(|e| e.value.span);
        // Only a polling server uses this.
        branch.integer("poll_interval_ms", 1..=3_600_000);
        branch.finish();
        agents.extend(agent.map(|agent| Branch { agent, input, weight, timeout_ms, timeout_at }));
    }
    let consensus = fields.require("consensus").and_then(|e| reader.fields(&e.value, "consensus")).map(|mut c| {
        let spec = consensus::read(&mut c, agents.len());
        c.finish();
        spec
    });
    if let Some(consensus) = &consensus {
        report_weights(reader, items.unwrap_or_default(), consensus.consensus.strategy);
    }
    let judges = fields.take("judges_for_parallel").map(|e| read_judges(reader, &e.value)).unwrap_or_default();
    let cut = items.is_none_or(|items| items.is_empty() || items.len() > agents.len());
    ParallelState { agents, cut, consensus, judges }
}

/// Reports different weights if the strategy weights all verdicts equally.
fn report_weights(reader: &Reader<'_>, agents: &[Node], strategy: Strategy) {
    let word = match strategy {
        Strategy::Majority => "majority",
        Strategy::Unanimous => "unanimous",
        Strategy::WeightedAverage | Strategy::BestOfN => return,
    };
    let entries = agents.iter().map(|agent| agent.mapping().and_then(|m| m.get("weight")));
    let number = |e: &Entry| crate::read::to_value(&e.value).as_f64();
    let first = entries.clone().next().flatten().map_or(Some(1.0), number);
    let apart = |e: Option<&Entry>| e.map_or(Some(1.0), number) != first;
    if entries.clone().any(apart)
        && let Some(entry) = entries.flatten().next()
    {
        let message = format!("`weight` has no effect: the strategy `{word}` counts all verdicts equally");
        let d = Diagnostic::warning("no-effect", reader.at(entry.key.span), message);
        reader.report(d.help("write `strategy: weighted_average` to weight the verdicts"));
    }
}
