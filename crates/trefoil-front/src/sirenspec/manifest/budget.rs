//! `budget`: limits of a run.

use trefoil_ir::{Budget, OnExceeded};
use trefoil_syntax::Diagnostic;

use super::scalar;
use crate::MappingReader;

/// Converts dollars to micro-dollars. A positive amount stays positive.
pub fn to_micro_dollars(dollars: f64) -> u64 {
    let micro = (dollars * 1e6).round() as u64;
    if dollars > 0.0 { micro.max(1) } else { 0 }
}

/// `budget` at the top level; `None`: it has no readable limit.
pub fn read_budget(fields: &mut MappingReader<'_, '_>) -> Option<Budget> {
    let mut budget = fields.read_mapping("budget")?;
    let reader = budget.reader;
    let max_tokens = scalar::read_whole_number(&mut budget, "max_tokens", 1..=i64::MAX).map(i64::unsigned_abs);
    let max_calls = scalar::read_whole_number(&mut budget, "max_calls", 1..=i64::MAX).map(i64::unsigned_abs);
    let calls_at = budget.take("max_calls").map(|entry| reader.location_of(entry.key.span));
    let max_duration_ms = scalar::read_seconds(&mut budget, "max_duration_s", false);
    let max_cost_micro = read_max_cost(&mut budget);
    let on_exceeded = budget
        .read_word(
            "on_exceeded",
            &[("abort", OnExceeded::Abort), ("warn", OnExceeded::Warn), ("skip_remaining", OnExceeded::SkipRemaining)],
        )
        .unwrap_or(OnExceeded::Abort);
    let ceilings = ["max_tokens", "max_calls", "max_duration_s", "max_cost_usd"];
    if ceilings.iter().all(|key| budget.take(key).is_none()) {
        reader.report_finding(
            Diagnostic::new_error(
                "missing-key",
                reader.location_of(budget.owner_span()),
                "`budget` needs at least one limit",
            )
            .with_help("set `max_tokens`, `max_calls`, `max_cost_usd` or `max_duration_s`"),
        );
    }
    budget.finish_mapping();
    if [max_tokens, max_calls, max_duration_ms, max_cost_micro] == [None; 4] {
        return None;
    }
    Some(Budget { max_tokens, max_duration_ms, max_calls, calls_at, max_cost_micro, on_exceeded })
}

fn read_max_cost(budget: &mut MappingReader<'_, '_>) -> Option<u64> {
    let entry = budget.take("max_cost_usd")?;
    let dollars = budget.reader.read_number(&entry.value, "max_cost_usd", 0.0..=f64::INFINITY)?;
    if dollars <= 0.0 {
        budget.reader.report_error("out-of-range", entry.value.span, "`max_cost_usd` must be more than 0");
        return None;
    }
    Some(to_micro_dollars(dollars))
}
