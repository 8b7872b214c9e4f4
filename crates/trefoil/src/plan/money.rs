//! The estimated cost of a run: the expected cost of a run without repetitions, and the maximum.

use trefoil_check::semantic::money::{Prompt, at_most, expected, turns};
use trefoil_ir::{Program, StepKind, walk};
use trefoil_machine::Flags;
use trefoil_prices::{Dollars, Price};
use trefoil_syntax::Files;

use super::Bound;
use super::beneath::{self, Beneath, FlowCalled};
use crate::describe;

/// The cost of a run, in micro-dollars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Money {
    /// The expected cost if each loop has one pass and nothing is retried. Of two branches, the more expensive one
    /// counts.
    pub expected: Bound,
    /// The maximum cost, with the maximum number of calls and prompts as long as the model accepts. Calls that are
    /// interrupted and sent again are additional. `None`: a call has no known limit.
    pub at_most: Option<Bound>,
    /// The models of unknown price. Their calls are not included.
    pub unpriced: Vec<String>,
    /// The models with a step that does not limit the answer (`max_tokens`).
    pub unlimited: Vec<String>,
    /// The models whose maximum prompt length is unknown.
    pub endless: Vec<String>,
}

/// The cost of a run of the entry flow, with these flows as its tools. `flags`: the prices and context windows of the
/// models, and their fallbacks.
pub(super) fn money(program: &Program, files: &Files, flags: &Flags, called: &[FlowCalled]) -> Money {
    let mut money = Money {
        expected: Bound::default(),
        at_most: None,
        unpriced: Vec::new(),
        unlimited: Vec::new(),
        endless: Vec::new(),
    };
    money.look(program, flags);
    called.iter().for_each(|one| money.look(&one.program, &one.money));
    money.expected = sum(program, files, flags, called, true, |prompt, price, _| expected(prompt, price));
    if money.endless.is_empty() {
        money.at_most = Some(sum(program, files, flags, called, false, |prompt, price, window| {
            at_most(prompt, price, window).unwrap_or(0)
        }));
    }
    money
}

/// The cost of one call, from its prompt and limits, the price of its model and that model's context window.
type OneCall = fn(&Prompt, &Price, Option<u64>) -> u64;

/// The total cost of a run's calls. Of the models that may answer a call, the most expensive one counts.
fn sum(
    program: &Program,
    files: &Files,
    flags: &Flags,
    called: &[FlowCalled],
    straight: bool,
    one_call: OneCall,
) -> Bound {
    let counted = |program, files, flags: &Flags, beneath: &Beneath, budget: bool| {
        let turns = turns(program);
        let costs = beneath::costs(program, files, beneath).priced(|_, call| {
            let prompt = Prompt::of(program, call, &turns);
            let all = flags.candidates(call.model.provider.as_deref(), &call.model.name);
            all.filter_map(|(_, price, window)| Some(one_call(&prompt, price?, window))).max().unwrap_or(0)
        });
        let mut costs = if straight { costs.straight() } else { costs };
        let entry = program.entry;
        if budget { costs.flow(entry) } else { costs.beside_budget(entry) }
    };
    let beneath = Beneath::of(called, |one, known| counted(&one.program, &one.files, &one.money, known, true));
    counted(program, files, flags, &beneath, false).cost
}

fn add(all: &mut Vec<String>, name: String) {
    if !all.contains(&name) {
        all.push(name);
    }
}

impl Money {
    /// Records what is unknown about the models of a program.
    fn look(&mut self, program: &Program, flags: &Flags) {
        let turns = turns(program);
        for (_, step) in walk::reachable(program, program.entry) {
            let Some(StepKind::Model(call)) = program.step(step).map(|s| &s.kind) else { continue };
            let own = describe::model(&call.model);
            let prompt = Prompt::of(program, call, &turns);
            for (name, price, window) in flags.candidates(call.model.provider.as_deref(), &call.model.name) {
                let name = if name.is_empty() { own.clone() } else { name.to_owned() };
                match price {
                    None => add(&mut self.unpriced, name),
                    Some(price) if price.is_free() => {}
                    Some(price) => {
                        if call.parameters.max_tokens.is_none() {
                            add(&mut self.unlimited, name.clone());
                        }
                        if at_most(&prompt, price, window).is_none() {
                            add(&mut self.endless, name);
                        }
                    }
                }
            }
        }
    }

    /// Lines for people.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.expected.is_zero() && self.unpriced.is_empty() {
            lines.push("$0".to_owned());
        }
        let more = if self.unpriced.is_empty() { "" } else { " + ?" };
        if !self.expected.is_zero() {
            let expected = dollars(&self.expected);
            lines.push(format!(
                "expected: about {expected}{more} (each loop once, 1,000 tokens per answer, 500 per placeholder)"
            ));
            lines.push(match &self.at_most {
                Some(bound) => format!("at most: {}{more} (prompts as long as the context window)", dollars(bound)),
                None => {
                    format!("at most: unknown, because the context window of {} is unknown", self.endless.join(", "))
                }
            });
            if !self.unlimited.is_empty() {
                lines.push(format!("answers without `max_tokens`: {}", self.unlimited.join(", ")));
            }
        }
        if !self.unpriced.is_empty() {
            lines.push(format!("price unknown: {}", self.unpriced.join(", ")));
        }
        lines
    }
    /// `{expected, at_most, unpriced, unlimited}`; the first two have the form of numbers of calls, in micro-dollars.
    pub(super) fn json(&self) -> serde_json::Value {
        let bound = |b: &Bound| serde_json::json!({"micro": b.number(), "text": dollars(b)});
        serde_json::json!({
            "expected": bound(&self.expected),
            "at_most": self.at_most.as_ref().map(bound),
            "unpriced": self.unpriced,
            "unlimited": self.unlimited,
        })
    }
}

fn dollars(bound: &Bound) -> String {
    bound.in_words(&|micro| Dollars(micro).to_string())
}
