//! The literal texts that models and people receive, for rules about the words of a prompt. Inserted values are left
//! out.

use trefoil_ir::walk::{callees, children};
use trefoil_ir::{Expr, ModelCall, Program, Source, Step, StepId};
use trefoil_syntax::Location;

use super::rendered::{Piece, pieces_of};

/// A message as written.
#[derive(Debug, Clone)]
pub struct Told {
    /// Its place; that of the step if the text has no separate one.
    pub at: Location,
    /// Its words. An inserted value becomes a space.
    pub words: String,
}

/// The maximum number of steps examined for one step.
const MOST: usize = 64;

/// The messages of a model call.
pub fn by_call(call: &ModelCall, step: &Step) -> Vec<Told> {
    let messages = call.system.iter().chain(Some(&call.user));
    messages.filter_map(|message| told(message, step)).collect()
}

fn told(message: &Expr, step: &Step) -> Option<Told> {
    let told = Told { at: place(message).unwrap_or(step.origin), words: words(message) };
    (!told.words.trim().is_empty()).then_some(told)
}

/// The messages to the models and people that a step calls, itself or in called flows.
pub fn by_step(program: &Program, step: StepId) -> Vec<Told> {
    let mut found = Vec::new();
    let mut stack = vec![step];
    // Flows may call themselves.
    for _ in 0..MOST {
        let Some(step) = stack.pop() else { break };
        let step = &program.steps[step];
        found.extend(step.kind.messages().into_iter().filter_map(|message| told(message, step)));
        stack.extend(children(step));
        stack.extend(callees(step).into_iter().map(|flow| program.flows[flow].body));
    }
    found
}

fn words(message: &Expr) -> String {
    let text = pieces_of(message).into_iter().map(|piece| match piece {
        Piece::Written(text) => text,
        Piece::Value(value) => match value.source {
            Some(Source::Const(known)) => known.to_text().to_string(),
            _ => " ".to_owned(),
        },
    });
    text.collect()
}

/// Lists of at least two single words, separated by commas, bars, `or` and `and`.
pub fn lists(words: &str) -> Vec<Vec<&str>> {
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
        let joined = ["or ", "and "].into_iter().find_map(|or| next.strip_prefix(or));
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
pub fn place(message: &Expr) -> Option<Location> {
    match message {
        Expr::Template(text) | Expr::Typed(text) => Some(text.origin),
        Expr::AsText(inner) | Expr::AsMessage(inner) => place(inner),
        Expr::Concat(all) => all.iter().find_map(place),
        _ => None,
    }
}
