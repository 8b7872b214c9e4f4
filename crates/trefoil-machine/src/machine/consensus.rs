//! Combines several verdicts: the formulas of AEGIS.

use std::sync::Arc;

use indexmap::IndexMap;
use trefoil_ir::{ConsensusRule, ConsensusStrategy};
use trefoil_template::Value;

use super::verdict::{self, JudgeVerdict};
use crate::error::RunError;

/// The maximum variance of scores from 0 to 1.
const MAX_VARIANCE: f64 = 0.25;

/// The result of combining verdicts.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsensusResult {
    /// The score, 0 to 1.
    pub score: f64,
    /// The confidence, 0 to 1.
    pub confidence: f64,
    /// The inputs of the formula, as information for readers.
    pub metadata: Vec<(&'static str, Value)>,
}

/// A missing verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct MissingVerdict {
    /// The judge or agent.
    pub by: Arc<str>,
    /// The reason.
    pub why: Arc<str>,
}

/// Combines verdicts. Fewer than the minimum fail with `CONSENSUS_FAILED`, which says why the others are missing.
pub fn combine_verdicts(
    verdicts: &[JudgeVerdict],
    silent: &[MissingVerdict],
    rules: &ConsensusRule,
) -> Result<ConsensusResult, RunError> {
    let needed = rules.min_judges.max(1) as usize;
    if verdicts.len() < needed {
        let mut message = format!("only {} of {needed} required verdicts arrived", verdicts.len());
        for why in told(silent) {
            message.push_str("; ");
            message.push_str(&why);
        }
        return Err(RunError::new("CONSENSUS_FAILED", message));
    }
    let passes = verdicts.iter().filter(|v| v.score >= rules.threshold).count();
    Ok(match rules.strategy {
        ConsensusStrategy::WeightedAverage => {
            let score = weighted(verdicts.iter(), |v| v.score);
            let agreement = 1.0 - (variance(verdicts, score) / MAX_VARIANCE).min(1.0);
            let own = weighted(verdicts.iter(), |v| v.confidence);
            let confidence = agreement * rules.agreement_factor + own * rules.confidence_factor;
            ConsensusResult { score, confidence, metadata: vec![("agreement", agreement.into())] }
        }
        ConsensusStrategy::Majority => {
            let fails = verdicts.len() - passes;
            let score = match passes.cmp(&fails) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 0.5,
            };
            let margin = passes.abs_diff(fails) as f64 / verdicts.len() as f64;
            let own = mean(verdicts.iter(), |v| v.confidence);
            let confidence = margin * rules.agreement_factor + own * rules.confidence_factor;
            let metadata = vec![
                ("pass_votes", passes.into()),
                ("fail_votes", fails.into()),
                ("threshold", rules.threshold.into()),
            ];
            ConsensusResult { score, confidence, metadata }
        }
        ConsensusStrategy::Unanimous => {
            let all = passes == verdicts.len();
            let score = if all { mean(verdicts.iter(), |v| v.score) } else { 0.0 };
            let mut confidence: f64 = 1.0;
            for verdict in verdicts {
                confidence = confidence.min(verdict.confidence);
            }
            ConsensusResult {
                score,
                confidence,
                metadata: vec![("all_pass", all.into()), ("threshold", rules.threshold.into())],
            }
        }
        ConsensusStrategy::BestOfN => {
            let mut best: Vec<&JudgeVerdict> = verdicts.iter().collect();
            // A stable sort, so of equal verdicts the first declared one counts.
            best.sort_by(|a, b| (b.score * b.confidence).total_cmp(&(a.score * a.confidence)));
            if let Some(n) = rules.n {
                best.truncate((n as usize).max(1));
            }
            let score = weighted(best.iter().copied(), |v| v.score);
            let confidence = mean(best.iter().copied(), |v| v.confidence);
            let metadata = vec![("n", best.len().into()), ("total_judges", verdicts.len().into())];
            ConsensusResult { score, confidence, metadata }
        }
    })
}

/// An output to be read as a verdict.
#[derive(Debug)]
pub struct EvaluatedBallot<'a> {
    /// The name of the agent.
    pub by: &'a Arc<str>,
    /// The output.
    pub value: Value,
    /// The weight.
    pub weight: f64,
    /// Why there is no output, if it failed.
    pub failed: Option<Arc<str>>,
}

/// The value of an expression that combines outputs; outputs that are not verdicts are skipped.
pub fn of_outputs(outputs: &[EvaluatedBallot<'_>], rules: &ConsensusRule) -> Result<Value, RunError> {
    let (mut verdicts, mut silent) = (Vec::new(), Vec::new());
    for cast in outputs {
        match verdict::parse_verdict(&cast.value, cast.weight) {
            Ok(verdict) => verdicts.push(verdict),
            Err(why) => {
                let why = match &cast.failed {
                    Some(failure) => failure.clone(),
                    None => why.into(),
                };
                silent.push(MissingVerdict { by: cast.by.clone(), why });
            }
        }
    }
    let combined = combine_verdicts(&verdicts, &silent, rules)?;
    Ok(show(&combined, &verdicts, rules, outputs.iter().map(|cast| cast.value.clone()).collect()))
}

/// `` `one`, `two` (2 times): the answer is not a verdict ``, one text for each reason.
fn told(silent: &[MissingVerdict]) -> Vec<String> {
    let mut reasons: IndexMap<&str, IndexMap<&str, u32>> = IndexMap::new();
    for MissingVerdict { by, why } in silent {
        *reasons.entry(why).or_default().entry(by).or_default() += 1;
    }
    let mut told = Vec::new();
    for (why, who) in reasons {
        let mut names = Vec::new();
        for (by, times) in who {
            names.push(match times {
                1 => format!("`{by}`"),
                times => format!("`{by}` ({times} times)"),
            });
        }
        told.push(format!("{}: {why}", names.join(", ")));
    }
    told
}

/// `{score, confidence, binary_valid, strategy, individual_scores, metadata}`.
fn show(combined: &ConsensusResult, verdicts: &[JudgeVerdict], rules: &ConsensusRule, outputs: Vec<Value>) -> Value {
    let strategy = match rules.strategy {
        ConsensusStrategy::WeightedAverage => "weighted_average",
        ConsensusStrategy::Majority => "majority",
        ConsensusStrategy::Unanimous => "unanimous",
        ConsensusStrategy::BestOfN => "best_of_n",
    };
    let valid = combined.score >= rules.threshold;
    let mut metadata = combined.metadata.clone();
    metadata.push(("verdict", if valid { "pass" } else { "fail" }.into()));
    metadata.push(("individual_outputs", outputs.into()));
    metadata.push(("individual_results", verdicts.iter().map(|v| v.answer.clone()).collect()));
    metadata.push(("reasoning", join_reasoning(verdicts).into()));
    let members: [(&str, Value); 6] = [
        ("score", combined.score.into()),
        ("confidence", combined.confidence.into()),
        ("binary_valid", valid.into()),
        ("strategy", strategy.into()),
        ("individual_scores", verdicts.iter().map(|v| v.score).collect()),
        ("metadata", metadata.into_iter().collect()),
    ];
    members.into_iter().collect()
}

/// What all judges have said, one after the other.
pub fn join_reasoning(verdicts: &[JudgeVerdict]) -> String {
    let mut said = Vec::new();
    for verdict in verdicts {
        if !verdict.reasoning.is_empty() {
            said.push(&*verdict.reasoning);
        }
    }
    said.join("\n")
}

fn mean<'v>(verdicts: impl ExactSizeIterator<Item = &'v JudgeVerdict>, number: impl Fn(&JudgeVerdict) -> f64) -> f64 {
    let count = verdicts.len().max(1);
    verdicts.map(number).sum::<f64>() / count as f64
}

fn weighted<'v>(verdicts: impl Iterator<Item = &'v JudgeVerdict>, number: impl Fn(&JudgeVerdict) -> f64) -> f64 {
    let (mut sum, mut weights) = (0.0, 0.0);
    for verdict in verdicts {
        sum += number(verdict) * verdict.weight;
        weights += verdict.weight;
    }
    if weights > 0.0 { sum / weights } else { 0.0 }
}

fn variance(verdicts: &[JudgeVerdict], mean: f64) -> f64 {
    self::mean(verdicts.iter(), |v| (v.score - mean).powi(2))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn rules(strategy: ConsensusStrategy) -> ConsensusRule {
        ConsensusRule {
            strategy,
            threshold: 0.7,
            min_judges: 1,
            n: None,
            agreement_factor: 0.7,
            confidence_factor: 0.3,
        }
    }

    fn verdicts(of: &[(f64, f64, f64)]) -> Vec<JudgeVerdict> {
        let verdict = |&(score, confidence, weight): &(f64, f64, f64)| JudgeVerdict {
            score,
            confidence,
            weight,
            reasoning: String::new(),
            answer: Value::Null,
        };
        of.iter().map(verdict).collect()
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn weighted_average_weighs_scores_and_rewards_agreement() {
        let c = combine_verdicts(
            &verdicts(&[(1.0, 1.0, 3.0), (0.0, 0.0, 1.0)]),
            &[],
            &rules(ConsensusStrategy::WeightedAverage),
        )
        .unwrap();
        assert!(close(c.score, 0.75));
        // Variance around the weighted mean: ((0.25)^2 + (0.75)^2) / 2 = 0.3125, capped at the maximum.
        assert!(close(c.confidence, 0.75 * 0.3));
        let same = combine_verdicts(
            &verdicts(&[(0.9, 0.5, 1.0), (0.9, 0.5, 1.0)]),
            &[],
            &rules(ConsensusStrategy::WeightedAverage),
        )
        .unwrap();
        assert!(close(same.confidence, 0.7 + 0.15));
    }

    #[test]
    fn majority_counts_votes_and_a_tie_is_half() {
        let c =
            combine_verdicts(&verdicts(&[(0.7, 1.0, 1.0), (0.69, 1.0, 1.0)]), &[], &rules(ConsensusStrategy::Majority))
                .unwrap();
        assert!(close(c.score, 0.5) && close(c.confidence, 0.3));
        let c = combine_verdicts(
            &verdicts(&[(0.8, 0.6, 1.0), (0.9, 0.6, 1.0), (0.1, 0.6, 1.0)]),
            &[],
            &rules(ConsensusStrategy::Majority),
        );
        let c = c.unwrap();
        assert!(close(c.score, 1.0) && close(c.confidence, 0.7 / 3.0 + 0.18));
        assert_eq!(c.metadata.first(), Some(&("pass_votes", Value::from(2))));
    }

    #[test]
    fn unanimous_needs_every_verdict() {
        let c =
            combine_verdicts(&verdicts(&[(0.8, 0.6, 1.0), (0.9, 0.9, 1.0)]), &[], &rules(ConsensusStrategy::Unanimous))
                .unwrap();
        assert!(close(c.score, 0.85) && close(c.confidence, 0.6));
        let c =
            combine_verdicts(&verdicts(&[(0.6, 0.6, 1.0), (0.9, 0.9, 1.0)]), &[], &rules(ConsensusStrategy::Unanimous))
                .unwrap();
        assert!(close(c.score, 0.0));
    }

    #[test]
    fn best_of_n_takes_the_strongest() {
        let best = ConsensusRule { n: Some(1), ..rules(ConsensusStrategy::BestOfN) };
        let c = combine_verdicts(&verdicts(&[(1.0, 0.1, 1.0), (0.8, 0.9, 1.0)]), &[], &best).unwrap();
        assert!(close(c.score, 0.8) && close(c.confidence, 0.9));
    }

    #[test]
    fn too_few_verdicts_are_a_failure() {
        let few = ConsensusRule { min_judges: 2, ..rules(ConsensusStrategy::Majority) };
        let silent = |by: &str, why: &str| MissingVerdict { by: by.into(), why: why.into() };
        let missing = [silent("a", "too slow"), silent("b", "the answer is not a verdict"), silent("a", "too slow")];
        let error = combine_verdicts(&verdicts(&[(1.0, 1.0, 1.0)]), &missing, &few).unwrap_err();
        assert_eq!(error.code, "CONSENSUS_FAILED");
        expect!["only 1 of 2 required verdicts arrived; `a` (2 times): too slow; `b`: the answer is not a verdict"]
            .assert_eq(&error.message);
        assert_eq!(
            combine_verdicts(&[], &[], &rules(ConsensusStrategy::Majority)).unwrap_err().code,
            "CONSENSUS_FAILED"
        );
    }
}
