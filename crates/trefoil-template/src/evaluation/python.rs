//! Functions and methods of `when` whose results differ from those of the other dialects: texts as Python writes them, and a closed list
//! of pure text methods. Their results are compared with Python's in a table of the tests.

use std::borrow::Cow;

use crate::expression::BuiltinFunction;
use crate::value::{Value, python_text};

/// The result of a function. Outer `None`: it is the same in every dialect; inner `None`: it fails.
pub(super) fn call_python_function(function: BuiltinFunction, arguments: &[Cow<'_, Value>]) -> Option<Option<Value>> {
    let is_method = matches!(
        function,
        BuiltinFunction::Lower
            | BuiltinFunction::Upper
            | BuiltinFunction::Trim
            | BuiltinFunction::TrimStart
            | BuiltinFunction::TrimEnd
            | BuiltinFunction::StartsWith
            | BuiltinFunction::EndsWith
            | BuiltinFunction::Replace
    );
    match (function, arguments) {
        (BuiltinFunction::Str, [value]) => Some(Some(python_text(value))),
        _ if is_method => Some(method(function, arguments)),
        _ => None,
    }
}

/// A method of a text. Fails for anything else.
fn method(function: BuiltinFunction, arguments: &[Cow<'_, Value>]) -> Option<Value> {
    let (text, rest) = arguments.split_first()?;
    let text = text.as_str()?;
    let mut texts = Vec::with_capacity(rest.len());
    for argument in rest {
        texts.push(argument.as_str()?);
    }
    let trimmed = |start: bool, end: bool, set: Option<&str>| {
        let is_cut = |c: char| set.map_or_else(|| is_space(c), |set| set.contains(c));
        let text = if start { text.trim_start_matches(is_cut) } else { text };
        Value::from(if end { text.trim_end_matches(is_cut) } else { text })
    };
    Some(match (function, texts.as_slice()) {
        (BuiltinFunction::Lower, []) => text.to_lowercase().into(),
        (BuiltinFunction::Upper, []) => text.to_uppercase().into(),
        (BuiltinFunction::Trim, []) => trimmed(true, true, None),
        (BuiltinFunction::Trim, [set]) => trimmed(true, true, Some(set)),
        (BuiltinFunction::TrimStart, []) => trimmed(true, false, None),
        (BuiltinFunction::TrimStart, [set]) => trimmed(true, false, Some(set)),
        (BuiltinFunction::TrimEnd, []) => trimmed(false, true, None),
        (BuiltinFunction::TrimEnd, [set]) => trimmed(false, true, Some(set)),
        (BuiltinFunction::StartsWith, [part]) => text.starts_with(part).into(),
        (BuiltinFunction::EndsWith, [part]) => text.ends_with(part).into(),
        // Every character has a replacement, so the result is at most this long.
        (BuiltinFunction::Replace, [_, new])
            if text.len().saturating_add(1).saturating_mul(new.len()) > crate::limits::OUTPUT_BYTES =>
        {
            return None;
        }
        (BuiltinFunction::Replace, [old, new]) => text.replace(old, new).into(),
        _ => return None,
    })
}

/// What Python removes at the ends of texts and numbers.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// The text of a number without spaces around it, and without single underscores between digits.
pub(super) fn normalized_digits(text: &str) -> Option<String> {
    let text = text.trim_matches(is_space);
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '_' {
            let between = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
            if !between(out.chars().next_back()) || !between(chars.peek().copied()) {
                return None;
            }
        } else {
            out.push(c);
        }
    }
    Some(out)
}
