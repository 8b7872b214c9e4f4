//! Text with holes: the machine's view of the environment and the secret store (decision C8).

use std::sync::Arc;

use super::text::{Target, write_escaped};
use super::{Object, Value};

/// The source of a hole's content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HoleKind {
    /// An environment variable: `env.NAME`.
    Env,
    /// An entry of the secret store: `secrets.NAME`.
    Secret,
}

impl HoleKind {
    /// The namespace in templates: `env`, `secrets`.
    pub fn namespace(self) -> &'static str {
        match self {
            Self::Env => "env",
            Self::Secret => "secrets",
        }
    }
}

/// A part of a text that only the driver may fill in (decision C8). The machine knows only its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hole {
    /// Environment or secret store.
    pub kind: HoleKind,
    /// The name after the dot.
    pub name: Arc<str>,
    /// The text used if it is unset (or empty, or, with `json`, not JSON).
    pub default: Option<Arc<str>>,
    /// `json_or_default`: the default also replaces text that is not JSON.
    pub json: bool,
    /// If it is unset and has no default: `true` gives empty text (agntz), `false` an `InterpolationError` (SirenSpec).
    pub lenient: bool,
    /// The number of JSON strings it is nested in. Its content is escaped that many times.
    pub quoted: u8,
}

impl Hole {
    /// A strict hole without default.
    pub fn new(kind: HoleKind, name: impl Into<Arc<str>>) -> Hole {
        Hole { kind, name: name.into(), default: None, json: false, lenient: false, quoted: 0 }
    }

    /// Whether the default is used for the value found. A default is not secret (decision C8).
    pub fn takes_default(&self, found: Option<&str>) -> bool {
        let lacks = |text: &str| text.is_empty() || self.json && !is_json(text);
        self.default.is_some() && found.is_none_or(lacks)
    }

    /// The text for the hole, given the value in the environment or store. `None`: it is unset and has no default.
    pub fn content(&self, found: Option<String>) -> Option<String> {
        let mut content = match &self.default {
            Some(default) if self.takes_default(found.as_deref()) => default.to_string(),
            _ => found?,
        };
        for _ in 0..self.quoted {
            let mut escaped = String::with_capacity(content.len() + 8);
            write_escaped(&content, &mut escaped);
            content = escaped;
        }
        Some(content)
    }
}

/// Whether a text is one JSON value (no fence, no prose).
pub(crate) fn is_json(text: &str) -> bool {
    super::foreign::read_json::<serde::de::IgnoredAny>(text).is_ok()
}

/// A piece of text with holes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Piece {
    /// Known text.
    Text(Arc<str>),
    /// A hole, whose content the machine does not know.
    Hole(Hole),
}

impl Piece {
    /// The number of bytes of known text.
    pub(super) fn weight(&self) -> u64 {
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
    pub pieces: Vec<Piece>,
}

impl Masked {
    /// Parses a text with `{{secrets.NAME}}` and `{{env.NAME}}`, and nothing else in braces. The error is a message.
    pub fn read(text: &str) -> Result<Value, String> {
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
            pieces.extend([Piece::Text(Arc::from(before)), Piece::Hole(hole)]);
            rest = after;
        }
        pieces.push(Piece::Text(Arc::from(rest)));
        Ok(Masked { pieces }.into_value())
    }

    /// A text that consists of one hole.
    pub fn lone(hole: Hole) -> Masked {
        Masked { pieces: vec![Piece::Hole(hole)] }
    }

    /// The hole, if the text consists of one hole.
    pub fn as_lone(&self) -> Option<&Hole> {
        match self.pieces.as_slice() {
            [Piece::Hole(hole)] => Some(hole),
            _ => None,
        }
    }

    /// Whether a part is known and not empty.
    pub fn has_text(&self) -> bool {
        self.pieces.iter().any(|p| matches!(p, Piece::Text(t) if !t.is_empty()))
    }

    /// Converts to a value: plain text if there is no hole.
    pub fn into_value(self) -> Value {
        if self.pieces.iter().any(|p| matches!(p, Piece::Hole(_))) {
            return Value::Masked(Arc::new(self));
        }
        let mut text = String::new();
        for piece in &self.pieces {
            if let Piece::Text(t) = piece {
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
                Piece::Text(known) => text.push_str(known),
                Piece::Hole(hole) => text.push_str(&with(hole)?.unwrap_or_default()),
            }
        }
        Ok(Some(text))
    }
}

impl Value {
    /// Joins values as text with a separator; holes are kept.
    pub fn join<'v>(values: impl IntoIterator<Item = &'v Value>, separator: &str) -> Value {
        let mut pieces = Pieces::default();
        for (at, value) in values.into_iter().enumerate() {
            if at > 0 {
                pieces.text(separator);
            }
            value.write_to(&mut pieces);
        }
        pieces.into_value()
    }

    /// Fills every hole, at any depth; stops at the first error. `fill` returns the value in the environment or store
    /// under the hole's name, or `None` if it is unset (for a strict hole without a default it should return an error).
    /// Defaults are applied here. A value that is a single unset lenient hole becomes null; inside a longer text, such
    /// a hole is empty.
    pub fn fill<T: Into<Option<String>>, E>(&self, fill: &mut dyn FnMut(&Hole) -> Result<T, E>) -> Result<Value, E> {
        self.replace(&mut |hole: &Hole| Ok(hole.content(fill(hole)?.into())))
    }

    /// Replaces every hole, at any depth, with a text; stops at the first error. A value that is a single hole without
    /// a text becomes null; inside a longer text, such a hole is empty.
    pub fn replace<E>(&self, with: &mut dyn FnMut(&Hole) -> Result<Option<String>, E>) -> Result<Value, E> {
        match self {
            Self::Masked(masked) => Ok(masked.replace(with)?.map_or(Value::Null, Value::from)),
            Self::List(items) if self.is_masked() => {
                Ok(Value::from(items.iter().map(|v| v.replace(with)).collect::<Result<Vec<_>, E>>()?))
            }
            Self::Object(object) if self.is_masked() => {
                let replaced = object.iter().map(|(k, v)| Ok((k.clone(), v.replace(with)?)));
                Ok(Value::from(replaced.collect::<Result<Object, E>>()?))
            }
            other => Ok(other.clone()),
        }
    }
}

/// Text under construction that keeps its holes.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    done: Vec<Piece>,
    text: String,
}

impl Pieces {
    pub fn into_value(mut self) -> Value {
        if self.done.is_empty() {
            return Value::from(self.text);
        }
        self.flush();
        Masked { pieces: self.done }.into_value()
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            self.done.push(Piece::Text(std::mem::take(&mut self.text).into()));
        }
    }
}

impl Target for Pieces {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }
    fn hole(&mut self, hole: &Hole) {
        self.flush();
        self.done.push(Piece::Hole(hole.clone()));
    }
}
