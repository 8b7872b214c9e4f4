//! Values as text: strings verbatim, everything else as compact JSON with RFC 8785 numbers.

use std::fmt::Write as _;
use std::sync::Arc;

use super::hole::write_escaped;
use super::{Hole, Masked, MaskedBuilder, MaskedPiece, TextTarget, Value, ValueNumber, write_json_string};

impl Value {
    /// The value as text: strings verbatim, numbers as in RFC 8785, lists and objects as compact JSON; masked text with
    /// `***` for each hole. `Null` gives `null`.
    pub fn to_text(&self) -> Arc<str> {
        if let Self::Str(s) = self {
            return s.clone();
        }
        let mut out = String::new();
        self.write_text(&mut out);
        out.into()
    }

    /// Appends [`Self::to_text`] to a buffer.
    pub fn write_text(&self, out: &mut String) {
        self.write_to(out);
    }

    /// The value as text, as a value: plain text, or text that keeps its holes.
    pub fn text_value(&self) -> Value {
        match self {
            Self::Str(_) | Self::Masked(_) => self.clone(),
            other => {
                let mut pieces = MaskedBuilder::default();
                other.write_to(&mut pieces);
                pieces.into_value()
            }
        }
    }

    /// Writes the value as text; holes are kept separate if the target can.
    pub(crate) fn write_to(&self, out: &mut impl TextTarget) {
        match self {
            Self::Str(s) => out.write_text(s),
            Self::Masked(masked) => masked.write_to(out),
            Self::Number(ValueNumber::Float(n)) if !n.is_finite() => {
                out.write_text(if n.is_nan() {
                    "NaN"
                } else if *n > 0.0 {
                    "Infinity"
                } else {
                    "-Infinity"
                });
            }
            other => other.write_json(out),
        }
    }

    /// Writes compact JSON. Numbers that JSON does not have become `null`.
    pub(crate) fn write_json(&self, out: &mut impl TextTarget) {
        match self {
            Self::Null => out.write_text("null"),
            Self::Bool(true) => out.write_text("true"),
            Self::Bool(false) => out.write_text("false"),
            Self::Number(n) => write_number(*n, out),
            Self::Str(s) => write_json_string(s, out),
            Self::List(items) => {
                out.write_text("[");
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.write_text(",");
                    }
                    item.write_json(out);
                }
                out.write_text("]");
            }
            Self::Object(object) => {
                out.write_text("{");
                for (i, (key, value)) in object.iter().enumerate() {
                    if i > 0 {
                        out.write_text(",");
                    }
                    write_json_string(key, out);
                    out.write_text(":");
                    value.write_json(out);
                }
                out.write_text("}");
            }
            Self::Masked(masked) => {
                out.write_text("\"");
                for piece in &masked.pieces {
                    match piece {
                        MaskedPiece::Text(t) => write_escaped(t, out),
                        MaskedPiece::Hole(h) => {
                            out.write_hole(&Hole { quoted: h.quoted.saturating_add(1), ..h.clone() })
                        }
                    }
                }
                out.write_text("\"");
            }
        }
    }

    /// Text that is equal for equal content and names the holes. For comparing and for messages.
    pub fn canonical_text(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }

    pub(crate) fn write_canonical(&self, out: &mut String) {
        match self {
            Self::List(items) => {
                out.push('[');
                for item in items.iter() {
                    item.write_canonical(out);
                    out.push(',');
                }
                out.push(']');
            }
            Self::Object(object) => {
                let mut members: Vec<_> = object.iter().collect();
                members.sort_unstable_by(|a, b| a.0.cmp(b.0));
                out.push('{');
                for (key, value) in members {
                    write_json_string(key, out);
                    out.push(':');
                    value.write_canonical(out);
                    out.push(',');
                }
                out.push('}');
            }
            Self::Masked(masked) => masked.write_canonical(out),
            Self::Number(ValueNumber::Float(n)) if !n.is_finite() => self.write_text(out),
            other => other.write_json(out),
        }
    }
}

impl Masked {
    pub(crate) fn write_to(&self, out: &mut impl TextTarget) {
        for piece in &self.pieces {
            match piece {
                MaskedPiece::Text(t) => out.write_text(t),
                MaskedPiece::Hole(h) => out.write_hole(h),
            }
        }
    }

    fn write_canonical(&self, out: &mut String) {
        out.push('(');
        for piece in &self.pieces {
            match piece {
                MaskedPiece::Text(t) => write_json_string(t, out),
                MaskedPiece::Hole(h) => {
                    let _ = write!(out, "{}", h.kind.template_namespace());
                    write_json_string(&h.name, out);
                    if let Some(default) = &h.default {
                        out.push_str(if h.json { "?json" } else { "?" });
                        write_json_string(default, out);
                    }
                    out.push_str(if h.lenient { "~" } else { "!" });
                    let _ = write!(out, "{}", h.quoted);
                }
            }
            out.push(' ');
        }
        out.push(')');
    }
}

fn write_number(n: ValueNumber, out: &mut impl TextTarget) {
    match n {
        ValueNumber::Int(n) => write_digits(n.unsigned_abs(), n < 0, out),
        ValueNumber::UInt(n) => write_digits(n, false, out),
        ValueNumber::Float(n) if n.is_finite() => out.write_text(ryu_js::Buffer::new().format_finite(n)),
        ValueNumber::Float(_) => out.write_text("null"),
    }
}

/// Writes decimal digits without the overhead of `format!`, because numbers are common in the render loop.
fn write_digits(mut n: u64, negative: bool, out: &mut impl TextTarget) {
    let mut digits = [0u8; 20];
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (n % 10) as u8;
        n /= 10;
        used += 1;
        if n == 0 {
            break;
        }
    }
    if negative {
        out.write_text("-");
    }
    let tail = digits.get(digits.len() - used..).unwrap_or_default();
    out.write_text(std::str::from_utf8(tail).unwrap_or_default());
}
