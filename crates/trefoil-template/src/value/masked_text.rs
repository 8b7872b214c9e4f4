//! Text with holes: the machine's view of the environment and the secret store (`docs/decisions/secrets.md`).

use std::sync::Arc;

use super::{Hole, HoleKind, TextTarget, Value, ValueObject};

/// A piece of text with holes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum MaskedPiece {
    /// Known text.
    Text(Arc<str>),
    /// A hole, whose content the machine does not know.
    Hole(Hole),
}

impl MaskedPiece {
    /// The number of bytes of known text.
    pub(super) fn text_bytes(&self) -> u64 {
        match self {
            Self::Text(text) => text.len() as u64,
            Self::Hole(_) => 0,
        }
    }
}

/// Text with holes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Masked {
    /// The pieces in order.
    pub pieces: Vec<MaskedPiece>,
}

impl Masked {
    /// Parses a text with `{{secrets.NAME}}` and `{{env.NAME}}`, and nothing else in braces. The error is a message.
    pub fn parse_text(text: &str) -> Result<Value, String> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((before, after)) = rest.split_once("{{") {
            let (inside, after) = after.split_once("}}").ok_or("`{{` is not closed by `}}`")?;
            let is_name =
                |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
            let hole = match inside.trim().split_once('.') {
                Some(("secrets", name)) if is_name(name) => Hole::new(HoleKind::Secret, name),
                Some(("env", name)) if is_name(name) => Hole::new(HoleKind::Env, name),
                _ => {
                    return Err(format!(
                        "`{{{{{inside}}}}}` is not available here; write `{{{{secrets.NAME}}}}` or `{{{{env.NAME}}}}`"
                    ));
                }
            };
            pieces.extend([MaskedPiece::Text(Arc::from(before)), MaskedPiece::Hole(hole)]);
            rest = after;
        }
        pieces.push(MaskedPiece::Text(Arc::from(rest)));
        Ok(Masked { pieces }.into_value())
    }

    /// A text that consists of one hole.
    pub fn from_hole(hole: Hole) -> Masked {
        Masked { pieces: vec![MaskedPiece::Hole(hole)] }
    }

    /// The hole, if the text consists of one hole.
    pub fn as_lone(&self) -> Option<&Hole> {
        match self.pieces.as_slice() {
            [MaskedPiece::Hole(hole)] => Some(hole),
            _ => None,
        }
    }

    /// Whether a part is known and not empty.
    pub fn has_text(&self) -> bool {
        self.pieces.iter().any(|p| matches!(p, MaskedPiece::Text(t) if !t.is_empty()))
    }

    /// Converts to a value: plain text if there is no hole.
    pub fn into_value(self) -> Value {
        if self.pieces.iter().any(|p| matches!(p, MaskedPiece::Hole(_))) {
            return Value::Masked(Arc::new(self));
        }
        let mut text = String::new();
        for piece in &self.pieces {
            if let MaskedPiece::Text(t) = piece {
                text.push_str(t);
            }
        }
        Value::from(text)
    }

    fn replace<E>(&self, with: &mut dyn FnMut(&Hole) -> Result<Option<String>, E>) -> Result<Option<String>, E> {
        if let Some(hole) = self.as_lone() {
            return with(hole);
        }
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                MaskedPiece::Text(known) => text.push_str(known),
                MaskedPiece::Hole(hole) => text.push_str(&with(hole)?.unwrap_or_default()),
            }
        }
        Ok(Some(text))
    }
}

impl Value {
    /// Joins values as text with a separator; holes are kept.
    pub fn join<'v>(values: impl IntoIterator<Item = &'v Value>, separator: &str) -> Value {
        let mut pieces = MaskedBuilder::default();
        for (at, value) in values.into_iter().enumerate() {
            if at > 0 {
                pieces.write_text(separator);
            }
            value.write_to(&mut pieces);
        }
        pieces.into_value()
    }

    /// Fills every hole, at any depth; stops at the first error. `fill` returns the value in the environment or store
    /// under the hole's name, or `None` if it is unset (for a strict hole without a default it should return an error).
    /// Defaults are applied here. A value that is a single unset lenient hole becomes null; inside a longer text, such
    /// a hole is empty.
    pub fn fill_holes<T: Into<Option<String>>, E>(
        &self,
        fill: &mut dyn FnMut(&Hole) -> Result<T, E>,
    ) -> Result<Value, E> {
        self.replace_holes(&mut |hole: &Hole| Ok(hole.filled_text(fill(hole)?.into())))
    }

    /// Replaces every hole, at any depth, with a text; stops at the first error. A value that is a single hole without
    /// a text becomes null; inside a longer text, such a hole is empty.
    pub fn replace_holes<E>(&self, with: &mut dyn FnMut(&Hole) -> Result<Option<String>, E>) -> Result<Value, E> {
        match self {
            Self::Masked(masked) => Ok(masked.replace(with)?.map_or(Value::Null, Value::from)),
            Self::List(items) if self.is_masked() => {
                Ok(Value::from(items.iter().map(|v| v.replace_holes(with)).collect::<Result<Vec<_>, E>>()?))
            }
            Self::Object(object) if self.is_masked() => {
                let replaced = object.iter().map(|(k, v)| Ok((k.clone(), v.replace_holes(with)?)));
                Ok(Value::from(replaced.collect::<Result<ValueObject, E>>()?))
            }
            other => Ok(other.clone()),
        }
    }
}

/// Text under construction that keeps its holes.
#[derive(Debug, Default)]
pub(crate) struct MaskedBuilder {
    done: Vec<MaskedPiece>,
    text: String,
}

impl MaskedBuilder {
    pub fn into_value(mut self) -> Value {
        if self.done.is_empty() {
            return Value::from(self.text);
        }
        self.flush();
        Masked { pieces: self.done }.into_value()
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.done.push(MaskedPiece::Text(std::mem::take(&mut self.text).into()));
        }
    }
}

impl TextTarget for MaskedBuilder {
    fn write_text(&mut self, text: &str) {
        self.text.push_str(text);
    }
    fn write_hole(&mut self, hole: &Hole) {
        self.flush();
        self.done.push(MaskedPiece::Hole(hole.clone()));
    }
}
