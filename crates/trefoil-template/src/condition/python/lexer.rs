//! Tokens of `when`. Operators of other languages are reported and read as the intended ones.

use crate::error::sign_of;
use std::ops::Range;

use crate::template::builder::TemplateBuilder;
use crate::value::{Value, ValueNumber};

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PythonToken<'t> {
    Name(&'t str),
    Value(Value),
    /// Operator or punctuation.
    Sign(&'static str),
}

/// A token and its bytes in the text.
pub(super) type SpannedToken<'t> = (PythonToken<'t>, Range<usize>);

/// Signs of the language, longest first.
const SIGNS: [&str; 20] =
    ["==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", "{", "}", ",", ".", ":"];

const NO_PATTERNS: &str =
    "patterns are not supported; use `\"word\" in working.path` to find a word, and `!=` to compare values";

/// Operators of other languages, the equivalent here (a word or a sign), and the advice.
const FOREIGN: [(&str, &str, &str); 23] = [
    ("===", "==", "write `==`"),
    ("!==", "!=", "write `!=`"),
    ("=!", "!=", "write `!=`"),
    ("= =", "==", "write `==`"),
    ("=~", "==", NO_PATTERNS),
    ("~=", "!=", NO_PATTERNS),
    ("&&", "and", "write `and`"),
    ("||", "or", "write `or`"),
    ("<>", "!=", "write `!=`"),
    ("=>", ">=", "write `>=`"),
    ("=<", "<=", "write `<=`"),
    ("**", "*", "powers are not supported"),
    ("//", "/", "integer division is not supported; `int(a / b)` drops the fraction"),
    ("<<", "*", "bit operations are not supported"),
    (">>", "/", "bit operations are not supported"),
    (":=", ":", "assignments are not supported"),
    ("{{", "", "write paths without braces: `working.path`"),
    ("}}", "", "write paths without braces: `working.path`"),
    ("=", "==", "write `==`"),
    ("!", "not", "write `not`"),
    ("&", "and", "write `and`"),
    ("|", "or", "write `or`"),
    ("?", "", "conditional expressions are not supported"),
];

/// All tokens of the source.
pub(super) fn tokenize_python<'t>(b: &mut TemplateBuilder<'t>) -> Vec<SpannedToken<'t>> {
    let mut tokens = Vec::new();
    let mut at = 0;
    // Nested objects, whose braces may be adjacent.
    let mut open = 0usize;
    loop {
        let rest = b.source_slice(at..b.source.len());
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        let Some(c) = trimmed.chars().next() else { return tokens };
        let start = at;
        let number = c.is_ascii_digit() || c == '.' && trimmed.as_bytes().get(1).is_some_and(u8::is_ascii_digit);
        let token = if c == '#' {
            at += trimmed.find('\n').unwrap_or(trimmed.len());
            None
        } else if number {
            let (len, value) = read_number(b, start, trimmed);
            at += len;
            Some(PythonToken::Value(value))
        } else if c.is_alphabetic() || c == '_' {
            let len = trimmed.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(trimmed.len());
            at += len;
            Some(PythonToken::Name(b.source_slice(start..at)))
        } else if c == '"' || c == '\'' {
            let (end, value) = text(b, start, c);
            at = end;
            Some(PythonToken::Value(value))
        } else if c == '}' && open > 0 {
            at += 1;
            open -= 1;
            Some(PythonToken::Sign("}"))
        } else if let Some((sign, meant, help)) = foreign(trimmed) {
            at += sign.len();
            if sign != "}}" || !b.source_slice(0..start).contains("{{") {
                let (before, behind) = (b.source_slice(0..start), b.source_slice(at..b.source.len()));
                let noted = b.mistakes.add_mistake(
                    "condition-bad-operator",
                    start..at,
                    format!("`{sign}` is not supported here"),
                );
                if sign == "|" && is_filter(behind) {
                    noted.set_help("filters are not supported; values are compared as they are");
                } else {
                    if let Some(meant) = sign_of(help) {
                        noted.set_replacement(apart(meant, before, behind));
                    }
                    noted.set_help(help);
                }
            }
            match meant {
                "" => None,
                "and" | "or" | "not" => Some(PythonToken::Name(meant)),
                meant => Some(PythonToken::Sign(meant)),
            }
        } else if let Some(sign) = SIGNS.into_iter().find(|sign| trimmed.starts_with(sign)) {
            at += sign.len();
            open += usize::from(sign == "{");
            Some(PythonToken::Sign(sign))
        } else {
            at += c.len_utf8();
            let help = match c {
                '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}' => "use straight quotes",
                _ => "a condition compares paths such as `working.intent` with values",
            };
            b.mistakes.add_mistake("condition-syntax", start..at, format!("unexpected `{c}`")).set_help(help);
            None
        };
        if let Some(token) = token {
            tokens.push((token, start..at));
        }
    }
}

/// Whether the text after a `|` is the name of a filter rather than an operand.
fn is_filter(behind: &str) -> bool {
    let behind = behind.trim_start();
    let word = behind.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(behind.len());
    let (word, rest) = behind.split_at(word);
    word.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && !rest.starts_with(['.', '('])
        && !matches!(word, "not" | "working" | "output" | "True" | "False" | "true" | "false")
}

/// The word that replaces a sign, with blanks where it would merge with its neighbours.
fn apart(meant: &str, before: &str, behind: &str) -> String {
    if !meant.starts_with(char::is_alphabetic) {
        return meant.to_owned();
    }
    let left = if before.ends_with(|c: char| !c.is_whitespace() && c != '(') { " " } else { "" };
    let right = if behind.starts_with(|c: char| !c.is_whitespace()) { " " } else { "" };
    format!("{left}{meant}{right}")
}

fn foreign(text: &str) -> Option<(&'static str, &'static str, &'static str)> {
    // `==` and similar operators start with foreign operators of one character.
    let own = SIGNS.into_iter().find(|sign| text.starts_with(sign)).map_or(0, str::len);
    FOREIGN.into_iter().find(|(sign, ..)| text.starts_with(sign) && sign.len() > own)
}

fn read_number(b: &mut TemplateBuilder<'_>, start: usize, text: &str) -> (usize, Value) {
    let mut len = 0;
    let mut previous = ' ';
    for c in text.chars() {
        let sign = matches!(c, '+' | '-') && matches!(previous, 'e' | 'E') && !text.starts_with("0x");
        if !(c.is_alphanumeric() || matches!(c, '.' | '_') || sign) {
            break;
        }
        len += c.len_utf8();
        previous = c;
    }
    let written = text.get(..len).unwrap_or_default();
    let digits = written.replace('_', "");
    let radix = |prefix: [&str; 2], radix| {
        let digits = prefix.into_iter().find_map(|p| digits.strip_prefix(p))?;
        i128::from_str_radix(digits, radix).ok().map(ValueNumber::from_i128)
    };
    let number = radix(["0x", "0X"], 16)
        .or_else(|| radix(["0o", "0O"], 8))
        .or_else(|| radix(["0b", "0B"], 2))
        .or_else(|| crate::evaluation::read_number(&digits));
    match number {
        Some(number) => (len, number.into()),
        None => {
            b.mistakes.add_mistake("condition-syntax", start..start + len, format!("`{written}` is not a number"));
            (len, Value::Null)
        }
    }
}

/// Reads quoted text with Python's escapes; returns its end and its value.
fn text(b: &mut TemplateBuilder<'_>, start: usize, quote: char) -> (usize, Value) {
    let mut value = String::new();
    let mut chars = b.source_slice(start + 1..b.source.len()).char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            c if c == quote => return (start + 1 + at + 1, value.into()),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 't')) => value.push('\t'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, '\n')) => {}
                Some((_, c @ ('\\' | '\'' | '"'))) => value.push(c),
                Some((_, kind @ ('x' | 'u'))) => {
                    let digits: String = chars.clone().take(if kind == 'x' { 2 } else { 4 }).map(|(_, c)| c).collect();
                    match u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) {
                        Some(c) => {
                            value.push(c);
                            for _ in 0..digits.len() {
                                chars.next();
                            }
                        }
                        None => value.extend(['\\', kind]),
                    }
                }
                Some((_, other)) => value.extend(['\\', other]),
                None => break,
            },
            c => value.push(c),
        }
    }
    b.mistakes
        .add_mistake("condition-syntax", start..b.source.len(), "quoted text without a closing quote")
        .set_help(format!("end it with `{quote}`"));
    (b.source.len(), Value::Null)
}
