//! Literals of agntz: quoted text, `true`, `false`, `null`, numbers, and bare text.

use std::ops::Range;

use crate::error::SyntaxMistakes;
use crate::evaluation::read_number;
use crate::value::Value;

/// Why a text is not a literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BadLiteral {
    Empty,
    /// Quoted text without its closing quote.
    Unclosed,
    /// Something after quoted text.
    Quote,
    /// A character, at this byte, that is not allowed in unquoted text.
    Character(usize, char),
    /// `and`, `or`, `not` as a word, at this byte.
    Word(usize, &'static str),
}

/// Characters that end unquoted text.
pub(crate) fn ends_bare(c: char) -> bool {
    matches!(c, '"' | '\'' | '{' | '}' | '(' | ')' | '=' | '!' | '<' | '>' | '&' | '|')
}

/// Reads a whole text, without surrounding whitespace, as a literal.
pub(crate) fn read_literal(text: &str) -> Result<Value, BadLiteral> {
    match text.chars().next() {
        None => return Err(BadLiteral::Empty),
        Some(quote @ ('"' | '\'')) => {
            return match text.get(1..).and_then(|rest| rest.strip_suffix(quote)) {
                Some(inside) if !inside.contains(quote) => Ok(inside.into()),
                _ if !text.get(1..).unwrap_or_default().contains(quote) => Err(BadLiteral::Unclosed),
                _ => Err(BadLiteral::Quote),
            };
        }
        Some(_) => {}
    }
    match text {
        "true" => return Ok(true.into()),
        "false" => return Ok(false.into()),
        "null" => return Ok(Value::Null),
        _ => {}
    }
    if let Some(number) = read_number(text) {
        return Ok(number.into());
    }
    if let Some((at, c)) = text.char_indices().find(|(_, c)| ends_bare(*c)) {
        return Err(BadLiteral::Character(at, c));
    }
    let mut from = 0;
    for word in text.split_whitespace() {
        let at = text.get(from..).and_then(|rest| rest.find(word)).map_or(from, |at| from + at);
        if let Some(word) = ["and", "or", "not"].into_iter().find(|w| *w == word) {
            return Err(BadLiteral::Word(at, word));
        }
        from = at + word.len();
    }
    Ok(text.into())
}

impl BadLiteral {
    /// Reports the mistake. `range` is the literal. `joins`: the language has `&&` and `||`.
    pub fn report_mistake(self, mistakes: &mut SyntaxMistakes, code: &'static str, range: Range<usize>, joins: bool) {
        match self {
            Self::Empty => mistakes.add_mistake(code, range, "missing value").set_help("for empty text write `''`"),
            Self::Unclosed => mistakes
                .add_mistake(code, range, "quoted text without a closing quote")
                .set_help("end it with the quote that it starts with"),
            Self::Quote => mistakes
                .add_mistake(code, range, "text after the closing quote")
                .set_help("escapes are not supported; put the other kind of quote around it"),
            Self::Character(at, c) => {
                let at = range.start + at;
                let mistakes =
                    mistakes.add_mistake(code, at..at + c.len_utf8(), format!("`{c}` in text without quotes"));
                match c {
                    '&' | '|' | '<' | '>' | '=' | '!' => {
                        mistakes.set_help("put the text in quotes, or split the condition")
                    }
                    _ => mistakes.set_help("put the text in quotes"),
                }
            }
            Self::Word(at, word) => {
                let at = range.start + at;
                let mistakes =
                    mistakes.add_mistake(code, at..at + word.len(), format!("`{word}` is not an operator here"));
                match word {
                    _ if !joins => mistakes.set_help("put the text in quotes, or nest two `{{#if}}` blocks"),
                    "and" => mistakes.set_help("write `&&`, or put the text in quotes"),
                    "or" => mistakes.set_help("write `||`, or put the text in quotes"),
                    _ => {
                        mistakes.set_help("`not` is not supported; write `!=` or `== false`, or put the text in quotes")
                    }
                }
            }
        }
    }
}
