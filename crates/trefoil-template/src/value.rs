//! Run-time values: JSON with cheap clones, plus text whose secret parts are still holes.

use std::sync::Arc;

use indexmap::IndexMap;

/// An object; keys keep their order of insertion.
pub type Object = IndexMap<Arc<str>, Value>;

/// A number. Integers are exact within 64 bits; anything beyond is a float (decision C3).
#[derive(Debug, Clone, Copy)]
pub enum Number {
    /// A signed integer.
    Int(i64),
    /// An integer above `i64::MAX`.
    UInt(u64),
    /// Any other number.
    Float(f64),
}

/// Where the content of a hole comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HoleKind {
    /// An environment variable: `env.NAME`.
    Env,
    /// An entry of the secret store: `secrets.NAME`.
    Secret,
}

/// A part of a text that only the driver may fill in (decision C8). The machine sees its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Hole {
    /// Environment or secret store.
    pub kind: HoleKind,
    /// The name after the dot.
    pub name: Arc<str>,
    /// What stands there when it is unset (or empty, or not JSON where `json`).
    pub default: Option<Arc<str>>,
    /// `json_or_default`: the default also stands in for text that is not JSON.
    pub json: bool,
    /// Unset without default: `true` is empty text (agntz), `false` is an `InterpolationError` (SirenSpec).
    pub lenient: bool,
}

/// A piece of masked text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Piece {
    /// Known text.
    Text(Arc<str>),
    /// Unknown to the machine.
    Hole(Hole),
}

/// Text with holes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Masked {
    /// The pieces in order.
    pub pieces: Vec<Piece>,
}

/// A value. Cloning never copies data.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// `null`, and in agntz also what is missing.
    #[default]
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text.
    Str(Arc<str>),
    /// A list.
    List(Arc<Vec<Value>>),
    /// An object.
    Object(Arc<Object>),
    /// Text with holes. Serializes as its masked form (`***`); never comes back from JSON.
    Masked(Arc<Masked>),
}

impl Value {
    /// The member of an object, or the item of a list where `key` is all digits. Own keys only (decision C2).
    pub fn get(&self, _key: &str) -> Option<&Value> {
        todo!()
    }
    /// The value as text (decision C3): strings verbatim, numbers as in RFC 8785, lists and objects as compact JSON;
    /// masked text with `***` for each hole. `Null` gives `null`.
    pub fn to_text(&self) -> Arc<str> {
        todo!()
    }
    /// Appends [`Self::to_text`] to a buffer.
    pub fn write_text(&self, _out: &mut String) {
        todo!()
    }
    /// Decisions A4 and E2: null, `false`, `0`, `""`, `[]`, `{}` are falsy. `None` for masked text: nobody here knows.
    pub fn truthy(&self) -> Option<bool> {
        todo!()
    }
    /// `null`, `a boolean`, `a number`, `text`, `a list`, `an object`.
    pub fn describe(&self) -> &'static str {
        todo!()
    }
    /// The text, if it is plain text.
    pub fn as_str(&self) -> Option<&str> {
        todo!()
    }
    /// The object, if it is one.
    pub fn as_object(&self) -> Option<&Object> {
        todo!()
    }
    /// The items, if it is a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        todo!()
    }
    /// The number as a float, if it is one.
    pub fn as_f64(&self) -> Option<f64> {
        todo!()
    }
    /// Whether any masked text is in it, at any depth.
    pub fn is_masked(&self) -> bool {
        todo!()
    }
    /// From JSON.
    pub fn from_json(_json: serde_json::Value) -> Value {
        todo!()
    }
    /// To JSON; masked text as `***`.
    pub fn to_json(&self) -> serde_json::Value {
        todo!()
    }
    /// Replaces every hole, at any depth, with what `fill` says; the first error ends it.
    pub fn fill<E>(&self, _fill: &mut dyn FnMut(&Hole) -> Result<String, E>) -> Result<Value, E> {
        todo!()
    }
    /// Text that is the same for the same content and names the holes: what content keys are made of.
    pub fn canonical(&self) -> String {
        todo!()
    }
}
// Also provided: From<bool/i64/u64/f64/&str/String/Arc<str>/Vec<Value>/Object>, PartialEq (numbers numerically,
// lists and objects by content, objects regardless of key order), serde Serialize and Deserialize.

impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Value::Str(s.into())
    }
}

impl PartialEq for Value {
    fn eq(&self, _other: &Self) -> bool {
        todo!()
    }
}

impl serde::Serialize for Value {
    fn serialize<S: serde::Serializer>(&self, _s: S) -> Result<S::Ok, S::Error> {
        todo!()
    }
}

impl<'de> serde::Deserialize<'de> for Value {
    fn deserialize<D: serde::Deserializer<'de>>(_d: D) -> Result<Self, D::Error> {
        todo!()
    }
}
