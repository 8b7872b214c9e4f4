//! The literal texts that models and people receive, for rules about the words of a prompt. Inserted values are left
//! out.

use trefoil_ir::walk::{callees_of, children_of};
use trefoil_ir::{Program, Source, Step, StepId, ValueExpression};
use trefoil_syntax::Location;

use super::text_pieces::{InsertedValue, TextPiece, expression_pieces};

/// A message as written.
#[derive(Debug, Clone)]
pub struct MessageText {
    /// Its place; that of the step if the text has no separate one.
    pub at: Location,
    /// Its words. An inserted value becomes a space.
    pub words: String,
}

/// The maximum number of steps examined for one step.
const MOST: usize = 64;

fn message_text(message: &ValueExpression, step: &Step) -> Option<MessageText> {
    let words = words(message);
    if words.trim().is_empty() {
        return None;
    }
    Some(MessageText { at: message_location(message).unwrap_or(step.origin), words })
}

/// The messages to the models and people that a step calls, itself or in called flows.
pub fn by_step(program: &Program, step: StepId) -> Vec<MessageText> {
    let mut found = Vec::new();
    let mut stack = vec![step];
    // Flows may call themselves.
    for _ in 0..MOST {
        let Some(step) = stack.pop() else { break };
        let step = &program.steps[step];
        for message in step.kind.message_texts() {
            found.extend(message_text(message, step));
        }
        stack.extend(children_of(step));
        for flow in callees_of(step) {
            stack.push(program.flows[flow].body);
        }
    }
    found
}

fn words(message: &ValueExpression) -> String {
    let mut words = String::new();
    for piece in expression_pieces(message) {
        match piece {
            TextPiece::Written(text) => words.push_str(&text),
            TextPiece::Value(InsertedValue { source: Some(Source::Const(known)), .. }) => {
                words.push_str(&known.to_text());
            }
            TextPiece::Value(_) => words.push(' '),
        }
    }
    words
}

/// Lists of at least two single words, separated by commas, bars, `or` and `and`.
pub fn word_lists(words: &str) -> Vec<Vec<&str>> {
    let mut all = Vec::new();
    let mut list: Vec<&str> = Vec::new();
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let quote = |c: char| matches!(c, '"' | '\'' | '`');
    let mut rest = words;
    while let Some(start) = rest.find(is_part) {
        let from = rest.get(start..).unwrap_or_default();
        let end = from.find(|c| !is_part(c)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        let behind = after.trim_start_matches(quote);
        let next = behind.trim_start_matches([',', '/', '|', ' ', '\n']);
        let gap = behind.len() - next.len();
        let sign = behind.get(..gap).unwrap_or_default().contains([',', '/', '|']);
        let joined = next.strip_prefix("or ").or(next.strip_prefix("and "));
        let ends = behind.is_empty() || behind.starts_with(['.', ';', ')', '\n', ':', '!', '?', ']', '}']);
        if sign || joined.is_some() || ends && !list.is_empty() {
            list.push(word);
        } else {
            list.clear();
        }
        if !(sign || joined.is_some()) {
            if list.len() > 1 {
                all.push(std::mem::take(&mut list));
            }
            list.clear();
        }
        rest = joined.unwrap_or(after);
    }
    if list.len() > 1 {
        all.push(list);
    }
    all
}

/// The place of a message.
pub fn message_location(message: &ValueExpression) -> Option<Location> {
    match message {
        ValueExpression::Template(text) | ValueExpression::Typed(text) => Some(text.origin),
        ValueExpression::AsText(inner) | ValueExpression::AsMessage(inner) => message_location(inner),
        ValueExpression::Concat(all) => all.iter().find_map(message_location),
        _ => None,
    }
}
