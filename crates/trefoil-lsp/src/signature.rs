//! Signature help: the usage of the helper, filter, function or block at the cursor, and its current argument.

use trefoil_ir::facts::Scope;
use trefoil_syntax::FileId;
use trefoil_template::Policy;
use trefoil_template::policy::ConditionGrammar;

use crate::analysis::FolderAnalysis;
use crate::completion::in_tag;
use crate::words;

/// The usage of a helper, filter, function or block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSignature {
    /// The shown text.
    pub label: String,
    /// The bytes of its arguments in the label.
    pub arguments: Vec<std::ops::Range<u32>>,
    /// The index of the current argument.
    pub active: usize,
    /// Its description.
    pub about: &'static str,
}

/// The signature of the call at an offset.
pub fn find_signature(analysis: &FolderAnalysis, file: FileId, offset: u32) -> Option<CallSignature> {
    let text = analysis.file_text(file);
    let scope = analysis.scope_at(file, offset);
    let (policy, condition) = match scope {
        Some(scope) => (scope.policy, scope.condition),
        None => (analysis.dialect(file)?.policy(), false),
    };
    let begun = begun(text, offset, scope)?;
    let call = call(begun, policy, condition)?;
    let word = words::find_word(policy, condition && !in_tag(text, offset), call.name)?;
    let (label, arguments) = words::word_usage(&word);
    if arguments.is_empty() {
        return None;
    }
    let active = call.done.min(arguments.len() - 1);
    Some(CallSignature { label, arguments, active, about: word.about })
}

/// The text before the cursor in its tag or condition.
fn begun<'t>(text: &'t str, offset: u32, scope: Option<&Scope>) -> Option<&'t str> {
    let before = text.get(..offset as usize)?;
    if in_tag(text, offset) {
        return before.get(before.rfind("{{")? + 2..);
    }
    let scope = scope?;
    if !scope.condition {
        return None;
    }
    let value = before.get(scope.at.span.start as usize..)?;
    // Skip the opening quote of the scalar.
    Some(value.strip_prefix(['"', '\'']).unwrap_or(value))
}

/// An incomplete call.
#[derive(Debug, PartialEq, Eq)]
struct IncompleteCall<'t> {
    name: &'t str,
    /// Number of complete arguments.
    done: usize,
}

/// The innermost incomplete call at the end of a text.
fn call<'t>(text: &'t str, policy: &Policy, condition: bool) -> Option<IncompleteCall<'t>> {
    let mut open: Vec<usize> = Vec::new();
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => open.push(at),
            (None, ')') => drop(open.pop()),
            _ => {}
        }
    }
    let with_commas = policy.filters || condition && policy.conditions == ConditionGrammar::Python;
    let Some(paren) = open.last().copied() else {
        return if with_commas { None } else { parse_spaced_call(text) };
    };
    if !with_commas {
        return parse_spaced_call(text.get(paren + 1..)?);
    }
    let before = text.get(..paren)?.trim_end();
    let start = match before.rfind(|c: char| !(c.is_alphanumeric() || c == '_')) {
        Some(at) => at + 1,
        None => 0,
    };
    let name = before.get(start..)?;
    if name.is_empty() {
        return None;
    }
    Some(IncompleteCall { name, done: commas(text.get(paren + 1..)?) })
}

/// A call whose arguments are separated by spaces. The name is complete if a space follows it.
fn parse_spaced_call(text: &str) -> Option<IncompleteCall<'_>> {
    let text = text.trim_start_matches(['~', '{', '&', ' ', '\t', '\n']);
    let end = text.find(char::is_whitespace)?;
    let (name, rest) = text.split_at(end);
    let (mut done, mut quote, mut depth, mut inside) = (0, None, 0_u32, false);
    for c in rest.chars() {
        let blank = c.is_whitespace() && quote.is_none() && depth == 0;
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        if inside && blank {
            done += 1;
        }
        inside = !blank;
    }
    Some(IncompleteCall { name, done })
}

fn commas(text: &str) -> usize {
    let (mut done, mut quote, mut depth) = (0, None, 0_u32);
    for c in text.chars() {
        match (quote, c) {
            (Some(q), c) if q == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => done += 1,
            _ => {}
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::{IncompleteCall, call};
    use trefoil_template::Policy;

    fn open<'t>(text: &'t str, policy: &Policy, condition: bool) -> Option<(&'t str, usize)> {
        call(text, policy, condition).map(|IncompleteCall { name, done }| (name, done))
    }

    #[test]
    fn arguments_are_counted_in_every_language() {
        assert_eq!(open("default ", &Policy::AEGIS, false), Some(("default", 0)));
        assert_eq!(open("default path ", &Policy::AEGIS, false), Some(("default", 1)));
        assert_eq!(open("default path 'a b", &Policy::AEGIS, false), Some(("default", 1)));
        assert_eq!(open("#if (eq a.b ", &Policy::AEGIS, false), Some(("eq", 1)));
        assert_eq!(open("#if (eq a b) ", &Policy::AEGIS, false), Some(("#if", 1)));
        assert_eq!(open("def", &Policy::AEGIS, false), None, "the word itself is being written");
        assert_eq!(open(" x | default(", &Policy::SIRENSPEC, false), Some(("default", 0)));
        assert_eq!(open(" x | default('a, (') ", &Policy::SIRENSPEC, false), None);
        assert_eq!(open("min(len(x), ", &Policy::SIRENSPEC, true), Some(("min", 1)));
        assert_eq!(open("min(len(", &Policy::SIRENSPEC, true), Some(("len", 0)));
        assert_eq!(open("#if ", &Policy::AGNTZ, false), Some(("#if", 0)));
    }
}
