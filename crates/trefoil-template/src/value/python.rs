//! Values as Python's `str()` writes them.

use super::{MaskedBuilder, TextTarget, Value, ValueNumber};

/// The value as `str()` writes it: plain text, or text that keeps its holes.
pub(crate) fn python_text(value: &Value) -> Value {
    match value {
        Value::Str(_) | Value::Masked(_) => value.clone(),
        other => {
            let mut pieces = MaskedBuilder::default();
            write(other, &mut pieces);
            pieces.into_value()
        }
    }
}

/// Writes a value as `repr()` does.
fn write(value: &Value, out: &mut MaskedBuilder) {
    match value {
        Value::Null => out.write_text("None"),
        Value::Bool(true) => out.write_text("True"),
        Value::Bool(false) => out.write_text("False"),
        Value::Number(ValueNumber::Float(number)) => out.write_text(&float(*number)),
        Value::Number(_) => value.write_to(out),
        Value::Str(text) => write_quoted(text, out),
        Value::Masked(masked) => {
            out.write_text("'");
            masked.write_to(out);
            out.write_text("'");
        }
        Value::List(items) => {
            out.write_text("[");
            for (index, item) in items.iter().enumerate() {
                out.write_text(if index > 0 { ", " } else { "" });
                write(item, out);
            }
            out.write_text("]");
        }
        Value::Object(members) => {
            out.write_text("{");
            for (index, (key, member)) in members.iter().enumerate() {
                out.write_text(if index > 0 { ", " } else { "" });
                write_quoted(key, out);
                out.write_text(": ");
                write(member, out);
            }
            out.write_text("}");
        }
    }
}

/// The shortest digits that give the same number, with an exponent from 1e16 on and below 1e-4.
fn float(number: f64) -> String {
    if number.is_nan() {
        return "nan".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if number == 0.0 || (1e-4..1e16).contains(&number.abs()) {
        return format!("{number:?}");
    }
    let written = format!("{number:e}");
    match written.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
            format!("{digits}e{sign}{exponent:0>2}")
        }
        None => written,
    }
}

/// A text in quotes, with escapes.
fn write_quoted(text: &str, out: &mut MaskedBuilder) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut written = String::with_capacity(text.len() + 2);
    written.push(quote);
    for c in text.chars() {
        match c {
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            c if c == quote => written.extend(['\\', c]),
            c if !is_printable(c) => match c as u32 {
                code @ ..=0xff => written.push_str(&format!("\\x{code:02x}")),
                code @ ..=0xffff => written.push_str(&format!("\\u{code:04x}")),
                code => written.push_str(&format!("\\U{code:08x}")),
            },
            c => written.push(c),
        }
    }
    written.push(quote);
    out.write_text(&written);
}

/// Whether a character is written as it is: no control or format character, and of the spaces only the ordinary one.
fn is_printable(c: char) -> bool {
    let is_format = matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e000}'..='\u{f8ff}');
    c == ' ' || !(c.is_control() || c.is_whitespace() || is_format)
}
