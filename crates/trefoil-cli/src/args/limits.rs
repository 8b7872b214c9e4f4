//! The limits of a run.

use clap::{Args, ValueEnum};
use trefoil_machine::{LimitKind, Reserve, RunLimits, RunSpec};

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

/// The limits of a run. The descriptions are those of `run`.
#[derive(Args, Clone, Copy)]
pub struct LimitArgs {
    /// Maximum number of model calls; refuses to start if the run could exceed it (with `--reuse`, stops before it would)
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_calls: Option<u64>,
    /// Maximum cost in dollars; a call that may exceed it does not start (needs the prices of all models)
    #[arg(long, value_name = "USD", value_parser = parse_dollars, allow_negative_numbers = true)]
    pub max_cost: Option<u64>,
}

impl LimitArgs {
    /// The limits.
    pub fn run_limits(&self) -> RunLimits {
        let Self { max_calls, max_cost } = *self;
        RunLimits { calls: max_calls, tokens: None, cost_micro: max_cost }
    }
}

/// The settings of a run that its journal stores, from the command line. The descriptions are those of `run`.
#[derive(Args, Clone, Copy)]
pub struct SpecArgs {
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Amount that a cost limit reserves for each call: its expected cost, or its maximum cost [default: estimate]
    #[arg(long, value_name = "WHAT")]
    pub reserve: Option<ReserveArg>,
}

impl SpecArgs {
    /// The settings.
    pub fn run_spec(&self) -> RunSpec {
        RunSpec { limits: self.limits.run_limits(), reserve: self.reserve.map(Reserve::from), ..RunSpec::NONE }
    }
}

/// Parses dollars to micro-dollars.
pub fn parse_dollars(text: &str) -> Result<u64, String> {
    LimitKind::Cost.parse_amount(text)
}

/// Parses a limit in a command about an earlier run: `none` is that of a run that was started without one.
pub fn or_none(kind: LimitKind) -> impl Fn(&str) -> Result<u64, String> + Clone {
    move |text| match text {
        "none" => Ok(kind.of_default()),
        _ => kind.parse_amount(text).map_err(|why| format!("{why}, or `none`")),
    }
}
