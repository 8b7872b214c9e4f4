//! What the API says of runs.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use trefoil_runtime::Usage;
use trefoil_store::{Content, Record};
use trefoil_view::trace::rfc3339_ms;
use utoipa::ToSchema;

use super::published_schemas::{OpenQuestion, StoppedBefore};

/// What calls cost. A call without a known price is never counted as free.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CostAmount {
    /// The known part in US dollars; absent if nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// `known`: this is all; `partial`: it is at least this; `unknown`.
    pub completeness: CostCompleteness,
    /// For people: `$1.20`, `$1.20+`, `unknown`.
    pub text: String,
    /// How many calls have no known price.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced_calls: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// How much of a cost is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CostCompleteness {
    /// All of it.
    Known,
    /// A part of it.
    Partial,
    /// Nothing.
    Unknown,
}

impl From<&Usage> for CostAmount {
    fn from(usage: &Usage) -> Self {
        let usd = usage.cost_micro as f64 / 1e6;
        let amount = format!("${}", trim_zeros(usage.cost_micro));
        let (usd, completeness, text) = match (usage.cost_micro, usage.unpriced_calls) {
            (_, 0) => (Some(usd), CostCompleteness::Known, amount),
            (0, _) => (None, CostCompleteness::Unknown, "unknown".to_owned()),
            _ => (Some(usd), CostCompleteness::Partial, format!("{amount}+")),
        };
        Self { usd, completeness, text, unpriced_calls: usage.unpriced_calls }
    }
}

/// Dollars with at least two digits after the point, and no more than it needs.
fn trim_zeros(micro: u64) -> String {
    let mut text = format!("{}.{:06}", micro / 1_000_000, micro % 1_000_000);
    while text.ends_with('0') && text.len() - text.find('.').unwrap_or_default() > 3 {
        text.pop();
    }
    text
}

/// Tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TokenCounts {
    /// Input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Those of the input that were read from a cache.
    pub cached: u64,
    /// Calls of which the tokens are unknown; they are missing in the other numbers.
    pub unknown_calls: u64,
}

impl From<&Usage> for TokenCounts {
    fn from(usage: &Usage) -> Self {
        Self {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cached: usage.cached_tokens,
            unknown_calls: usage.unknown_calls,
        }
    }
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunErrorSummary {
    /// The stable code.
    pub code: String,
    /// What happened.
    pub message: String,
}

/// The items of fan-outs in which some failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ItemSummary {
    /// How many there were.
    pub total: u32,
    /// How many failed.
    pub failed: u32,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunSummary {
    /// Its id.
    pub run: String,
    /// Its flow.
    pub flow: String,
    /// `pending`, `running`, `interrupted`, `waiting`, `completed`, `failed` or `cancelled`.
    pub status: String,
    /// When it started (RFC 3339).
    pub started: String,
    /// When it ended (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Model calls.
    pub calls: u64,
    /// Tokens.
    pub tokens: TokenCounts,
    /// What it has cost.
    pub cost: CostAmount,
    /// The number of entries of its journal.
    pub entries: u64,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RunErrorSummary>,
    /// Items that failed although the run went on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<ItemSummary>,
    /// The run that called it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The run whose results it reuses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// From when on it can continue without an answer (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_at: Option<String>,
    /// What is kept of its prompts and answers, if not everything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Its labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
}

impl From<&Record> for RunSummary {
    fn from(record: &Record) -> Self {
        let error = record.error.clone();
        Self {
            run: record.run.clone(),
            flow: record.flow.clone(),
            status: record.status.name().to_owned(),
            started: rfc3339_ms(record.started),
            ended: record.ended.map(rfc3339_ms),
            calls: record.spent.calls,
            tokens: (&record.spent.usage).into(),
            cost: (&record.spent.usage).into(),
            entries: record.entries,
            error: error.map(|(code, message)| RunErrorSummary { code, message }),
            items: record.items.map(|items| ItemSummary { total: items.total, failed: items.failed }),
            parent: record.parent.clone(),
            base: record.base.clone(),
            wake_at: record.wake_at.map(rfc3339_ms),
            content: if record.content == Content::All { None } else { Some(record.content.name().to_owned()) },
            labels: record.labels.iter().cloned().collect(),
        }
    }
}

/// A run with what it waits for and what came of it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct RunDetail {
    /// The run.
    #[serde(flatten)]
    pub summary: RunSummary,
    /// Its result, if it is completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub result: Option<Json>,
    /// What it waits for: `waiting`, each with its question, and `stopped`, as in `trefoil runs show --output json`.
    #[serde(flatten)]
    #[schema(value_type = OpenWaitParts)]
    pub wait: Map<String, Json>,
}

/// What a run waits for.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct OpenWaitParts {
    /// The questions and decisions that are open.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<OpenQuestion>)]
    pub waiting: Vec<Json>,
    /// What it stopped before, because somebody has to allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<StoppedBefore>)]
    pub stopped: Option<Json>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_without_a_price_is_never_zero() {
        let text = |cost_micro, unpriced_calls| {
            CostAmount::from(&Usage { cost_micro, unpriced_calls, ..Usage::default() }).text
        };
        assert_eq!(text(0, 0), "$0.00");
        assert_eq!(text(1_200_000, 0), "$1.20");
        assert_eq!(text(1_234, 0), "$0.001234");
        assert_eq!(text(1_200_000, 3), "$1.20+");
        assert_eq!(text(0, 3), "unknown");
        assert_eq!(CostAmount::from(&Usage { unpriced_calls: 1, ..Usage::default() }).usd, None);
    }
}
