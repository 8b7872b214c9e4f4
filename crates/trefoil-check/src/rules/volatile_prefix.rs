//! A value that changes between calls, before a long text that does not.

use trefoil_ir::{Expr, ModelCall, Source, StepKind};
use trefoil_syntax::Severity;

use crate::rule::{Context, Group, Rule, Run};
use crate::semantic::rendered::{Piece, Slotted, pieces_of};

pub(super) const RULE: Rule = Rule {
    name: "volatile-prefix",
    group: Group::Cost,
    level: Some(Severity::Info),
    strict: Some(Severity::Warning),
    page: include_str!("volatile_prefix.md"),
    run: Run::Declared(run),
};

/// The approximate length, in tokens, from which providers cache prefixes.
const TOKENS: usize = 1024;
/// The approximate number of characters per token.
const TOKEN: usize = 4;

fn run(cx: &mut Context<'_>) {
    for (_, _, step) in cx.model.live_steps() {
        if let StepKind::Model(call) = &step.kind {
            prefix(cx, call);
        }
    }
}

fn prefix(cx: &mut Context<'_>, call: &ModelCall) {
    let written = call.system.iter().chain([&call.user]).map(longest).sum::<usize>();
    let examples = call.examples.iter().map(|e| e.input.len() + e.output.len()).sum::<usize>();
    if written + examples < TOKENS * TOKEN {
        return;
    }
    let mut pieces: Vec<Piece<'_>> = call.system.iter().flat_map(pieces_of).collect();
    pieces.extend(call.examples.iter().flat_map(|e| [&e.input, &e.output]).map(|t| Piece::Written(t.to_string())));
    pieces.extend(pieces_of(&call.user));
    let mut volatile: Option<Slotted<'_>> = None;
    let mut lost = 0;
    for piece in &pieces {
        match piece {
            Piece::Value(value) if volatile.is_none() && changes(value) => volatile = Some(*value),
            Piece::Written(text) if volatile.is_some() => lost += text.chars().count(),
            _ => {}
        }
    }
    let tokens = lost / TOKEN;
    let Some((value, at)) = volatile.and_then(|v| Some((v, v.at()?))).filter(|_| tokens >= TOKENS) else { return };
    let path = value.path().unwrap_or_default();
    let message = format!(
        "about {tokens} tokens of fixed text come after `{path}`, which changes, so the provider cannot cache them"
    );
    cx.report(cx.finding(at, message).help("put fixed text first and values last"));
}

/// An upper bound for the number of literal characters in a message: its length in the file, including placeholders.
fn longest(message: &Expr) -> usize {
    match message {
        Expr::Const(value) => value.json_length(),
        Expr::Template(text) | Expr::Typed(text) => text.origin.span.len() as usize,
        Expr::Concat(parts) => parts.iter().map(longest).sum(),
        Expr::AsText(inner) | Expr::AsMessage(inner) | Expr::Structured(inner) | Expr::Coerce(inner, _) | Expr::Lines(inner) => longest(inner),
        _ => 0,
    }
}

fn changes(value: &Slotted<'_>) -> bool {
    !matches!(value.source, Some(Source::Const(_) | Source::Environment | Source::Secrets | Source::Missing(..)))
}
