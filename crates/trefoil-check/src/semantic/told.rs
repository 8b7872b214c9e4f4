//! What a model is told, as the manifest writes it: for rules about the words of a prompt. Values are left out.

use trefoil_ir::walk::{callees, children};
use trefoil_ir::{Expr, ModelCall, Program, Source, Step, StepId, StepKind};
use trefoil_syntax::Location;

use super::rendered::{Piece, pieces_of};

/// A message as it is written.
#[derive(Debug, Clone)]
pub struct Told {
    /// Where; the step, if the text has no place of its own.
    pub at: Location,
    /// Its words. A value in between is a space.
    pub words: String,
}

/// How many steps are looked at for one.
const MOST: usize = 64;

/// What a call tells its model.
pub fn by_call(call: &ModelCall, step: &Step) -> Vec<Told> {
    let messages = call.system.iter().chain(Some(&call.user));
    let told = messages.map(|message| Told { at: place(message).unwrap_or(step.origin), words: words(message) });
    told.filter(|told| !told.words.trim().is_empty()).collect()
}

/// What the models are told that a step calls, itself or in the flows that it calls.
pub fn by_step(program: &Program, step: StepId) -> Vec<Told> {
    let mut found = Vec::new();
    let mut stack = vec![step];
    let mut left = MOST;
    while let Some(step) = stack.pop().filter(|_| left > 0).and_then(|id| program.step(id)) {
        left -= 1;
        if let StepKind::Model(call) = &step.kind {
            found.extend(by_call(call, step));
        }
        stack.extend(children(step));
        stack.extend(callees(step).into_iter().filter_map(|flow| Some(program.flow(flow)?.body)));
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

fn place(message: &Expr) -> Option<Location> {
    match message {
        Expr::Template(text) | Expr::Typed(text) => Some(text.origin),
        Expr::AsText(inner) => place(inner),
        Expr::Concat(all) => all.iter().find_map(place),
        _ => None,
    }
}
