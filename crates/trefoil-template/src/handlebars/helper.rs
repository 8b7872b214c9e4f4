//! The helpers, one line for each.

use crate::expression::{Comparison, Expression, Function};

/// How a helper becomes an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Helper {
    One(Function),
    Two(Function),
    Compare(Comparison),
    And,
    Or,
    Not,
}

const HELPERS: [(&str, Helper); 19] = [
    ("json", Helper::One(Function::Json)),
    ("keys", Helper::One(Function::Keys)),
    ("length", Helper::One(Function::Length)),
    ("len", Helper::One(Function::Length)),
    ("default", Helper::DEFAULT),
    ("lookup", Helper::Two(Function::Lookup)),
    ("upper", Helper::One(Function::Upper)),
    ("lower", Helper::One(Function::Lower)),
    ("trim", Helper::One(Function::Trim)),
    ("first_line", Helper::One(Function::FirstLine)),
    ("eq", Helper::Compare(Comparison::Equal)),
    ("ne", Helper::Compare(Comparison::NotEqual)),
    ("gt", Helper::Compare(Comparison::Greater)),
    ("gte", Helper::Compare(Comparison::GreaterEqual)),
    ("lt", Helper::Compare(Comparison::Less)),
    ("lte", Helper::Compare(Comparison::LessEqual)),
    ("and", Helper::And),
    ("or", Helper::Or),
    ("not", Helper::Not),
];

/// The helper with this name.
pub(crate) fn helper(name: &str) -> Option<Helper> {
    HELPERS.iter().find(|(n, _)| *n == name).map(|(_, helper)| *helper)
}

/// All names.
pub(crate) fn names() -> [&'static str; HELPERS.len()] {
    HELPERS.map(|(name, _)| name)
}

impl Helper {
    pub const DEFAULT: Helper = Helper::Two(Function::Default);

    /// Whether a text is usually written after the first argument.
    pub fn takes_text_last(self) -> bool {
        matches!(self, Self::DEFAULT | Self::Compare(Comparison::Equal | Comparison::NotEqual))
    }

    /// The expression, or the expected arguments if they are wrong.
    pub fn apply(self, mut arguments: Vec<Expression>) -> Result<Expression, &'static str> {
        match (self, arguments.len()) {
            (Self::One(function), 1) | (Self::Two(function), 2) => Ok(Expression::Call(function, arguments)),
            (Self::Compare(comparison), 2) => Ok(Expression::Compare(arguments, vec![comparison])),
            // Used as a value, these give `true` or `false`, not the deciding operand.
            (Self::And, 2..) => Ok(Expression::Call(Function::Bool, vec![Expression::And(arguments)])),
            (Self::Or, 2..) => Ok(Expression::Call(Function::Bool, vec![Expression::Or(arguments)])),
            (Self::Not, 1) => Ok(arguments.pop().map_or(Expression::value(true), |e| Expression::Not(Box::new(e)))),
            (Self::One(_) | Self::Not, _) => Err("one argument"),
            (Self::Two(_) | Self::Compare(_), _) => Err("two arguments"),
            (Self::And | Self::Or, _) => Err("two or more arguments"),
        }
    }

    /// An example of its use.
    pub fn example(self, name: &str) -> String {
        match self {
            Self::One(_) | Self::Not => format!("{name} a"),
            Self::Two(_) | Self::Compare(_) | Self::And | Self::Or => format!("{name} a b"),
        }
    }
}

/// The helper that was probably meant by a name: its equivalent if the name is from another language, otherwise the
/// most similar one.
pub(crate) fn closest(name: &str) -> Option<&'static str> {
    match name.to_ascii_lowercase().as_str() {
        "ge" | "geq" => Some("gte"),
        "le" | "leq" => Some("lte"),
        "neq" => Some("ne"),
        "equals" => Some("eq"),
        "uppercase" | "to_upper" | "touppercase" | "upcase" => Some("upper"),
        "lowercase" | "to_lower" | "tolowercase" | "downcase" => Some("lower"),
        "size" | "count" | "strlen" => Some("length"),
        "tojson" | "to_json" | "jsonify" | "stringify" | "dump" => Some("json"),
        "strip" => Some("trim"),
        "coalesce" | "fallback" | "or_default" => Some("default"),
        _ => crate::suggest::closest(name, &names()),
    }
}
