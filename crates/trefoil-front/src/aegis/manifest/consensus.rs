//! `consensus`: how the verdicts of several agents are combined.

use trefoil_ir::{ConsensusRule, ConsensusStrategy};
use trefoil_syntax::Diagnostic;

use super::{key_synonyms, take_spelled};
use crate::MappingReader;

/// The values of `strategy`.
pub const STRATEGIES: &[(&str, ConsensusStrategy)] = &[
    ("weighted_average", ConsensusStrategy::WeightedAverage),
    ("majority", ConsensusStrategy::Majority),
    ("unanimous", ConsensusStrategy::Unanimous),
    ("best_of_n", ConsensusStrategy::BestOfN),
];

/// A consensus as written.
#[derive(Debug, Clone)]
pub struct ConsensusSpec {
    /// The consensus for the machine.
    pub consensus: ConsensusRule,
    /// `threshold`, if written; the default of transitions.
    pub threshold: Option<f64>,
    /// `agreement`, if written.
    pub agreement: Option<f64>,
}

/// A consensus with default values.
pub fn default_consensus(strategy: ConsensusStrategy) -> ConsensusRule {
    ConsensusRule { strategy, threshold: 0.7, min_judges: 1, n: None, agreement_factor: 0.7, confidence_factor: 0.3 }
}

/// `min_judges_required`: how many judges must answer. More than there are is an error.
pub fn min_judges(fields: &mut MappingReader<'_, '_>, there: usize, what: &str) -> Option<u32> {
    let entry = fields.take("min_judges_required")?;
    let min = fields.reader.read_integer(&entry.value, "min_judges_required", 1..=100)?;
    let min = u32::try_from(min).ok()?;
    if there > 0 && min as usize > there {
        let message = format!("`min_judges_required` is {min}, more than the number of {what} ({there})");
        fields.reader.report_error("out-of-range", entry.value.span, message);
    }
    Some(min)
}

/// Reads the `consensus` of this number of agents.
pub fn read_consensus(fields: &mut MappingReader<'_, '_>, agents: usize) -> ConsensusSpec {
    fields.also_called(key_synonyms::CONSENSUS);
    let strategy = fields.require_word("strategy", STRATEGIES);
    let mut consensus = default_consensus(strategy.unwrap_or(ConsensusStrategy::WeightedAverage));
    let threshold = fields.read_number("threshold", 0.0..=1.0);
    consensus.threshold = threshold.unwrap_or(consensus.threshold);
    let agreement = take_spelled(fields, "agreement", "min_agreement_confidence");
    let agreement = agreement.and_then(|entry| fields.reader.read_number(&entry.value, &entry.key.value, 0.0..=1.0));
    if let Some(entry) = fields.take("n") {
        let n = fields.reader.read_integer(&entry.value, "n", 1..=100);
        consensus.n = n.and_then(|n| u32::try_from(n).ok());
        if let Some((word, _)) =
            STRATEGIES.iter().find(|(_, s)| Some(*s) == strategy && *s != ConsensusStrategy::BestOfN)
        {
            let message = format!("`n` has no effect: the strategy `{word}` does not use it");
            fields.reader.report_warning("no-effect", entry.key.span, message);
        } else if let Some(n) = consensus.n
            && agents > 0
            && n as usize > agents
        {
            let message = format!("`n` is {n}, more than the number of agents ({agents})");
            fields.reader.report_warning("out-of-range", entry.value.span, message);
        }
    }
    if let (Some(ConsensusStrategy::BestOfN), None, Some(entry)) =
        (strategy, fields.peek_entry("n"), fields.peek_entry("strategy"))
    {
        let message = "`best_of_n` without `n` takes all verdicts, not the best ones";
        let d = Diagnostic::new_warning("missing-key", fields.reader.location_of(entry.value.span), message);
        fields.reader.report_finding(d.with_help("write `n`, the number of verdicts that count"));
    }
    consensus.min_judges = min_judges(fields, agents, "agents").unwrap_or(1);
    if let Some(mut weighting) = fields.read_mapping("confidence_weighting") {
        consensus.agreement_factor = weighting.read_number("agreement_factor", 0.0..=1.0).unwrap_or(0.7);
        consensus.confidence_factor = weighting.read_number("self_confidence_factor", 0.0..=1.0).unwrap_or(0.3);
        if (consensus.agreement_factor + consensus.confidence_factor - 1.0).abs() > 0.01 {
            weighting.reader.report_error(
                "out-of-range",
                weighting.head_span(),
                "`agreement_factor` and `self_confidence_factor` must add up to 1",
            );
        }
        weighting.finish_mapping();
    }
    ConsensusSpec { consensus, threshold, agreement }
}
