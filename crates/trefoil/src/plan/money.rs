//! What a run costs before it is one: what is expected if it goes straight through, and what it can be at most.

use trefoil_check::semantic::cost::Costs;
use trefoil_ir::{AnswerFormat, Expr, FlowId, ModelCall, Program, StepKind, walk};
use trefoil_prices::{Dollars, Price, estimate, window};
use trefoil_syntax::Files;
use trefoil_template::Value;

use super::Bound;
use crate::describe;

/// Tokens that a text which only the run knows is taken to have.
const PLACEHOLDER: u64 = 500;

/// The money of a run, in micro-dollars.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Money {
    /// If each loop goes round once and nothing is tried again. Of two branches the more expensive one counts.
    pub expected: Bound,
    /// However it goes: as many calls as there can be, prompts as long as the model takes. A call that breaks off and is sent
    /// again comes on top. None: a call has no known limit.
    pub at_most: Option<Bound>,
    /// The models whose price is not known. Their calls are not in the figures.
    pub unpriced: Vec<String>,
    /// The models whose answers have no limit of their own in some step (`max_tokens`).
    pub unlimited: Vec<String>,
    /// The models of which nobody knows how long a prompt can be.
    pub endless: Vec<String>,
}

/// The money of a run of the entry flow. `prices`: by `PROVIDER:NAME`.
pub(super) fn money(program: &Program, files: &Files, prices: &[(String, Price)]) -> Money {
    let mut money = Money {
        expected: Bound::default(),
        at_most: None,
        unpriced: Vec::new(),
        unlimited: Vec::new(),
        endless: Vec::new(),
    };
    for (_, step) in walk::reachable(program, program.entry) {
        let Some(StepKind::Model(call)) = program.step(step).map(|s| &s.kind) else { continue };
        let name = describe::model(&call.model);
        match of(prices, call) {
            None => add(&mut money.unpriced, name),
            Some(price) if price.is_free() => {}
            Some(_) => {
                if call.parameters.max_tokens.is_none() {
                    add(&mut money.unlimited, name.clone());
                }
                if longest(program, call).is_none() {
                    add(&mut money.endless, name);
                }
            }
        }
    }
    let list = |flow: FlowId, list: &Expr| describe::expr(files, program.flow(flow), list);
    let costs = || Costs::naming(program, list, describe::model);
    let expected = |_, call: &ModelCall| of(prices, call).map_or(0, |price| expected(program, price, call));
    money.expected = costs().straight().priced(expected).beside_budget(program.entry).cost;
    if money.endless.is_empty() {
        let at_most = |_, call: &ModelCall| of(prices, call).map_or(0, |price| at_most(program, price, call));
        money.at_most = Some(costs().priced(at_most).beside_budget(program.entry).cost);
    }
    money
}

fn add(all: &mut Vec<String>, name: String) {
    if !all.contains(&name) {
        all.push(name);
    }
}

fn of<'p>(prices: &'p [(String, Price)], call: &ModelCall) -> Option<&'p Price> {
    let name = describe::model(&call.model);
    prices.iter().find(|(model, _)| *model == name).map(|(_, price)| price)
}

fn expected(program: &Program, price: &Price, call: &ModelCall) -> u64 {
    let prompt = Prompt::of(program, call);
    let unknown = prompt.unknown.saturating_mul(PLACEHOLDER);
    let input = estimate::tokens(prompt.bytes).saturating_add(prompt.beside()).saturating_add(unknown);
    price.at_most(input, estimate::answer(call.parameters.max_tokens))
}

fn at_most(program: &Program, price: &Price, call: &ModelCall) -> u64 {
    let Some((input, output)) = longest(program, call) else { return 0 };
    price.at_most(input, output)
}

/// The tokens in and out that a call has at most: a token is a byte at least, and no prompt or answer is longer than the
/// model's context window. None: nobody knows how long that is.
fn longest(program: &Program, call: &ModelCall) -> Option<(u64, u64)> {
    let window = call.model.provider.as_deref().and_then(|provider| window(provider, &call.model.name));
    let prompt = Prompt::of(program, call);
    let known = (prompt.unknown == 0).then(|| prompt.bytes.saturating_add(prompt.beside()));
    let output = call.parameters.max_tokens.map(u64::from);
    let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
    Some((least(known, window)?, least(output, window)?))
}

/// What is known of the messages of a call.
#[derive(Default)]
struct Prompt {
    bytes: u64,
    messages: u64,
    /// Texts that only the run knows.
    unknown: u64,
}

impl Prompt {
    fn of(program: &Program, call: &ModelCall) -> Self {
        let mut prompt = Self::default();
        for text in call.system.iter().chain([&call.user]) {
            prompt.add(text);
        }
        for example in &call.examples {
            prompt.bytes += (example.input.len() + example.output.len()) as u64;
            prompt.messages += 2;
        }
        if let AnswerFormat::Json(schema) = call.format
            && let Some(schema) = program.schema(schema)
        {
            prompt.bytes += schema.json.to_json().to_string().len() as u64;
            // Asked again, the prompt has the first answer in it.
            prompt.unknown += 1;
        }
        prompt
    }
    fn add(&mut self, text: &Expr) {
        self.messages += 1;
        walk::texts(text, &mut |text| {
            self.bytes += text.template.literals().map(|range| u64::from(range.end - range.start)).sum::<u64>();
        });
        walk::expressions(text, &mut |e| {
            if let Expr::Const(value) = e {
                self.bytes += value.as_str().map_or_else(|| Value::to_text(value).len(), str::len) as u64;
            }
        });
        let mut sources = Vec::new();
        walk::sources(text, &mut |source| {
            if !sources.contains(&source) {
                sources.push(source);
            }
        });
        self.unknown += sources.len() as u64;
    }
    /// Tokens beside the texts.
    fn beside(&self) -> u64 {
        self.messages.saturating_mul(estimate::MESSAGE)
    }
}

impl Money {
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
    /// `{expected, at_most, unpriced, unlimited}`; the first two as numbers of calls are, in micro-dollars.
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
