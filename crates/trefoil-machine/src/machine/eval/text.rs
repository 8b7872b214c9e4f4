//! Texts composed of values, with holes kept separate.

use std::sync::Arc;

use trefoil_template::{Masked, MaskedPiece, Value};

/// A text under construction.
#[derive(Default)]
pub struct MaskedTextBuilder {
    pieces: Vec<MaskedPiece>,
    text: String,
}

impl MaskedTextBuilder {
    /// Known text.
    pub fn push_text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Appends a value as text; null is empty.
    pub fn push_unless_null(&mut self, value: &Value) {
        if !value.is_null() {
            self.push(value);
        }
    }

    /// Appends a value as text; null is `null`.
    pub fn push(&mut self, value: &Value) {
        match value.text_value() {
            Value::Masked(masked) => {
                for piece in &masked.pieces {
                    match piece {
                        MaskedPiece::Text(text) => self.text.push_str(text),
                        MaskedPiece::Hole(hole) => {
                            self.flush();
                            self.pieces.push(MaskedPiece::Hole(hole.clone()));
                        }
                    }
                }
            }
            Value::Str(text) => self.text.push_str(&text),
            other => other.write_text(&mut self.text),
        }
    }

    /// The text.
    pub fn into_value(mut self) -> Value {
        if self.pieces.is_empty() {
            return Value::from(self.text);
        }
        self.flush();
        Masked { pieces: self.pieces }.into_value()
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.pieces.push(MaskedPiece::Text(Arc::from(self.text.as_str())));
            self.text.clear();
        }
    }
}

/// A value as text; null is empty.
pub fn text_of(value: &Value) -> Value {
    if value.is_null() { Value::from("") } else { value.text_value() }
}

/// Whether a value's text is empty.
pub fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("")
}
