//! The limits of a run.

use clap::ValueEnum;
use trefoil_host::engine::Engine;
use trefoil_machine::Reserve;
use trefoil_template::limits::RUN_CALLS;

/// Amount that a cost limit reserves for a call.
#[derive(Clone, Copy, ValueEnum)]
pub enum ReserveArg {
    /// The expected cost.
    Estimate,
    /// The maximum cost, so that the limit is never exceeded.
    Bound,
}

impl From<ReserveArg> for Reserve {
    fn from(arg: ReserveArg) -> Self {
        match arg {
            ReserveArg::Estimate => Self::Estimate,
            ReserveArg::Bound => Self::Bound,
        }
    }
}

/// Applies limits to an engine: calls, cost in micro-dollars, and the amount to reserve for a call.
pub fn limit_engine(engine: Engine, calls: Option<u64>, micro: Option<u64>, reserve: Option<ReserveArg>) -> Engine {
    let engine = calls.into_iter().fold(engine, Engine::max_calls);
    let engine = micro.into_iter().fold(engine, Engine::max_cost_micro);
    reserve.into_iter().fold(engine, |engine, reserve| engine.reserve(reserve.into()))
}

/// Parses dollars to micro-dollars.
pub fn parse_dollars(text: &str) -> Result<u64, String> {
    trefoil_ir::prices::parse_dollars(text).ok_or_else(|| "write a number of dollars: `0.50`".to_owned())
}

/// A limit that an earlier run has, or `none` to lift it.
fn or_none(text: &str, none: u64, parse: impl FnOnce(&str) -> Result<u64, String>) -> Result<u64, String> {
    match text {
        "none" => Ok(none),
        _ => parse(text).map_err(|why| format!("{why}, or `none`")),
    }
}

/// Parses dollars to micro-dollars; `none` lifts the limit.
pub fn dollars_or_none(text: &str) -> Result<u64, String> {
    or_none(text, Engine::NO_COST_LIMIT, parse_dollars)
}

/// Parses a number of calls; `none` is the limit of a run that was started without one.
pub fn calls_or_none(text: &str) -> Result<u64, String> {
    or_none(text, RUN_CALLS, |text| text.parse().map_err(|_| "write a whole number".to_owned()))
}
