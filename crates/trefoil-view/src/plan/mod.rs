//! Plans: what a run would do, in order, without running it. What each step reads and writes, which model it uses, and
//! the maximum number of calls; with prices, also the cost.

mod builder;
pub mod called_flows;
mod cost;
mod json;
mod location;
mod proofs;
mod text;

use trefoil_check::proof::ProgramProof;
use trefoil_ir::Program;
use trefoil_machine::Flags;
use trefoil_syntax::{Diagnostic, Location, SourceFiles};
use trefoil_template::Value;

pub use called_flows::CalledFlow;
pub use cost::{ExpectedCost, PlanCost};
pub use location::PlanLocation;
pub use proofs::PlanProof;
pub use trefoil_check::semantic::call_bounds::{CallBound, CallBounds};

/// The JSON Schema of a plan.
pub const SCHEMA: &str = include_str!("schema.json");

/// A plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// The entry flow.
    pub name: String,
    /// Its kind: `agent`, `pipeline`, `workflow`.
    pub sort: &'static str,
    /// The place of the flow.
    pub place: Option<PlanLocation>,
    /// The inputs.
    pub inputs: Vec<DeclaredInput>,
    /// Whether it also accepts plain text.
    pub takes_text: bool,
    /// The steps.
    pub steps: Vec<PlanStep>,
    /// What the output is made from, unless it is simply the last step's result.
    pub output: Vec<String>,
    /// The models that it can use, with the calls of each.
    pub models: Vec<(String, CallBound)>,
    /// The maximum calls of a run.
    pub calls: CallBounds,
    /// Their cost, if prices were passed.
    pub money: Option<PlanCost>,
    /// Limits that end a run earlier.
    pub limits: Vec<String>,
    /// What prevents a run, although the checks find nothing: unsupported features, agents that are not defined, and what this
    /// machine lacks.
    pub obstacles: Vec<PlanObstacle>,
    /// What is proved about it, one for each kind of proof. Empty if it was not checked.
    pub proofs: Vec<PlanProof>,
    /// Whether there are more steps than are listed; the numbers of calls include all of them.
    pub cut: bool,
}

/// A declared input.
#[derive(Debug, Clone, PartialEq)]
pub struct DeclaredInput {
    /// Its name.
    pub name: String,
    /// Its JSON Schema.
    pub schema: Value,
    /// Whether it is required.
    pub required: bool,
    /// Its default.
    pub default: Option<Value>,
}

/// A step, or a structure of steps.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanStep {
    /// The name in the manifest; a structure without one is described.
    pub name: String,
    /// `agent`, `tool`, `parallel`, ...
    pub sort: &'static str,
    /// Its place.
    pub place: Option<PlanLocation>,
    /// Its conditions and limits, what precedes it, where it leads.
    pub notes: Vec<String>,
    /// The model, as in the manifest.
    pub model: Option<String>,
    /// What it reads.
    pub reads: Vec<String>,
    /// Where its result is stored.
    pub writes: Option<String>,
    /// The maximum number of times that it runs; for a structure, that it starts.
    pub at_most: CallBound,
    /// The steps in it.
    pub steps: Vec<PlanStep>,
}

/// Something that prevents a run from starting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanObstacle {
    /// The obstacle.
    pub what: String,
    /// What to do.
    pub help: Option<String>,
    /// Its place.
    pub place: Option<PlanLocation>,
}

impl Plan {
    /// The plan of a program. Calls of tools are counted, not what the tools do.
    pub fn for_program(program: &Program, files: &SourceFiles) -> Self {
        Self::with_flows(program, files, &[])
    }
    /// The same, including what flows do that are its tools.
    pub fn with_flows(program: &Program, files: &SourceFiles, called: &[CalledFlow]) -> Self {
        builder::build_plan(program, files, called)
    }
    /// The same with costs, and including what flows do that are its tools. `money`: the prices and context windows of
    /// the models, and their fallbacks. If a price is missing, the cost of that model is unknown.
    pub fn with_money(program: &Program, files: &SourceFiles, money: &Flags, called: &[CalledFlow]) -> Self {
        let cost = cost::estimate_cost(program, files, money, called);
        Self { money: Some(cost), ..Self::with_flows(program, files, called) }
    }
    /// The same with a limit on the cost of the run.
    #[must_use]
    pub fn with_limit(mut self, micro: u64) -> Self {
        self.money.iter_mut().for_each(|money| money.apply_limit(micro, "`--max-cost`"));
        self
    }
    /// The same with what earlier runs cost.
    #[must_use]
    pub fn with_expected(mut self, cost: ExpectedCost) -> Self {
        if let Some(money) = &mut self.money {
            money.expected = Some(cost);
        }
        self
    }
    /// The same with these reasons why it does not run here.
    #[must_use]
    pub fn with_obstacles(mut self, reasons: &[Diagnostic], files: &SourceFiles) -> Self {
        for reason in reasons {
            if !self.obstacles.iter().any(|known| known.what == reason.message) {
                let place = match (reason.file, reason.span) {
                    (Some(file), Some(span)) => PlanLocation::from_location(files, Location::new(file, span)),
                    _ => None,
                };
                self.obstacles.push(PlanObstacle { what: reason.message.clone(), help: reason.help.clone(), place });
            }
        }
        self
    }
    /// The same with what is proved. The last step, because the proof about cost is made from the rest of the plan.
    #[must_use]
    pub fn with_proofs(mut self, proofs: &[ProgramProof], files: &SourceFiles) -> Self {
        self.proofs = proofs.iter().map(|proof| PlanProof::from_proof(proof, &self, files)).collect();
        self
    }
    /// The text for people.
    pub fn render_text(&self) -> String {
        text::plan_text(self)
    }
    /// The JSON for programs.
    pub fn to_json(&self) -> serde_json::Value {
        json::plan_json(self)
    }
}
