//! The kinds of value, and sets of them.

use std::fmt;

use trefoil_template::Value;

/// A kind of JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// Text.
    Text,
    /// A number, whole or not.
    Number,
    /// `true` or `false`.
    Boolean,
    /// An object.
    Object,
    /// A list.
    List,
    /// `null`.
    Null,
}

impl ValueKind {
    const ALL: [Self; 6] = [Self::Text, Self::Number, Self::Boolean, Self::Object, Self::List, Self::Null];

    /// The kind of a value.
    pub fn from_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(_) => Self::Boolean,
            Value::Number(_) => Self::Number,
            Value::Str(_) | Value::Masked(_) => Self::Text,
            Value::List(_) => Self::List,
            Value::Object(_) => Self::Object,
        }
    }

    /// The kind that JSON Schema calls so.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "integer" => Some(Self::Number),
            _ => Self::ALL.into_iter().find(|kind| kind.name() == name),
        }
    }

    /// What JSON Schema calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "string",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Object => "object",
            Self::List => "array",
            Self::Null => "null",
        }
    }

    /// Its name in messages.
    pub fn display_name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "a number",
            Self::Boolean => "true or false",
            Self::Object => "an object",
            Self::List => "a list",
            Self::Null => "null",
        }
    }
}

/// A set of kinds. Prints as in messages: `text or a number`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ValueKinds(u8);

impl ValueKinds {
    /// A set of one.
    pub const fn from_kind(kind: ValueKind) -> Self {
        Self(1 << kind as u8)
    }
    /// The kinds of both.
    #[must_use]
    pub const fn union_with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// Whether it has a kind.
    pub fn contains(self, kind: ValueKind) -> bool {
        self.overlaps_with(Self::from_kind(kind))
    }
    /// Whether a kind is in both.
    pub fn overlaps_with(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
    /// Whether it has these kinds at most.
    pub fn is_within(self, kinds: impl IntoIterator<Item = ValueKind>) -> bool {
        self.0 & !kinds.into_iter().collect::<Self>().0 == 0
    }
    /// Whether it has exactly this kind.
    pub fn is_only(self, kind: ValueKind) -> bool {
        self == Self::from_kind(kind)
    }
    /// The kinds without null.
    #[must_use]
    pub fn without_null(self) -> Self {
        Self(self.0 & !Self::from_kind(ValueKind::Null).0)
    }
    /// Whether it has none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// The kinds, in a fixed order.
    pub fn iter(self) -> impl Iterator<Item = ValueKind> {
        ValueKind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }
}

impl FromIterator<ValueKind> for ValueKinds {
    fn from_iter<I: IntoIterator<Item = ValueKind>>(kinds: I) -> Self {
        let mut all = Self::default();
        for kind in kinds {
            all = all.union_with(Self::from_kind(kind));
        }
        all
    }
}

impl fmt::Display for ValueKinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(ValueKind::display_name).collect();
        f.write_str(&names.join(" or "))
    }
}
