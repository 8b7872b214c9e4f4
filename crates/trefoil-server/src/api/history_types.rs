//! What the API says of many runs.

use serde::Serialize;
use trefoil_host::flow_history::{FlowVersion, PromptHistory, PromptVersion, RecentRuns, StepSpending};
use trefoil_runtime::Usage;
use trefoil_store::{Record, Status};
use trefoil_view::trace::rfc3339_ms;
use utoipa::ToSchema;

use super::types::{CostAmount, TokenCounts};

/// The digits of a version that are shown.
const DIGITS: usize = 8;
/// The most steps in an answer.
const STEPS: usize = 200;

/// How much was read for the numbers.
#[derive(Debug, Serialize, ToSchema)]
pub struct HistoryReading {
    /// How many runs count, the newest.
    pub runs: usize,
    /// Whether there are older ones in the time that was asked for, which do not count.
    pub more: bool,
    /// Of how many of them the journal was read, the newest: steps and prompts are of these only.
    pub journals: usize,
    /// Whether the last of these journals was not read to its end.
    pub cut: bool,
    /// How many journals are gone, or cannot be read by this version.
    pub unreadable: usize,
    /// How many entries were read.
    pub entries: u64,
}

impl From<&RecentRuns> for HistoryReading {
    fn from(history: &RecentRuns) -> Self {
        Self {
            runs: history.records.len(),
            more: history.has_more,
            journals: history.journals,
            cut: history.is_cut,
            unreadable: history.unreadable,
            entries: history.entries,
        }
    }
}

/// What the model calls of a step used, with all its passes, items and tries.
#[derive(Debug, Serialize, ToSchema)]
pub struct StepCost {
    /// The flow whose runs have the step.
    pub flow: String,
    /// The labels on the way to the step.
    pub step: String,
    /// The model that answered last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// In how many runs it was.
    pub runs: usize,
    /// The calls that were made.
    pub calls: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Results of earlier runs that were used instead of a call.
    pub reused: u64,
    /// Tokens.
    pub tokens: TokenCounts,
    /// What the calls cost together.
    pub cost: CostAmount,
    /// What one of them cost on average; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_per_call: Option<CostAmount>,
    /// How long one of them took on average, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_ms: Option<u64>,
    /// The call that cost most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dearest: Option<DearestCallCost>,
}

/// The most expensive call of a step.
#[derive(Debug, Serialize, ToSchema)]
pub struct DearestCallCost {
    /// Its run.
    pub run: String,
    /// Its key in that run.
    pub key: String,
    /// What it cost.
    pub cost: CostAmount,
}

impl From<&StepSpending> for StepCost {
    fn from(spending: &StepSpending) -> Self {
        let dearest = spending.dearest.as_ref().map(|call| DearestCallCost {
            run: call.run.clone(),
            key: call.key.to_string(),
            cost: (&Usage { cost_micro: call.cost_micro, ..Usage::default() }).into(),
        });
        Self {
            flow: spending.flow.clone(),
            step: spending.step.clone(),
            model: spending.model.clone(),
            runs: spending.runs,
            calls: spending.calls,
            failed: spending.failed,
            reused: spending.reused,
            tokens: (&spending.usage).into(),
            cost: (&spending.usage).into(),
            cost_per_call: mean_cost(&spending.usage, spending.calls),
            call_ms: mean(spending.duration_ms, spending.calls),
            dearest,
        }
    }
}

/// The first steps of a history: the most expensive.
pub fn step_costs(history: &RecentRuns) -> Vec<StepCost> {
    history.steps.iter().take(STEPS).map(StepCost::from).collect()
}

fn mean(sum: u64, count: u64) -> Option<u64> {
    sum.checked_div(count)
}

/// What one of so many cost on average. What is not known of the sum is not known of it.
fn mean_cost(usage: &Usage, count: u64) -> Option<CostAmount> {
    let cost_micro = mean(usage.cost_micro, count)?;
    Some((&Usage { cost_micro, unpriced_calls: usage.unpriced_calls, ..Usage::default() }).into())
}

/// The first digits of a hash.
fn short(hash: &str) -> String {
    hash.get(..DIGITS).unwrap_or(hash).to_owned()
}

/// A run among many.
#[derive(Debug, Serialize, ToSchema)]
pub struct HistoryRun {
    /// Its id.
    pub run: String,
    /// Its status.
    pub status: String,
    /// When it started (RFC 3339).
    pub started: String,
    /// How long it took from its start to its end, in milliseconds, also while it waited; absent if it has not ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Model calls.
    pub calls: u64,
    /// What it has cost.
    pub cost: CostAmount,
    /// The version of the flow.
    pub version: String,
    /// The code of its failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl From<&Record> for HistoryRun {
    fn from(record: &Record) -> Self {
        Self {
            run: record.run.clone(),
            status: record.status.name().to_owned(),
            started: rfc3339_ms(record.started),
            duration_ms: record.ended.map(|ended| ended.saturating_sub(record.started)),
            calls: record.spent.calls,
            cost: (&record.spent.usage).into(),
            version: short(&record.program),
            error: record.error.as_ref().map(|(code, _)| code.clone()),
        }
    }
}

/// A version of a flow, and how its runs fared.
#[derive(Debug, Serialize, ToSchema)]
pub struct FlowVersionSummary {
    /// The first digits of the fingerprint of its program.
    pub version: String,
    /// When its first run started (RFC 3339).
    pub first: String,
    /// When its last run started (RFC 3339).
    pub last: String,
    /// Its last run.
    pub last_run: String,
    /// How many runs it has.
    pub runs: usize,
    /// How many of them have ended.
    pub ended: usize,
    /// How many of them failed.
    pub failed: usize,
    /// What they cost together.
    pub cost: CostAmount,
    /// What one of them cost on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_per_run: Option<CostAmount>,
    /// How long one that has ended took on average, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_ms: Option<u64>,
}

impl From<&FlowVersion> for FlowVersionSummary {
    fn from(version: &FlowVersion) -> Self {
        Self {
            version: short(&version.program),
            first: rfc3339_ms(version.first),
            last: rfc3339_ms(version.last),
            last_run: version.last_run.clone(),
            runs: version.runs,
            ended: version.ended,
            failed: version.failed,
            cost: (&version.usage).into(),
            cost_per_run: mean_cost(&version.usage, version.runs as u64),
            run_ms: mean(version.duration_ms, version.ended as u64),
        }
    }
}

/// The versions of the prompt of a step.
#[derive(Debug, Serialize, ToSchema)]
pub struct StepPromptHistory {
    /// The labels on the way to the step.
    pub step: String,
    /// Its versions, newest first.
    pub versions: Vec<PromptVersionSummary>,
}

/// A version of a prompt: its texts, its model and its parameters.
#[derive(Debug, Serialize, ToSchema)]
pub struct PromptVersionSummary {
    /// The first digits of its hash; absent if the program of its runs was not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// When the first run with it started (RFC 3339).
    pub first: String,
    /// When the last run with it started (RFC 3339).
    pub last: String,
    /// The last run with it.
    pub last_run: String,
    /// What its calls used.
    pub used: StepCost,
}

impl From<&PromptHistory> for StepPromptHistory {
    fn from(history: &PromptHistory) -> Self {
        Self { step: history.step.clone(), versions: history.versions.iter().map(PromptVersionSummary::from).collect() }
    }
}

impl From<&PromptVersion> for PromptVersionSummary {
    fn from(version: &PromptVersion) -> Self {
        Self {
            version: version.version.as_deref().map(short),
            first: rfc3339_ms(version.first),
            last: rfc3339_ms(version.last),
            last_run: version.last_run.clone(),
            used: (&version.spending).into(),
        }
    }
}

/// What the runs of a flow cost. What a run has called belongs to it: a called run is none of its own.
#[derive(Debug, Serialize, ToSchema)]
pub struct FlowCost {
    /// The flow.
    pub flow: String,
    /// How many runs it has.
    pub runs: usize,
    /// How many of them failed.
    pub failed: usize,
    /// What they cost together.
    pub cost: CostAmount,
}

/// What runs cost by flow, the most expensive first. Of all records, also of those without a journal.
pub fn flow_costs(records: &[Record]) -> Vec<FlowCost> {
    let mut all: Vec<(&str, usize, usize, Usage)> = Vec::new();
    for record in records {
        if record.parent.is_some() {
            continue;
        }
        let failed = usize::from(record.status == Status::Failed);
        match all.iter_mut().find(|(flow, ..)| *flow == record.flow) {
            Some((_, runs, failures, usage)) => {
                *runs += 1;
                *failures += failed;
                usage.add_usage(record.spent.usage);
            }
            None => all.push((&record.flow, 1, failed, record.spent.usage)),
        }
    }
    all.sort_by_key(|(.., usage)| std::cmp::Reverse(usage.cost_micro));
    let mut costs = Vec::new();
    for (flow, runs, failed, usage) in all {
        costs.push(FlowCost { flow: flow.to_owned(), runs, failed, cost: (&usage).into() });
    }
    costs
}
