//! A condition that compares an answer with a word that the prompt spells with different capitals.

use trefoil_ir::types::{ValueKind, ValueType};
use trefoil_ir::{FlowId, SlotId, StepId};
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::{FindingSeverity, Location};
use trefoil_template::ComparisonOperator;

use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
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
    let mut writers: HashMap<(FlowId, SlotId), StepId> = HashMap::default();
    for (flow, id, step) in model.all_steps() {
        if let Some(out) = step.out {
            writers.insert((flow, out), id);
        }
    }
    for compared in model.typed_comparisons() {
        if !matches!(compared.comparison, ComparisonOperator::Equal | ComparisonOperator::NotEqual) {
            continue;
        }
        let Some(literal) = &compared.other.literal else { continue };
        let Some(word) = literal.as_str() else { continue };
        if !is_word(word) || !is_free_text(&compared.value.schema) {
            continue;
        }
        let mut told: Vec<MessageText> = Vec::new();
        for slot in &compared.value.slots {
            if let Some(step) = writers.get(&(compared.flow, *slot)) {
                told.extend(message_texts::by_step(model.program, *step));
            }
        }
        let Some((asked, at)) = written_otherwise(word, &told) else { continue };
        let message = format!("this compares with `{word}`, but the prompt asks for `{asked}`");
        let d = cx.new_finding(compared.at, message).with_label(at, "the prompt");
        cx.report_finding(d.with_help("capitals count in comparisons: write the word the same way in both places"));
    }
}

/// Whether values may be text from a model. If the choices are declared, a wrong one is reported by `never-true`.
fn is_free_text(schema: &ValueType) -> bool {
    if schema.allowed_values().is_some() {
        return false;
    }
    match schema.solid_kinds() {
        Some(kinds) => kinds.contains(ValueKind::Text),
        None => true,
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
    for text in told {
        for found in words(&text.words) {
            if found.to_lowercase() != lower {
                continue;
            }
            if found == word {
                return None;
            }
            // In a sentence, a word is not necessarily the required answer, unless it is emphasised.
            let capitals = found.len() > 1 && found.to_uppercase() == *found;
            if capitals || matches!(char_before(&text.words, found), Some('"' | '\'' | '`')) {
                other.get_or_insert((found, text.at));
            }
        }
        let mut listed = None;
        for list in message_texts::word_lists(&text.words) {
            if let Some(found) = among(&lower, &list)
                && found != word
            {
                listed = Some(found);
            }
        }
        if let Some(found) = listed {
            other.get_or_insert((found, text.at));
        }
    }
    other
}

/// The spelling of a word in a list, `Refund, Opening or Other`. The first word may be capitalised as the start of a
/// sentence.
fn among<'t>(lower: &str, list: &[&'t str]) -> Option<&'t str> {
    let at = list.iter().position(|word| word.to_lowercase() == lower)?;
    let word = *list.get(at)?;
    let small = |word: &&str| !word.starts_with(char::is_uppercase);
    let starts_a_sentence = at == 0 && list.iter().skip(1).all(small);
    if starts_a_sentence && !small(&word) { None } else { Some(word) }
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-'))).filter(|word| !word.is_empty())
}

/// The character of a text before one of its words.
fn char_before(text: &str, word: &str) -> Option<char> {
    // A subslice of the text, whose offset follows from the addresses.
    let at = word.as_ptr() as usize - text.as_ptr() as usize;
    text.get(..at)?.chars().next_back()
}
