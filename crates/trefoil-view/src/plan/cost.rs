//! The cost of a run before it starts: its maximum, if every call has a bound; what earlier runs cost; and an assumption.

use trefoil_check::semantic::call_cost::{PromptEstimate, conversation_turns, expected_cost, reserved_cost};
use trefoil_ir::prices::{DollarAmount, ModelPrice};
use trefoil_ir::{OnExceeded, Program, StepKind, walk};
use trefoil_machine::Flags;
use trefoil_syntax::SourceFiles;

use super::CallBound;
use super::called_flows::{self, CalledFlow, CallsPerTool};
use crate::descriptions;

/// The cost of a run, in micro-dollars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanCost {
    /// The maximum cost, with the maximum number of calls and prompts as long as the model accepts, or a limit below that. Calls
    /// that are interrupted and sent again are additional. `None`: a call has no bound; [`Self::lacks`] says which.
    pub at_most: Option<CallBound>,
    /// The limit that is the maximum, if one is: `the budget`.
    pub limited_by: Option<&'static str>,
    /// Why there is no maximum. Empty if there is one.
    pub lacks: Vec<String>,
    /// What earlier runs cost, if there are any.
    pub expected: Option<ExpectedCost>,
    /// An assumption: the cost if each loop has one pass, nothing is retried, and answers and values have a usual length. Of two
    /// branches, the more expensive one counts.
    pub assumed: CallBound,
    /// The models of unknown price. Their calls are not included.
    pub unpriced: Vec<String>,
    /// The models with a step that does not limit the answer (`max_tokens`).
    pub unlimited: Vec<String>,
}

/// What earlier runs of the same flow cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedCost {
    /// The mean, in micro-dollars.
    pub micro: u64,
    /// The number of runs.
    pub runs: usize,
}

/// What is unknown about the cost of single calls.
#[derive(Default)]
struct UnknownCost {
    /// The models of unknown price.
    unpriced: Vec<String>,
    /// The models with a step that does not limit the answer.
    unlimited: Vec<String>,
    /// Those steps.
    steps: Vec<String>,
    /// The models whose maximum prompt length is unknown.
    endless: Vec<String>,
}

/// The cost of a run of the entry flow, with these flows as its tools. `flags`: the prices and context windows of the
/// models, and their fallbacks.
pub(super) fn estimate_cost(program: &Program, files: &SourceFiles, flags: &Flags, called: &[CalledFlow]) -> PlanCost {
    let mut unknown = UnknownCost::default();
    unknown.record_unknowns(program, flags);
    called.iter().for_each(|one| unknown.record_unknowns(&one.program, &one.money));
    let assumed = sum(program, files, flags, called, true, |prompt, price, _| expected_cost(prompt, price));
    let most = sum(program, files, flags, called, false, |prompt, price, window| {
        reserved_cost(prompt, price, window).unwrap_or(0)
    });
    let lacks = unknown.lacks(&most);
    let at_most = if lacks.is_empty() { Some(most) } else { None };
    let UnknownCost { unpriced, unlimited, .. } = unknown;
    let mut money = PlanCost { at_most, limited_by: None, lacks, expected: None, assumed, unpriced, unlimited };
    if let Some(budget) = &program.entry_flow().budget
        && budget.on_exceeded != OnExceeded::Warn
        && let Some(micro) = budget.max_cost_micro
    {
        money.apply_limit(micro, "the budget");
    }
    money
}

/// The cost of one call, from its prompt and limits, the price of its model and that model's context window.
type CallCostFunction = fn(&PromptEstimate, &ModelPrice, Option<u64>) -> u64;

/// The total cost of a run's calls. Of the models that may answer a call, the most expensive one counts.
fn sum(
    program: &Program,
    files: &SourceFiles,
    flags: &Flags,
    called: &[CalledFlow],
    straight: bool,
    one_call: CallCostFunction,
) -> CallBound {
    let counted = |program, files, flags: &Flags, beneath: &CallsPerTool, budget: bool| {
        let turns = conversation_turns(program);
        let costs = called_flows::program_costs(program, files, beneath).with_price(|_, call| {
            let prompt = PromptEstimate::for_call(program, call, &turns);
            let all = flags.candidate_models(call.model.provider.as_deref(), &call.model.name);
            all.filter_map(|(_, price, window)| Some(one_call(&prompt, price?, window))).max().unwrap_or(0)
        });
        let mut costs = if straight { costs.single_pass() } else { costs };
        let entry = program.entry;
        if budget { costs.count_flow(entry) } else { costs.beside_budget(entry) }
    };
    let beneath =
        CallsPerTool::from_flows(called, |one, known| counted(&one.program, &one.files, &one.money, known, true));
    counted(program, files, flags, &beneath, false).cost
}

fn add(all: &mut Vec<String>, name: String) {
    if !all.contains(&name) {
        all.push(name);
    }
}

impl UnknownCost {
    /// Records what is unknown about the models of a program.
    fn record_unknowns(&mut self, program: &Program, flags: &Flags) {
        let turns = conversation_turns(program);
        for (_, id) in walk::reachable_steps(program, program.entry) {
            let StepKind::Model(call) = &program.steps[id].kind else { continue };
            let own = descriptions::model_name(&call.model);
            let prompt = PromptEstimate::for_call(program, call, &turns);
            let mut is_open = false;
            for (name, price, window) in flags.candidate_models(call.model.provider.as_deref(), &call.model.name) {
                let name = if name.is_empty() { own.clone() } else { name.to_owned() };
                match price {
                    None => add(&mut self.unpriced, name),
                    Some(price) if price.is_free() => {}
                    Some(price) => {
                        if call.parameters.max_tokens.is_none() {
                            is_open = true;
                            add(&mut self.unlimited, name.clone());
                        }
                        if reserved_cost(&prompt, price, window).is_none() {
                            add(&mut self.endless, name);
                        }
                    }
                }
            }
            if is_open {
                self.steps.push(trefoil_check::words::step_name(program, id));
            }
        }
    }

    /// Why there is no maximum. `most`: the cost of all calls.
    fn lacks(&self, most: &CallBound) -> Vec<String> {
        let mut lacks = Vec::new();
        if !self.steps.is_empty() {
            let calls = if self.steps.len() == 1 { "call" } else { "calls" };
            lacks.push(format!("{} {calls} without `max_tokens`: {}", self.steps.len(), some(&self.steps)));
        }
        if !self.endless.is_empty() {
            lacks.push(format!("unknown context window: {}", some(&self.endless)));
        }
        if !self.unpriced.is_empty() {
            lacks.push(format!("unknown price: {}", some(&self.unpriced)));
        }
        if most.endless {
            lacks.push("a flow calls itself".to_owned());
        }
        lacks
    }
}

/// The first names of a list, and how many more it has.
fn some(all: &[String]) -> String {
    const SHOWN: usize = 6;
    let shown = all.get(..SHOWN).unwrap_or(all).join(", ");
    match all.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

impl PlanCost {
    /// Applies a limit on the cost of a run.
    pub(super) fn apply_limit(&mut self, micro: u64, by: &'static str) {
        // With such a limit, a run needs the price of every model.
        let is_less = match self.at_most.as_ref().and_then(CallBound::fixed_number) {
            Some(most) => micro < most,
            None => true,
        };
        if is_less && self.unpriced.is_empty() {
            self.at_most = Some(CallBound::from_number(micro));
            self.limited_by = Some(by);
            self.lacks.clear();
        }
    }

    /// Lines for people.
    pub(super) fn render_lines(&self) -> Vec<String> {
        if self.assumed.is_zero() && self.lacks.is_empty() {
            return vec!["$0".to_owned()];
        }
        let mut lines = vec![self.maximum()];
        if let Some(ExpectedCost { micro, runs }) = self.expected {
            let of = if runs == 1 { "the last run".to_owned() } else { format!("the mean of the last {runs} runs") };
            lines.push(format!("expected: {} ({of})", DollarAmount(micro)));
        }
        if !self.assumed.is_zero() {
            let more = if self.unpriced.is_empty() { "" } else { " + ?" };
            let assumed = render_dollars(&self.assumed);
            lines.push(format!(
                "assumed: {assumed}{more} (an assumption: each loop once, 1,000 tokens per answer, 500 per placeholder)"
            ));
        }
        lines
    }

    /// The maximum in one line, or why there is none.
    fn maximum(&self) -> String {
        match (&self.at_most, self.limited_by) {
            (Some(most), Some(by)) => {
                format!("at most: {} ({by}; calls that have started may exceed it)", render_dollars(most))
            }
            (Some(most), None) => format!("at most: {} (prompts as long as the context window)", render_dollars(most)),
            (None, _) => format!("no maximum: {}", self.lacks.join("; ")),
        }
    }

    /// `{at_most, no_maximum, expected, assumed, unpriced, unlimited}`.
    pub(super) fn to_json(&self) -> serde_json::Value {
        let bound = |b: &CallBound| serde_json::json!({"micro": b.fixed_number(), "text": render_dollars(b)});
        let expected = self.expected.map(|ExpectedCost { micro, runs }| {
            serde_json::json!({"micro": micro, "text": DollarAmount(micro).to_string(), "runs": runs})
        });
        serde_json::json!({
            "at_most": self.at_most.as_ref().map(bound),
            "no_maximum": self.lacks,
            "expected": expected,
            "assumed": bound(&self.assumed),
            "unpriced": self.unpriced,
            "unlimited": self.unlimited,
        })
    }
}

pub(super) fn render_dollars(bound: &CallBound) -> String {
    bound.in_words(&|micro| DollarAmount(micro).to_string())
}
