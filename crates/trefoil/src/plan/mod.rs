//! A plan: what a run would do, in order, without doing it. What each step reads and writes, which model it asks, and how
//! many calls there are in the worst case. With prices also what it costs.

pub(crate) mod beneath;
mod build;
mod json;
mod money;
mod text;

use trefoil_ir::Program;
use trefoil_machine::Flags;
use trefoil_syntax::Files;
use trefoil_template::Value;

#[doc(hidden)]
pub use beneath::FlowCalled;
pub use money::Money;
pub use trefoil_check::semantic::bound::{Bound, Calls};

/// A plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The entry flow.
    pub name: String,
    /// What it is: `agent`, `pipeline`, `workflow`.
    pub sort: &'static str,
    /// Where it is.
    pub place: Option<Place>,
    /// What it takes.
    pub inputs: Vec<Input>,
    /// It also takes plain text.
    pub takes_text: bool,
    /// What it does.
    pub steps: Vec<Step>,
    /// What its output is made of, when it is not simply the last step's.
    pub output: Vec<String>,
    /// The models it can ask, with the calls of each.
    pub models: Vec<(String, Bound)>,
    /// All calls of a run.
    pub calls: Calls,
    /// What they cost, if somebody has said what models cost.
    pub money: Option<Money>,
    /// Ceilings that stop a run sooner.
    pub limits: Vec<String>,
    /// What keeps it from running: features that this version does not run, agents that are not defined.
    pub obstacles: Vec<Obstacle>,
    /// Whether there are more steps than are written out; the numbers of calls are those of all of them.
    pub cut: bool,
}

/// A place in a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as it was given.
    pub file: String,
    /// From 1.
    pub line: u32,
}

/// A declared input.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its JSON Schema.
    pub schema: Value,
    /// A run does not start without it.
    pub required: bool,
    /// What stands in for it.
    pub default: Option<Value>,
}

/// A step, or a structure of steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// What the manifest calls it; a structure that it does not name says what it does.
    pub name: String,
    /// `agent`, `tool`, `parallel`, ...
    pub sort: &'static str,
    /// Where it is.
    pub place: Option<Place>,
    /// What it is subject to and made of: conditions, limits, what comes before it, where it leads.
    pub notes: Vec<String>,
    /// The model it asks, as the manifest says.
    pub model: Option<String>,
    /// What it reads.
    pub reads: Vec<String>,
    /// Where its result goes.
    pub writes: Option<String>,
    /// How often it happens in a run at most; of a structure, how often it begins.
    pub at_most: Bound,
    /// What is in it.
    pub steps: Vec<Step>,
}

/// Something that keeps a run from starting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle {
    /// What.
    pub what: String,
    /// Where.
    pub place: Option<Place>,
}

impl Plan {
    /// The plan of a program. Whatever its tools are: calls of tools are counted, not what they do.
    pub fn of(program: &Program, files: &Files) -> Self {
        Self::with_flows(program, files, &[])
    }
    /// The same with what the flows do that are its tools.
    #[doc(hidden)]
    pub fn with_flows(program: &Program, files: &Files, called: &[FlowCalled]) -> Self {
        build::build(program, files, called)
    }
    /// The same with what it costs, and with what the flows do that are its tools. `money`: the prices and context windows of the
    /// models, and those that may answer instead; where a price is missing it is not known.
    #[doc(hidden)]
    pub fn with_money(program: &Program, files: &Files, money: &Flags, called: &[FlowCalled]) -> Self {
        let cost = money::money(program, files, money, called);
        Self { money: Some(cost), ..Self::with_flows(program, files, called) }
    }
    /// For people.
    pub fn text(&self) -> String {
        text::text(self)
    }
    /// For programs.
    pub fn json(&self) -> serde_json::Value {
        json::json(self)
    }
}
