//! A prompt that asks for something that the schema of the answer does not allow.

use trefoil_ir::types::{ValueKind, TypeMember, ValueType};
use trefoil_ir::{AnswerFormat, StepKind};
use trefoil_syntax::FindingSeverity;
use trefoil_template::Value;

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
use crate::semantic::message_texts;

pub(super) const RULE: Rule = Rule {
    name: "prompt-against-schema",
    group: RuleGroup::Models,
    level: Some(FindingSeverity::Info),
    strict: Some(FindingSeverity::Warning),
    page: include_str!("prompt_against_schema.md"),
    run: RuleSource::Program(run),
};

/// Phrases that ask for an answer without JSON.
const NO_JSON: &[&str] = &[
    "do not use json",
    "don't use json",
    "do not return json",
    "don't return json",
    "no json",
    "not json",
    "without json",
    "plain text only",
    "only plain text",
    "answer in plain text",
    "reply in plain text",
    "respond in plain text",
    "return plain text",
    "answer in markdown",
    "reply in markdown",
    "respond in markdown",
    "return markdown",
];

/// Words that show that a range of numbers is about the number in the schema.
const RATING: &[&str] = &["score", "rate", "rating", "grade", "scale", "confidence"];

fn run(cx: &mut RuleContext<'_>) {
    let program = cx.model.program;
    for (_, _, step) in cx.model.reachable_steps() {
        let StepKind::Model(call) = &step.kind else { continue };
        let AnswerFormat::Json(schema) = &call.format else { continue };
        let schema = &program.schemas[*schema];
        let answer = ValueType::from_schema(&schema.json);
        for told in message_texts::by_call(call, step) {
            let why = no_json(&told.words)
                .or_else(|| no_choice(&told.words, &answer))
                .or_else(|| other_range(&told.words, &answer));
            if let Some((message, help)) = why {
                cx.report_finding(cx.new_finding(told.at, message).with_label(schema.origin, "the schema of the answer").with_help(help));
            }
        }
    }
}

type PromptContradiction = Option<(String, String)>;

fn no_json(words: &str) -> PromptContradiction {
    let lower = words.to_lowercase();
    let whole = |phrase: &&&str| {
        let mut found = lower.match_indices(**phrase).map(|(at, phrase)| lower.get(at + phrase.len()..));
        found.any(|rest| !rest.is_some_and(|rest| rest.starts_with(char::is_alphanumeric)))
    };
    let phrase = NO_JSON.iter().find(whole)?;
    let message = format!("the prompt says `{phrase}`, but the answer has a schema, so it is JSON");
    Some((message, "remove the sentence, or the schema".to_owned()))
}

/// A list in which most words are choices of the schema, but one is not.
fn no_choice(words: &str, schema: &ValueType) -> PromptContradiction {
    let mut enums = Vec::new();
    choices(schema, &mut enums, 0);
    for list in message_texts::word_lists(words).into_iter().filter(|list| list.len() > 2) {
        for all in &enums {
            let is = |word: &str| all.iter().any(|choice| choice.eq_ignore_ascii_case(word));
            let known = list.iter().filter(|word| is(word)).count();
            let mut others = list.iter().filter(|word| !is(word));
            if let (true, Some(other), None) = (known >= 2, others.next(), others.next()) {
                let message = format!("the prompt asks for `{other}`, which the schema of the answer does not allow");
                let all = all.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ");
                return Some((message, format!("the schema allows {all}")));
            }
        }
    }
    None
}

/// The choices of texts in all parts of a schema.
fn choices(schema: &ValueType, found: &mut Vec<Vec<String>>, depth: usize) {
    if depth > 6 {
        return;
    }
    if let Some(all) = schema.allowed_values() {
        let texts: Vec<String> = all.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        if texts.len() > 1 {
            found.push(texts);
        }
    }
    for name in schema.declared_members() {
        if let TypeMember::Is { of, .. } = schema.find_member(&name) {
            choices(&of, found, depth + 1);
        }
    }
    if schema.is_kind(ValueKind::List) {
        choices(&schema.item_type(), found, depth + 1);
    }
}

/// A range of a rating that differs from that of the only number with limits in the schema.
fn other_range(words: &str, schema: &ValueType) -> PromptContradiction {
    let limited: Vec<(f64, f64)> = schema.declared_members()
        .iter()
        .filter_map(|name| match schema.find_member(name) {
            TypeMember::Is { of, .. } => Some((of.keyword_limit("minimum")?, of.keyword_limit("maximum")?)),
            _ => None,
        })
        .collect();
    let [(low, high)] = limited.as_slice() else { return None };
    let lower = words.to_lowercase();
    let mut ranges = ranges(&lower);
    let (at, from, to) = ranges.next()?;
    let before = lower.get(..at)?;
    let near: String = before.chars().rev().take(48).collect::<Vec<_>>().into_iter().rev().collect();
    if ranges.next().is_some() || (from, to) == (*low, *high) || !RATING.iter().any(|word| near.contains(word)) {
        return None;
    }
    let message = format!("the prompt asks for a number from {from} to {to}, but the schema allows {low} to {high}");
    Some((message, "write the same limits in both places".to_owned()))
}

/// `1 to 10`, `1-10`, `between 1 and 10`: the offset and the two numbers.
fn ranges(text: &str) -> impl Iterator<Item = (usize, f64, f64)> {
    let number = |text: &str| {
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let digits = text.get(..end)?.trim_end_matches('.');
        Some((digits.len(), digits.parse::<f64>().ok()?))
    };
    let starts = text.char_indices().filter(|(at, c)| {
        let before = text.get(..*at).and_then(|t| t.chars().next_back());
        c.is_ascii_digit() && !before.is_some_and(|b| b.is_alphanumeric() || matches!(b, '.' | '-' | '_'))
    });
    starts.filter_map(move |(at, _)| {
        let rest = text.get(at..)?;
        let (length, from) = number(rest)?;
        let rest = rest.get(length..)?;
        let between = text.get(..at)?.trim_end().ends_with("between");
        let signs: &[&str] = if between { &[" and "] } else { &[" to ", "-", "–", " - ", ".."] };
        let rest = signs.iter().find_map(|sign| rest.strip_prefix(sign))?;
        let (_, to) = number(rest)?;
        (from < to).then_some((at, from, to))
    })
}
