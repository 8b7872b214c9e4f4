//! The estimated cost of one model call, from what is known about its prompt before a run.

use trefoil_ir::prices::{ModelPrice, estimate};
use trefoil_ir::{AnswerFormat, ModelCall, Program, StepKind, ValueExpression, walk};
use trefoil_template::Value;

/// The assumed number of tokens of a text that is known only at run time.
const PLACEHOLDER: u64 = 500;

/// The turns of conversations, whose prompts contain the preceding turns.
pub fn conversation_turns(program: &Program) -> Vec<&ModelCall> {
    let mut turns: Vec<&ModelCall> = Vec::new();
    for (_, step) in walk::reachable_steps(program, program.entry) {
        let StepKind::Conversation(conversation) = &program.steps[step].kind else { continue };
        let StepKind::Model(call) = &program.steps[conversation.turn].kind else { continue };
        turns.push(call);
    }
    turns
}

/// The expected cost of one call.
pub fn expected_cost(prompt: &PromptEstimate, price: &ModelPrice) -> u64 {
    let unknown = prompt.unknown.saturating_mul(PLACEHOLDER);
    let input = estimate::text_tokens(prompt.bytes).saturating_add(prompt.message_overhead()).saturating_add(unknown);
    price.at_most(input, estimate::answer_tokens(prompt.answer))
}

/// The amount that a strict limit reserves: a token has at least one byte, and no prompt or answer is longer than the
/// model's context window. `None`: that is unknown.
pub fn reserved_cost(prompt: &PromptEstimate, price: &ModelPrice, window: Option<u64>) -> Option<u64> {
    if price.is_free() {
        return Some(0);
    }
    let input = if prompt.unknown == 0 { Some(prompt.bytes.saturating_add(prompt.message_overhead())) } else { None };
    let output = if prompt.options { None } else { prompt.answer.map(u64::from) };
    Some(price.at_most(least_known(input, window)?, least_known(output, window)?))
}

/// The smaller one of two numbers that may be unknown.
fn least_known(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        _ => a.or(b),
    }
}

/// What is known about the messages of a call.
#[derive(Default)]
pub struct PromptEstimate {
    bytes: u64,
    messages: u64,
    /// The number of texts known only at run time.
    unknown: u64,
    /// The maximum number of tokens in the answer.
    answer: Option<u32>,
    /// Whether there are provider options, which may add to the prompt and raise the limit of the answer.
    options: bool,
}

impl PromptEstimate {
    /// Those of a call. `turns`: the turns of the program's conversations.
    pub fn for_call(program: &Program, call: &ModelCall, turns: &[&ModelCall]) -> Self {
        let options = call.parameters.provider_options.is_some();
        let more = options || turns.iter().any(|turn| std::ptr::eq(*turn, call));
        let answer = call.parameters.max_tokens;
        let mut prompt = Self { unknown: u64::from(more), answer, options, ..Self::default() };
        if let Some(system) = &call.system {
            prompt.add(system);
        }
        prompt.add(&call.user);
        for example in &call.examples {
            prompt.bytes += (example.input.len() + example.output.len()) as u64;
            prompt.messages += 2;
        }
        if let AnswerFormat::Json(schema) = call.format {
            prompt.bytes += program.schemas[schema].json.to_json().to_string().len() as u64;
            // If the request is repeated, the prompt contains the first answer.
            prompt.unknown += 1;
        }
        prompt
    }
    fn add(&mut self, text: &ValueExpression) {
        self.messages += 1;
        walk::visit_templates(text, &mut |text| {
            for range in text.template.literal_text_spans() {
                self.bytes += u64::from(range.end - range.start);
            }
        });
        walk::visit_expressions(text, &mut |e| {
            if let ValueExpression::Const(value) = e {
                let length = match value.as_str() {
                    Some(text) => text.len(),
                    None => Value::to_text(value).len(),
                };
                self.bytes += length as u64;
            }
        });
        let mut sources = Vec::new();
        walk::visit_sources(text, &mut |source| {
            if !sources.contains(&source) {
                sources.push(source);
            }
        });
        self.unknown += sources.len() as u64;
    }
    /// The number of tokens in addition to the texts.
    fn message_overhead(&self) -> u64 {
        self.messages.saturating_mul(estimate::MESSAGE)
    }
}
