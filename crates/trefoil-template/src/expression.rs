//! The expression tree that all condition grammars and template helpers share.

use std::sync::Arc;

use crate::value::{Hole, Value, wire};

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparisonOperator {
    /// `==`: same type and value; also `is`.
    Equal,
    /// `!=`, `is not`.
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `in`
    In,
    /// `not in`
    NotIn,
}

impl ComparisonOperator {
    /// Whether it compares which of two values is greater.
    pub fn is_ordering(self) -> bool {
        matches!(self, Self::Less | Self::LessEqual | Self::Greater | Self::GreaterEqual)
    }
    /// The operator sign, which is the same in every language.
    pub fn operator_sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::In => "in",
            Self::NotIn => "not in",
        }
    }
    /// The same comparison with its operands swapped, if there is one.
    pub fn swapped_operands(self) -> Option<Self> {
        match self {
            Self::Less => Some(Self::Greater),
            Self::LessEqual => Some(Self::GreaterEqual),
            Self::Greater => Some(Self::Less),
            Self::GreaterEqual => Some(Self::LessEqual),
            Self::Equal | Self::NotEqual => Some(self),
            Self::In | Self::NotIn => None,
        }
    }
    /// The comparison that is false if this one is true for the same values. Both may be false (values without an order).
    pub fn opposite_operator(self) -> Self {
        match self {
            Self::Less => Self::GreaterEqual,
            Self::LessEqual => Self::Greater,
            Self::Greater => Self::LessEqual,
            Self::GreaterEqual => Self::Less,
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::In => Self::NotIn,
            Self::NotIn => Self::In,
        }
    }
}

/// An arithmetic operation (SirenSpec only).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArithmeticOperator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
}

/// A function or helper of any dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "each is the function of its name")]
pub enum BuiltinFunction {
    // SirenSpec
    Len,
    Str,
    Int,
    Float,
    Bool,
    Abs,
    Min,
    Max,
    TrimStart,
    TrimEnd,
    StartsWith,
    EndsWith,
    Replace,
    /// The condition, the value if it is true, the value if it is not.
    Choose,
    // AEGIS
    Json,
    Keys,
    Length,
    Default,
    Upper,
    /// Also SirenSpec's `.lower()`, like the two around it.
    Lower,
    Trim,
    FirstLine,
    Lookup,
    // used only by lowering
    /// The value as a number if it is one or is text of one, otherwise null.
    Number,
    /// The value if it is a number from 0 to 1, otherwise null: a score or a confidence.
    Share,
}

/// Where a literal is written: its index in [`crate::Condition::literal_spans`] or
/// [`crate::Template::expression_literal_spans`]. Not part of
/// an expression's meaning, so all values compare as equal.
#[derive(Debug, Clone, Copy, Default)]
pub struct LiteralIndex(pub Option<u32>);

impl PartialEq for LiteralIndex {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// An expression. Its JSON is part of the content of requests, so the names of variants must never change.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ConditionExpression {
    /// A value, and where it is written.
    #[serde(serialize_with = "literal")]
    Literal(Value, LiteralIndex),
    /// The reference with this index in [`crate::Condition::references`].
    Reference(u32),
    /// In templates: the path with this index in [`crate::Template::local_paths`], relative to an enclosing `each` or
    /// `with`.
    Local(u32),
    /// `[a, b]`, `(a, b)`.
    List(Vec<ConditionExpression>),
    /// `!a`, `not a`.
    Not(Box<ConditionExpression>),
    /// `a && b && ...`; short-circuits, yields the deciding operand.
    And(Vec<ConditionExpression>),
    /// `a || b || ...`.
    Or(Vec<ConditionExpression>),
    /// `a < b < c`: operands and the comparisons between them. In SirenSpec as in Python, otherwise comparing values
    /// without an order is false.
    Compare(Vec<ConditionExpression>, Vec<ComparisonOperator>),
    /// `a + b`.
    Arithmetic(ArithmeticOperator, Box<ConditionExpression>, Box<ConditionExpression>),
    /// `-a`.
    Negate(Box<ConditionExpression>),
    /// `a[b]`.
    Index(Box<ConditionExpression>, Box<ConditionExpression>),
    /// `a.name` if `a` is not a plain path.
    Member(Box<ConditionExpression>, Arc<str>),
    /// `f(a, b)`.
    Call(BuiltinFunction, Vec<ConditionExpression>),
}

impl ConditionExpression {
    /// A literal that is not from a text.
    pub fn from_value(value: impl Into<Value>) -> Self {
        Self::Literal(value.into(), LiteralIndex(None))
    }

    /// The expressions directly inside it.
    pub fn direct_parts(&self) -> Vec<&ConditionExpression> {
        match self {
            Self::Reference(_) | Self::Literal(..) | Self::Local(_) => Vec::new(),
            Self::List(all) | Self::And(all) | Self::Or(all) | Self::Compare(all, _) | Self::Call(_, all) => {
                all.iter().collect()
            }
            Self::Not(e) | Self::Negate(e) | Self::Member(e, _) => vec![e],
            Self::Arithmetic(_, a, b) | Self::Index(a, b) => vec![a, b],
        }
    }

    /// Fills every hole in every literal; see [`Value::fill_holes`].
    pub(crate) fn fill_holes<T: Into<Option<String>>, E>(
        &self,
        fill: &mut dyn FnMut(&Hole) -> Result<T, E>,
    ) -> Result<ConditionExpression, E> {
        self.map_leaves(&mut |leaf| match leaf {
            Self::Literal(value, at) => Ok(Self::Literal(value.fill_holes(fill)?, *at)),
            other => Ok(other.clone()),
        })
    }

    /// A copy with replaced literals, references and locals.
    pub(crate) fn map_leaves<E>(
        &self,
        leaf: &mut dyn FnMut(&ConditionExpression) -> Result<ConditionExpression, E>,
    ) -> Result<ConditionExpression, E> {
        let mut all =
            |list: &[ConditionExpression]| list.iter().map(|e| e.map_leaves(leaf)).collect::<Result<Vec<_>, E>>();
        Ok(match self {
            Self::Literal(..) | Self::Reference(_) | Self::Local(_) => leaf(self)?,
            Self::List(items) => Self::List(all(items)?),
            Self::And(items) => Self::And(all(items)?),
            Self::Or(items) => Self::Or(all(items)?),
            Self::Compare(operands, comparisons) => Self::Compare(all(operands)?, comparisons.clone()),
            Self::Call(function, arguments) => Self::Call(*function, all(arguments)?),
            Self::Not(e) => Self::Not(Box::new(e.map_leaves(leaf)?)),
            Self::Negate(e) => Self::Negate(Box::new(e.map_leaves(leaf)?)),
            Self::Member(e, name) => Self::Member(Box::new(e.map_leaves(leaf)?), name.clone()),
            Self::Arithmetic(op, a, b) => {
                Self::Arithmetic(*op, Box::new(a.map_leaves(leaf)?), Box::new(b.map_leaves(leaf)?))
            }
            Self::Index(a, b) => Self::Index(Box::new(a.map_leaves(leaf)?), Box::new(b.map_leaves(leaf)?)),
        })
    }
}

/// A literal is serialized as its value only.
fn literal<S: serde::Serializer>(value: &Value, _: &LiteralIndex, serializer: S) -> Result<S::Ok, S::Error> {
    wire::serialize(value, serializer)
}
