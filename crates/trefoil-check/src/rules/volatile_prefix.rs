//! A value that changes between calls, before a long text that does not.

use trefoil_ir::{ValueExpression, ModelCall, Source, StepKind};
use trefoil_syntax::FindingSeverity;

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
use crate::semantic::text_pieces::{TextPiece, InsertedValue, expression_pieces};

pub(super) const RULE: Rule = Rule {
    name: "volatile-prefix",
    group: RuleGroup::Cost,
    level: Some(FindingSeverity::Info),
    strict: Some(FindingSeverity::Warning),
    page: include_str!("volatile_prefix.md"),
    run: RuleSource::Declared(run),
};

/// The approximate length, in tokens, from which providers cache prefixes.
const TOKENS: usize = 1024;
/// The approximate number of characters per token.
const TOKEN: usize = 4;

fn run(cx: &mut RuleContext<'_>) {
    for (_, _, step) in cx.model.live_steps() {
        if let StepKind::Model(call) = &step.kind {
            prefix(cx, call);
        }
    }
}

fn prefix(cx: &mut RuleContext<'_>, call: &ModelCall) {
    let written = call.system.iter().chain([&call.user]).map(longest).sum::<usize>();
    let examples = call.examples.iter().map(|e| e.input.len() + e.output.len()).sum::<usize>();
    if written + examples < TOKENS * TOKEN {
        return;
    }
    let mut pieces: Vec<TextPiece<'_>> = call.system.iter().flat_map(expression_pieces).collect();
    pieces.extend(call.examples.iter().flat_map(|e| [&e.input, &e.output]).map(|t| TextPiece::Written(t.to_string())));
    pieces.extend(expression_pieces(&call.user));
    let mut volatile: Option<InsertedValue<'_>> = None;
    let mut lost = 0;
    for piece in &pieces {
        match piece {
            TextPiece::Value(value) if volatile.is_none() && changes(value) => volatile = Some(*value),
            TextPiece::Written(text) if volatile.is_some() => lost += text.chars().count(),
            _ => {}
        }
    }
    let tokens = lost / TOKEN;
    let Some((value, at)) = volatile.and_then(|v| Some((v, v.source_location()?))).filter(|_| tokens >= TOKENS) else { return };
    let path = value.path_text().unwrap_or_default();
    let message = format!(
        "about {tokens} tokens of fixed text come after `{path}`, which changes, so the provider cannot cache them"
    );
    cx.report_finding(cx.new_finding(at, message).with_help("put fixed text first and values last"));
}

/// An upper bound for the number of literal characters in a message: its length in the file, including placeholders.
fn longest(message: &ValueExpression) -> usize {
    match message {
        ValueExpression::Const(value) => value.json_length(),
        ValueExpression::Template(text) | ValueExpression::Typed(text) => text.origin.span.len() as usize,
        ValueExpression::Concat(parts) => parts.iter().map(longest).sum(),
        ValueExpression::AsText(inner) | ValueExpression::AsMessage(inner) | ValueExpression::Structured(inner) | ValueExpression::Coerce(inner, _) | ValueExpression::Lines(inner) => longest(inner),
        _ => 0,
    }
}

fn changes(value: &InsertedValue<'_>) -> bool {
    !matches!(value.source, Some(Source::Const(_) | Source::Environment | Source::Secrets | Source::Missing(..)))
}
