//! The limits of a run.

use clap::{Args, ValueEnum};
use trefoil_host::engine::Engine;
use trefoil_machine::{Reserve, RunSpec};
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

/// The settings of a run that its journal stores, from the command line. The descriptions are those of `run`.
#[derive(Args, Clone, Copy)]
pub struct SpecArgs {
    /// Maximum number of model calls; refuses to start if the run could exceed it (with `--reuse`, stops before it would)
    #[arg(long, value_name = "N")]
    pub max_calls: Option<u64>,
    /// Maximum cost in dollars; a call that may exceed it does not start (needs the prices of all models)
    #[arg(long, value_name = "USD", value_parser = parse_dollars)]
    pub max_cost: Option<u64>,
    /// Amount that a cost limit reserves for each call: its expected cost, or its maximum cost [default: estimate]
    #[arg(long, value_name = "WHAT")]
    pub reserve: Option<ReserveArg>,
}

impl SpecArgs {
    /// The settings.
    pub fn spec(&self) -> RunSpec {
        RunSpec { max_calls: self.max_calls, max_cost_micro: self.max_cost, reserve: self.reserve.map(Reserve::from) }
    }
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
