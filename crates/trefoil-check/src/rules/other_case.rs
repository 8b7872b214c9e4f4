//! A condition that compares an answer with a word that the prompt spells with different capitals.

use trefoil_ir::types::ValueKind;
use trefoil_ir::{FlowId, SlotId, StepId};
use trefoil_syntax::{Location, FindingSeverity};
use trefoil_syntax::hash::HashMap;
use trefoil_template::{ComparisonOperator, Value};

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
use crate::semantic::message_texts::{self, MessageText};

pub(super) const RULE: Rule = Rule {
    name: "other-case",
    group: RuleGroup::Types,
    level: Some(FindingSeverity::Warning),
    strict: None,
    page: include_str!("other_case.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    let outs = model.all_steps().filter_map(|(flow, id, step)| Some(((flow, step.out?), id)));
    let writers: HashMap<(FlowId, SlotId), StepId> = outs.collect();
    for compared in model.typed_comparisons() {
        if !matches!(compared.comparison, ComparisonOperator::Equal | ComparisonOperator::NotEqual) {
            continue;
        }
        let Some(word) = compared.other.literal.as_ref().and_then(Value::as_str).filter(|w| is_word(w)) else { continue };
        // If the choices are declared, a wrong one is reported by `never-true`; other kinds of values are not text from
        // a model.
        let text = compared.value.schema.solid_kinds().is_none_or(|kinds| kinds.contains(ValueKind::Text));
        if !text || compared.value.schema.allowed_values().is_some() {
            continue;
        }
        let steps = compared.value.slots.iter().filter_map(|slot| writers.get(&(compared.flow, *slot)));
        let told: Vec<MessageText> = steps.flat_map(|step| message_texts::by_step(model.program, *step)).collect();
        let Some((asked, at)) = written_otherwise(word, &told) else { continue };
        let message = format!("this compares with `{word}`, but the prompt asks for `{asked}`");
        let d = cx.new_finding(compared.at, message).with_label(at, "the prompt");
        cx.report_finding(d.with_help("capitals count in comparisons: write the word the same way in both places"));
    }
}

/// Whether a text has letters with upper and lower case.
fn is_word(text: &str) -> bool {
    text.len() > 1
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
        && text.to_lowercase() != text.to_uppercase()
}

/// The spelling of a word in the prompts, if none of them spells it as the condition does.
fn written_otherwise<'t>(word: &str, told: &'t [MessageText]) -> Option<(&'t str, Location)> {
    let lower = word.to_lowercase();
    let mut other = None;
    for one in told {
        for (before, found) in words(&one.words).filter(|(_, found)| found.to_lowercase() == lower) {
            if found == word {
                return None;
            }
            // In a sentence, a word is not necessarily the required answer, unless it is emphasised.
            let capitals = found.len() > 1 && found.to_uppercase() == *found;
            if capitals || matches!(before, Some('"' | '\'' | '`')) {
                other.get_or_insert((found, one.at));
            }
        }
        let mut listed = message_texts::word_lists(&one.words).into_iter().filter_map(|list| among(&lower, &list));
        if let Some(found) = listed.rfind(|found| *found != word) {
            other.get_or_insert((found, one.at));
        }
    }
    other
}

/// The spelling of a word in a list, `Refund, Opening or Other`. The first word may be capitalised as the start of a
/// sentence.
fn among<'t>(lower: &str, list: &[&'t str]) -> Option<&'t str> {
    let at = list.iter().position(|word| word.to_lowercase() == lower)?;
    let small = |word: &&str| !word.starts_with(char::is_uppercase);
    let starts_a_sentence = at == 0 && list.iter().skip(1).all(small);
    list.get(at).copied().filter(|word| !starts_a_sentence || small(word))
}

/// The words of a text, each with the character before it.
fn words(text: &str) -> impl Iterator<Item = (Option<char>, &str)> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).filter(|word| !word.is_empty()).map(|word| {
        // A subslice of the text, whose offset follows from the addresses.
        let at = word.as_ptr() as usize - text.as_ptr() as usize;
        (text.get(..at).and_then(|before| before.chars().next_back()), word)
    })
}
