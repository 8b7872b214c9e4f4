//! A hole in a text (a part that only the driver may fill in), and the trait for destinations to which text with holes is written.

use std::fmt::Write as _;
use std::sync::Arc;

/// How a hole is displayed.
pub(crate) const HIDDEN: &str = "***";

/// The destination of text: a buffer, or pieces that keep holes separate.
pub(crate) trait TextTarget {
    /// Writes known text.
    fn write_text(&mut self, text: &str);
    /// Writes a hole.
    fn write_hole(&mut self, hole: &Hole);
}

impl TextTarget for String {
    #[inline]
    fn write_text(&mut self, text: &str) {
        self.push_str(text);
    }
    fn write_hole(&mut self, _hole: &Hole) {
        self.push_str(HIDDEN);
    }
}

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
    pub fn template_namespace(self) -> &'static str {
        match self {
            Self::Env => "env",
            Self::Secret => "secrets",
        }
    }
}

/// A part of a text that only the driver may fill in. The machine knows only its name. Its serialized form is part of
/// the [wire form](super::wire) of values.
#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hole {
    /// Environment or secret store.
    #[serde(rename = "from")]
    pub kind: HoleKind,
    /// The name after the dot.
    pub name: Arc<str>,
    /// The text used if it is unset (or empty, or, with `json`, not JSON).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Arc<str>>,
    /// `json_or_default`: the default also replaces text that is not JSON.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub json: bool,
    /// If it is unset and has no default: `true` gives empty text (agntz), `false` an `InterpolationError` (SirenSpec).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lenient: bool,
    /// The number of JSON strings it is nested in. Its content is escaped that many times.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub quoted: u8,
}

fn is_zero(n: &u8) -> bool {
    *n == 0
}

impl Hole {
    /// A strict hole without default.
    pub fn new(kind: HoleKind, name: impl Into<Arc<str>>) -> Hole {
        Hole { kind, name: name.into(), default: None, json: false, lenient: false, quoted: 0 }
    }

    /// Whether the default is used for the value found. A default is not secret.
    pub fn takes_default(&self, found: Option<&str>) -> bool {
        let lacks = |text: &str| text.is_empty() || self.json && !is_json(text);
        self.default.is_some() && found.is_none_or(lacks)
    }

    /// The text for the hole, given the value in the environment or store. `None`: it is unset and has no default.
    pub fn filled_text(&self, found: Option<String>) -> Option<String> {
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
    super::foreign_json::read_json::<serde::de::IgnoredAny>(text).is_ok()
}

/// Writes a JSON string with its quotes; non-ASCII characters are kept.
pub(crate) fn write_json_string(text: &str, out: &mut impl TextTarget) {
    out.write_text("\"");
    write_escaped(text, out);
    out.write_text("\"");
}

/// Writes the inside of a JSON string.
pub(super) fn write_escaped(text: &str, out: &mut impl TextTarget) {
    let mut start = 0;
    for (at, byte) in text.bytes().enumerate() {
        let escape = match byte {
            b'"' => "\\\"",
            b'\\' => "\\\\",
            b'\n' => "\\n",
            b'\r' => "\\r",
            b'\t' => "\\t",
            0x08 => "\\b",
            0x0c => "\\f",
            // Written as a code below.
            0..0x20 => "",
            _ => continue,
        };
        out.write_text(text.get(start..at).unwrap_or_default());
        start = at + 1;
        if escape.is_empty() {
            let mut code = String::with_capacity(6);
            let _ = write!(code, "\\u{byte:04x}");
            out.write_text(&code);
        } else {
            out.write_text(escape);
        }
    }
    out.write_text(text.get(start..).unwrap_or_default());
}
