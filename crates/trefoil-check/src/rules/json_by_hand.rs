//! Handwritten JSON around a value that can make it invalid.

use trefoil_ir::types::ValueKind;
use trefoil_ir::{BoundTemplate, FlowId, Source, StepKind, ValueExpression, walk};
use trefoil_syntax::FindingSeverity;
use trefoil_template::{Value, read_json};

use super::unknown_property::is_input_slot;
use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::SemanticModel;
use crate::semantic::text_pieces::{InsertedValue, TextPiece, template_pieces};

pub(super) const RULE: Rule = Rule {
    name: "json-by-hand",
    group: RuleGroup::Types,
    level: Some(FindingSeverity::Info),
    strict: Some(FindingSeverity::Warning),
    page: include_str!("json_by_hand.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for (flow, id, step) in model.reachable_steps() {
        let sent = matches!(step.kind, StepKind::Tool(_));
        for broken in written(&step.kind).into_iter().filter_map(|text| breaks(model, flow, text, sent)) {
            let Some((path, at)) = broken.value.path_text().zip(broken.value.source_location()) else { continue };
            // Another system acts on a request. Whoever writes a value there could set any of its properties.
            let author = sent
                .then(|| model.taint().labels_of_value(model.program, flow, id, &broken.value).untrusted_origin())
                .flatten();
            let message = match broken.quoted {
                true if let Some((who, _)) = author => {
                    format!(
                        "a quotation mark in `{path}` could add properties to this request, and it comes from {who}"
                    )
                }
                true => format!("a quotation mark or a line break in `{path}` would break this JSON"),
                false => format!("text in `{path}` would break this JSON, because it has no quotes"),
            };
            let help = match model.format_words().json_syntax(&path) {
                Some(json) if broken.quoted => format!("write `{json}` instead of the placeholder and its quotes"),
                Some(json) => format!("write `{json}`"),
                None => "have a step answer with the whole JSON, and pass only that answer".to_owned(),
            };
            let mut finding = cx.new_finding(at, message).with_help(help);
            if let Some((_, from)) = author {
                finding.severity = finding.severity.max(FindingSeverity::Warning);
                finding = finding.with_label(from, "comes from here");
            }
            cx.report_finding(finding);
        }
    }
}

/// The texts of a step that are read as JSON: inputs that are objects, and bodies of requests.
fn written(step: &StepKind) -> Vec<&BoundTemplate> {
    let mut texts = Vec::new();
    match step {
        StepKind::Call(call) => call.input.iter().for_each(|input| structured(input, &mut texts)),
        StepKind::Compute(value) => structured(value, &mut texts),
        StepKind::Tool(call) => {
            let ValueExpression::Object(arguments) = &call.arguments else { return texts };
            let bodies = arguments.iter().filter(|(name, _)| **name == *"body");
            texts.extend(bodies.filter_map(|(_, body)| template(body)));
        }
        _ => {}
    }
    texts
}

fn structured<'p>(expr: &'p ValueExpression, texts: &mut Vec<&'p BoundTemplate>) {
    walk::visit_expressions(expr, &mut |e| {
        if let ValueExpression::Structured(inner) = e {
            texts.extend(template(inner));
        }
    });
}

fn template(expr: &ValueExpression) -> Option<&BoundTemplate> {
    match expr {
        ValueExpression::Template(text) | ValueExpression::Typed(text) => Some(text),
        _ => None,
    }
}

/// A value that can make the surrounding JSON invalid.
struct UnescapedValue<'p> {
    value: InsertedValue<'p>,
    /// Whether it is in quotes.
    quoted: bool,
}

/// The first value in a text that is valid JSON for some values but not for others. `sent`: in a request.
fn breaks<'p>(
    model: &SemanticModel<'p>,
    flow: FlowId,
    text: &'p BoundTemplate,
    sent: bool,
) -> Option<UnescapedValue<'p>> {
    let pieces = template_pieces(text);
    let starts =
        |piece: &TextPiece<'_>| matches!(piece, TextPiece::Written(text) if text.trim_start().starts_with(['{', '[']));
    if pieces.len() < 2 || !pieces.first().is_some_and(starts) {
        return None;
    }
    let (mut sample, mut quoted, mut found) = (String::new(), false, None);
    for piece in pieces {
        match piece {
            TextPiece::Written(text) => {
                let mut escaped = false;
                for c in text.chars() {
                    quoted ^= c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                }
                sample.push_str(&text);
            }
            TextPiece::Value(value) => {
                sample.push(if quoted { 'x' } else { '0' });
                if found.is_none() && !value.as_json && !is_safe(model, flow, &value, (quoted, sent)) {
                    found = Some(UnescapedValue { value, quoted });
                }
            }
        }
    }
    read_json::<serde_json::Value>(&sample).ok().and(found)
}

/// Whether a value comes from the input, which is usually a name or a number; results of steps may be any text.
fn is_given(model: &SemanticModel<'_>, flow: FlowId, source: &Source) -> bool {
    let intake = &model.program.flows[flow].intake;
    source.slot_ids().iter().all(|slot| is_input_slot(intake, *slot))
}

/// Whether no value of its type can make the JSON invalid here.
fn is_safe(model: &SemanticModel<'_>, flow: FlowId, value: &InsertedValue<'_>, (quoted, sent): (bool, bool)) -> bool {
    let reported = |source: &&Source| sent || !is_given(model, flow, source);
    let Some(source) = value.source.filter(reported) else { return true };
    let rest = value.remaining_path();
    let path: Vec<&str> = rest.iter().map(|name| &**name).collect();
    let schema = model.program_types().source_type(flow, source, &path, None).schema;
    let plain = |choice: &Value| choice.as_str().is_none_or(|text| !text.contains(['"', '\\', '\n']));
    if quoted && schema.allowed_values().is_some_and(|all| all.iter().all(plain)) {
        return true;
    }
    let bare = [ValueKind::Number, ValueKind::Boolean, ValueKind::Null];
    let unquoted = [ValueKind::Object, ValueKind::List].into_iter().filter(|_| !quoted);
    schema.solid_kinds().is_some_and(|kinds| kinds.is_within(bare.into_iter().chain(unquoted)))
}
