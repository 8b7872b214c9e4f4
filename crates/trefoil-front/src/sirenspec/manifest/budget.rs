//! `budget`: limits of a run.

use trefoil_ir::{Budget, OnExceeded};
use trefoil_syntax::Diagnostic;

use super::scalar;
use crate::Fields;

/// Converts dollars to micro-dollars. A positive amount stays positive.
pub fn micro(dollars: f64) -> u64 {
    let micro = (dollars * 1e6).round() as u64;
    if dollars > 0.0 { micro.max(1) } else { 0 }
}

/// `budget` at the top level; `None`: it has no readable limit.
pub fn read(fields: &mut Fields<'_, '_>) -> Option<Budget> {
    let mut budget = fields.fields("budget")?;
    let reader = budget.reader;
    let max_tokens = scalar::whole(&mut budget, "max_tokens", 1..=i64::MAX).map(i64::unsigned_abs);
    let max_calls = scalar::whole(&mut budget, "max_calls", 1..=i64::MAX).map(i64::unsigned_abs);
    let calls_at = budget.take("max_calls").map(|entry| reader.at(entry.key.span));
    let max_duration_ms = scalar::seconds(&mut budget, "max_duration_s", false);
    let max_cost_micro = budget.take("max_cost_usd").and_then(|entry| {
        let dollars = reader.number(&entry.value, "max_cost_usd", 0.0..=f64::INFINITY)?;
        if dollars <= 0.0 {
            reader.error("out-of-range", entry.value.span, "`max_cost_usd` must be more than 0");
            return None;
        }
        Some(micro(dollars))
    });
    let on_exceeded = budget
        .word(
            "on_exceeded",
            &[("abort", OnExceeded::Abort), ("warn", OnExceeded::Warn), ("skip_remaining", OnExceeded::SkipRemaining)],
        )
        .unwrap_or(OnExceeded::Abort);
    let ceilings = ["max_tokens", "max_calls", "max_duration_s", "max_cost_usd"];
    if ceilings.iter().all(|key| budget.take(key).is_none()) {
        reader.report(
            Diagnostic::error("missing-key", reader.at(budget.owner()), "`budget` needs at least one limit")
                .help("set `max_tokens`, `max_calls`, `max_cost_usd` or `max_duration_s`"),
        );
    }
    budget.finish();
    let any = [max_tokens, max_calls, max_duration_ms, max_cost_micro].iter().any(Option::is_some);
    any.then_some(Budget { max_tokens, max_duration_ms, max_calls, calls_at, max_cost_micro, on_exceeded })
}
