//! A value that can never match the input of the called flow.

use trefoil_ir::types::{ValueKind, ValueKinds, ValueType};
use trefoil_ir::walk::{self, EvaluatedPart};
use trefoil_ir::{
    BoundTemplate, Facts, FlowCallee, FlowDefinition, FlowId, FlowInputField, Source, StepKind, ValueExpression,
};
use trefoil_syntax::{FindingSeverity, Location};
use trefoil_template::{ConditionExpression, Value, read_json};

use super::object_in_prompt::in_json;
use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::text_pieces::{TextPiece, template_pieces};
use crate::words;

/// The maximum number of words that a finding lists.
const MOST_LISTED: usize = 12;

pub(super) const RULE: Rule = Rule {
    name: "wrong-input-type",
    group: RuleGroup::Types,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("wrong_input_type.md"),
    run: RuleSource::Declared(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for (flow, _, step) in model.all_steps() {
        let StepKind::Call(call) = &step.kind else { continue };
        let (FlowCallee::Flow(callee), Some(input)) = (&call.callee, &call.input) else { continue };
        let callee = &model.program.flows[*callee];
        let input = carried(cx, flow, input);
        for (at, member, value) in literal_members(input) {
            let at = at.unwrap_or(step.origin);
            let Some(field) = callee.intake.fields.iter().find(|f| *f.name == *member) else { continue };
            let Some(why) = ValueType::from_schema(&field.schema).explain_rejection(&value) else { continue };
            let finding =
                cx.new_finding(at, format!("`{member}` of `{}` does not accept this value: {why}", callee.name));
            cx.report_finding(finding.with_label(field.origin, "declared here"));
        }
        for (at, message, help) in unquotable(cx, flow, input) {
            let finding = cx.new_finding(at, message);
            cx.report_finding(finding.with_help(help));
        }
        let mut given = Vec::new();
        members(input, &mut given);
        for (name, value) in given {
            let Some(field) = callee.intake.fields.iter().find(|f| f.name == *name) else { continue };
            let Some(why) = wrong(cx, flow, value, field) else {
                unusual(cx, (flow, step.origin), callee, field, value);
                continue;
            };
            let at = value_location(value).unwrap_or(step.origin);
            let finding =
                cx.new_finding(at, format!("`{name}` of `{}` does not accept this value: {why}", callee.name));
            cx.report_finding(finding.with_label(field.origin, "declared here"));
        }
    }
}

/// Replaces a placeholder in text that is read as JSON: valid as a number and inside quotes.
const PLACEHOLDER: &str = "9007199254740881";

/// The input as written, if it is wrapped in an object first.
fn carried<'p>(cx: &RuleContext<'p>, flow: FlowId, input: &'p ValueExpression) -> &'p ValueExpression {
    wrapped_input(cx, flow, input).unwrap_or(input)
}

fn wrapped_input<'p>(cx: &RuleContext<'p>, flow: FlowId, input: &ValueExpression) -> Option<&'p ValueExpression> {
    let ValueExpression::If { source: Source::Slot(object), then, .. } = input else { return None };
    if !matches!(**then, ValueExpression::Read(Source::Slot(read)) if read == *object) {
        return None;
    }
    let ValueExpression::Merge(layers) = cx.model.program_types().computing_expr(flow, *object)? else { return None };
    let [ValueExpression::Read(Source::Slot(given))] = layers.as_slice() else { return None };
    cx.model.program_types().computing_expr(flow, *given)
}

/// The members of an input that is a JSON text, without those that contain placeholders.
pub(super) fn literal_members(input: &ValueExpression) -> Vec<(Option<Location>, String, Value)> {
    let ValueExpression::Structured(inner) = input else { return Vec::new() };
    let Some((at, text)) = text_with_placeholders(inner) else { return Vec::new() };
    let Ok(Value::Object(members)) = read_json::<Value>(text.trim()) else { return Vec::new() };
    let mut known = Vec::new();
    for (name, value) in members.iter() {
        if !name.contains(PLACEHOLDER) && !value.canonical_text().contains(PLACEHOLDER) {
            known.push((at, name.to_string(), value.clone()));
        }
    }
    known
}

/// The text of an expression with placeholders replaced, and its place if it has a separate one.
pub(super) fn text_with_placeholders(expr: &ValueExpression) -> Option<(Option<Location>, String)> {
    if let ValueExpression::Const(Value::Str(text)) = expr {
        return Some((None, text.to_string()));
    }
    let (ValueExpression::Template(source) | ValueExpression::Typed(source)) = expr else { return None };
    let mut text = String::new();
    for piece in template_pieces(source) {
        match piece {
            TextPiece::Written(written) => text.push_str(&written),
            TextPiece::Value(_) => text.push_str(PLACEHOLDER),
        }
    }
    Some((Some(source.origin), text))
}

/// Placeholders in JSON that are invalid with any value: text outside quotes, or values printed with their own quotes
/// inside quotes.
fn unquotable(cx: &RuleContext<'_>, flow: FlowId, input: &ValueExpression) -> Vec<(Location, String, String)> {
    let ValueExpression::Structured(inner) = input else { return Vec::new() };
    let ValueExpression::Template(text) = &**inner else { return Vec::new() };
    let all = template_pieces(text);
    if !matches!(all.first(), Some(TextPiece::Written(begin)) if begin.trim_start().starts_with('{')) {
        return Vec::new();
    }
    // If the text is not JSON for other reasons, its quotes cannot be determined, and lint reports it. The contents of
    // a block may not be rendered.
    if count_values(&all) == text.template.references().len() && is_invalid_json(inner) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut inside = false;
    for (i, piece) in all.iter().enumerate() {
        let value = match piece {
            TextPiece::Written(written) => {
                inside ^= written.replace("\\\"", "").matches('"').count() % 2 == 1;
                continue;
            }
            TextPiece::Value(value) => value,
        };
        let (Some(at), Some((_, index)), Some(source)) = (value.source_location(), value.text, value.source) else {
            continue;
        };
        let computed = text.template.inner_expressions();
        let json = computed.iter().any(|e| in_json(e, index));
        let plain = !computed.iter().any(|e| mentions(e, index));
        let rest = value.remaining_path();
        let path: Vec<&str> = rest.iter().map(|s| &**s).collect();
        let walk = cx.model.program_types().source_type(flow, source, &path, None);
        if walk.stop.is_some() || !walk.schema.is_kind(ValueKind::Text) {
            continue;
        }
        // A model's answer is text that may contain JSON.
        let open = walk.schema.is_answer()
            || walk.schema.json_content().is_some()
            || walk.schema.schema_keyword("enum").is_some();
        let Some(name) = value.path_text() else { continue };
        if json && inside && is_between_quotes(&all, i) {
            let message = format!("`{{{{json {name}}}}}` adds its own quotes, so in quotes this is not valid JSON");
            found.push((at, message, "remove the quotes around it".to_owned()));
        } else if plain && !inside && !open && !json {
            let message = format!("`{name}` is text and has no quotes here, so this is not valid JSON");
            found.push((at, message, format!("write `{{{{json {name}}}}}`, which adds the quotes")));
        }
    }
    found
}

fn count_values(pieces: &[TextPiece<'_>]) -> usize {
    pieces.iter().filter(|piece| matches!(piece, TextPiece::Value(_))).count()
}

/// Whether a text is not JSON, whatever its placeholders are.
fn is_invalid_json(expr: &ValueExpression) -> bool {
    match text_with_placeholders(expr) {
        Some((_, text)) => read_json::<Value>(text.trim()).is_err(),
        None => false,
    }
}

/// Whether the text before a piece ends with a quote, and the text after it starts with one.
fn is_between_quotes(pieces: &[TextPiece<'_>], at: usize) -> bool {
    let Some(before) = at.checked_sub(1) else { return false };
    matches!(pieces.get(before), Some(TextPiece::Written(text)) if text.ends_with('"'))
        && matches!(pieces.get(at + 1), Some(TextPiece::Written(text)) if text.starts_with('"'))
}

/// Whether a reference is in an expression.
fn mentions(expression: &ConditionExpression, reference: usize) -> bool {
    match expression {
        ConditionExpression::Reference(r) => *r as usize == reference,
        ConditionExpression::Call(_, all)
        | ConditionExpression::Compare(all, _)
        | ConditionExpression::And(all)
        | ConditionExpression::Or(all) => all.iter().any(|e| mentions(e, reference)),
        ConditionExpression::Not(inner) => mentions(inner, reference),
        _ => false,
    }
}

/// The members of an input, as far as they are literal.
fn members<'e>(input: &'e ValueExpression, into: &mut Vec<(&'e std::sync::Arc<str>, &'e ValueExpression)>) {
    match input {
        ValueExpression::Object(all) => into.extend(all.iter().map(|(k, e)| (k, e))),
        ValueExpression::Merge(layers) => layers.iter().for_each(|l| members(l, into)),
        _ => {}
    }
}

fn wrong(cx: &RuleContext<'_>, flow: FlowId, given: &ValueExpression, field: &FlowInputField) -> Option<String> {
    let wanted = ValueType::from_schema(&field.schema);
    if let ValueExpression::Const(value) = given {
        return if value.is_null() && field.nullable { None } else { wanted.explain_rejection(value) };
    }
    if let (ValueExpression::Typed(text), Some(choices)) = (given, wanted.allowed_values().as_deref())
        && !text.template.is_single()
        && let Some(why) = never_a_choice(text, choices)
    {
        return Some(why);
    }
    let held = cx.model.program_types().expr_type(flow, given, None);
    match held.allowed_values() {
        Some(choices) => rejected_choice(cx, flow, given, &choices, &wanted),
        None => held.explain_mismatch(&wanted),
    }
}

/// Why a value that is one of these choices is not accepted: all of them are not, or one is not.
fn rejected_choice(
    cx: &RuleContext<'_>,
    flow: FlowId,
    given: &ValueExpression,
    choices: &[Value],
    wanted: &ValueType,
) -> Option<String> {
    let mut rejected = None;
    let mut is_any_good = false;
    for choice in choices {
        if choice.is_null() {
            continue;
        }
        match wanted.explain_rejection(choice) {
            Some(why) if rejected.is_none() => rejected = Some((choice, why)),
            Some(_) => {}
            None => is_any_good = true,
        }
    }
    let (choice, why) = rejected?;
    if !is_any_good {
        return Some(why);
    }
    // A condition may ensure that only other values get here.
    if asked(cx, flow, given) {
        return None;
    }
    Some(format!("it can be `{}`, but {why}", choice.to_text()))
}

/// Why a text with placeholders matches none of the choices: none has its start, or none has its end.
fn never_a_choice(text: &BoundTemplate, choices: &[Value]) -> Option<String> {
    let all = template_pieces(text);
    if count_values(&all) != text.template.references().len() {
        return None; // What is shown in a block may not be there.
    }
    let (begin, end) = (written_text(all.first()), written_text(all.last()));
    let mut words = Vec::new();
    for choice in choices {
        match choice.as_str() {
            Some(word) => words.push(word),
            None if choice.is_null() => {}
            None => return None,
        }
    }
    let may_be = |word: &&str| word.starts_with(begin) && word.ends_with(end) && word.len() >= begin.len() + end.len();
    if words.is_empty() || words.iter().any(may_be) {
        return None;
    }
    let list = words::quoted_names(words.iter().take(MOST_LISTED));
    let part = if begin.is_empty() { format!("ends with `{end}`") } else { format!("begins with `{begin}`") };
    Some(format!("it must be one of {list}, but this {part}"))
}

/// The text of a piece; empty for a value.
fn written_text<'t>(piece: Option<&'t TextPiece<'_>>) -> &'t str {
    match piece {
        Some(TextPiece::Written(text)) => text,
        _ => "",
    }
}

/// Whether a condition of the flow tests the parts of a value.
fn asked(cx: &RuleContext<'_>, flow: FlowId, value: &ValueExpression) -> bool {
    let mut slots = Vec::new();
    walk::visit_sources(value, &mut |source| slots.extend(source.slot_ids()));
    let mut found = false;
    for (_, id) in cx.model.steps_of(flow) {
        for part in walk::evaluated_by_step(&cx.model.program.steps[*id]) {
            if !matches!(part, EvaluatedPart::Cond(_)) {
                continue;
            }
            part.visit_sources(&mut |source| found |= source.slot_ids().iter().any(|slot| slots.contains(slot)));
            if found {
                return true;
            }
        }
    }
    false
}

/// A value of another type than the default that it replaces.
fn unusual(
    cx: &mut RuleContext<'_>,
    (flow, step): (FlowId, Location),
    callee: &FlowDefinition,
    field: &FlowInputField,
    value: &ValueExpression,
) {
    let Some((usual, declared)) = &field.usual else { return };
    let wanted = usual.solid_kinds().unwrap_or_default();
    // Everything can be printed in a text.
    if wanted.is_empty() || wanted.contains(ValueKind::Text) {
        return;
    }
    let given = match value {
        ValueExpression::Const(Value::Str(text)) => match read_json::<Value>(text.trim()) {
            Ok(read) => ValueKinds::from_kind(ValueKind::from_value(&read)),
            Err(_) => ValueKinds::from_kind(ValueKind::Text),
        },
        other => cx.model.program_types().expr_type(flow, other, None).solid_kinds().unwrap_or_default(),
    };
    // Text that is known only at run time may be the JSON of a list or an object.
    let written = matches!(value, ValueExpression::Const(_));
    let open = !written
        && given.contains(ValueKind::Text)
        && (wanted.contains(ValueKind::List) || wanted.contains(ValueKind::Object));
    if given.is_empty() || open || given.overlaps_with(wanted) {
        return;
    }
    // A literal has no place in the program, but its key has one.
    let key = first_mention(cx.model.facts, *declared, step);
    let at = value_location(value).or(key).unwrap_or(step);
    let (is, label) = match field.default {
        Some(_) => (format!("has {wanted} as its default"), "the default"),
        None => (format!("is declared as {wanted}"), "declared here"),
    };
    let message = format!("`{}` of `{}` {is}, but this is {given}", field.name, callee.name);
    cx.report_finding(cx.new_finding(at, message).with_label(*declared, label));
}

/// The first place after the start of a step that names a declaration.
fn first_mention(facts: &Facts, declared: Location, step: Location) -> Option<Location> {
    let mut first: Option<Location> = None;
    for mention in &facts.mentions {
        let at = mention.at;
        if mention.to == Some(declared)
            && at.file == step.file
            && at.span.start >= step.span.start
            && first.is_none_or(|first| at.span.start < first.span.start)
        {
            first = Some(at);
        }
    }
    first
}

fn value_location(value: &ValueExpression) -> Option<Location> {
    match value {
        ValueExpression::Typed(text) | ValueExpression::Template(text) => {
            let span = match text.spans.first() {
                Some(span) if text.template.is_single() => *span,
                _ => text.origin.span,
            };
            Some(Location::new(text.origin.file, span))
        }
        ValueExpression::AsText(inner)
        | ValueExpression::AsMessage(inner)
        | ValueExpression::Structured(inner)
        | ValueExpression::Coerce(inner, _) => value_location(inner),
        _ => None,
    }
}
