//! `budget`: ceilings of a run.

use trefoil_ir::OnExceeded;
use trefoil_syntax::Diagnostic;

use super::refusal::Refusal;
use super::scalar;
use crate::Fields;

/// Ceilings. Prices are read, and refused.
#[derive(Debug, Clone)]
pub struct Budget {
    /// As the IR has it.
    pub ceilings: trefoil_ir::Budget,
    /// `max_cost_usd`, when it is there.
    pub price: Option<Refusal>,
}

impl Budget {
    /// The ceilings that can be enforced, if there is any.
    pub fn any(&self) -> Option<trefoil_ir::Budget> {
        let c = &self.ceilings;
        let some = c.max_tokens.is_some() || c.max_duration_ms.is_some() || c.max_calls.is_some();
        some.then(|| c.clone())
    }
}

/// What both places that name a price say about it.
pub const NO_PRICES: &str = "a limit in dollars needs prices; use `max_tokens`, `max_calls` or `max_duration_s`";

/// `budget` at the top.
pub fn read(fields: &mut Fields<'_, '_>) -> Option<Budget> {
    let mut budget = fields.fields("budget")?;
    let reader = budget.reader;
    let max_tokens = scalar::whole(&mut budget, "max_tokens", 1..=i64::MAX).map(i64::unsigned_abs);
    let max_calls = scalar::whole(&mut budget, "max_calls", 1..=i64::MAX).map(i64::unsigned_abs);
    let calls_at = budget.take("max_calls").map(|entry| reader.at(entry.key.span));
    let max_duration_ms = scalar::seconds(&mut budget, "max_duration_s", false);
    let price = budget.take("max_cost_usd").and_then(|entry| {
        let dollars = reader.number(&entry.value, "max_cost_usd", 0.0..=f64::INFINITY)?;
        if dollars <= 0.0 {
            reader.error("out-of-range", entry.value.span, "`max_cost_usd` must be more than 0");
            return None;
        }
        Some(Refusal::report(reader, reader.at(entry.key.span), "max_cost_usd", NO_PRICES))
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
            Diagnostic::error("missing-key", reader.at(budget.head()), "`budget` needs at least one limit")
                .help("set `max_tokens`, `max_calls` or `max_duration_s`"),
        );
    }
    budget.finish();
    let ceilings = trefoil_ir::Budget { max_tokens, max_duration_ms, max_calls, calls_at, on_exceeded };
    Some(Budget { ceilings, price })
}
