//! The helpers, one line for each.

use crate::expression::{BuiltinFunction, ComparisonOperator, ConditionExpression};

/// How a helper becomes an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandlebarsHelper {
    One(BuiltinFunction),
    Two(BuiltinFunction),
    Compare(ComparisonOperator),
    And,
    Or,
    Not,
}

const HELPERS: [(&str, HandlebarsHelper); 19] = [
    ("json", HandlebarsHelper::One(BuiltinFunction::Json)),
    ("keys", HandlebarsHelper::One(BuiltinFunction::Keys)),
    ("length", HandlebarsHelper::One(BuiltinFunction::Length)),
    ("len", HandlebarsHelper::One(BuiltinFunction::Length)),
    ("default", HandlebarsHelper::DEFAULT),
    ("lookup", HandlebarsHelper::Two(BuiltinFunction::Lookup)),
    ("upper", HandlebarsHelper::One(BuiltinFunction::Upper)),
    ("lower", HandlebarsHelper::One(BuiltinFunction::Lower)),
    ("trim", HandlebarsHelper::One(BuiltinFunction::Trim)),
    ("first_line", HandlebarsHelper::One(BuiltinFunction::FirstLine)),
    ("eq", HandlebarsHelper::Compare(ComparisonOperator::Equal)),
    ("ne", HandlebarsHelper::Compare(ComparisonOperator::NotEqual)),
    ("gt", HandlebarsHelper::Compare(ComparisonOperator::Greater)),
    ("gte", HandlebarsHelper::Compare(ComparisonOperator::GreaterEqual)),
    ("lt", HandlebarsHelper::Compare(ComparisonOperator::Less)),
    ("lte", HandlebarsHelper::Compare(ComparisonOperator::LessEqual)),
    ("and", HandlebarsHelper::And),
    ("or", HandlebarsHelper::Or),
    ("not", HandlebarsHelper::Not),
];

/// The helper with this name.
pub(crate) fn find_helper(name: &str) -> Option<HandlebarsHelper> {
    HELPERS.iter().find(|(n, _)| *n == name).map(|(_, helper)| *helper)
}

/// All names.
pub(crate) fn helper_names() -> [&'static str; HELPERS.len()] {
    HELPERS.map(|(name, _)| name)
}

impl HandlebarsHelper {
    pub const DEFAULT: HandlebarsHelper = HandlebarsHelper::Two(BuiltinFunction::Default);

    /// Whether a text is usually written after the first argument.
    pub fn takes_text_last(self) -> bool {
        matches!(self, Self::DEFAULT | Self::Compare(ComparisonOperator::Equal | ComparisonOperator::NotEqual))
    }

    /// The expression, or the expected arguments if they are wrong.
    pub fn build_expression(
        self,
        mut arguments: Vec<ConditionExpression>,
    ) -> Result<ConditionExpression, &'static str> {
        match (self, arguments.len()) {
            (Self::One(function), 1) | (Self::Two(function), 2) => Ok(ConditionExpression::Call(function, arguments)),
            (Self::Compare(comparison), 2) => Ok(ConditionExpression::Compare(arguments, vec![comparison])),
            // Used as a value, these give `true` or `false`, not the deciding operand.
            (Self::And, 2..) => {
                Ok(ConditionExpression::Call(BuiltinFunction::Bool, vec![ConditionExpression::And(arguments)]))
            }
            (Self::Or, 2..) => {
                Ok(ConditionExpression::Call(BuiltinFunction::Bool, vec![ConditionExpression::Or(arguments)]))
            }
            (Self::Not, 1) => Ok(arguments
                .pop()
                .map_or(ConditionExpression::from_value(true), |e| ConditionExpression::Not(Box::new(e)))),
            (Self::One(_) | Self::Not, _) => Err("one argument"),
            (Self::Two(_) | Self::Compare(_), _) => Err("two arguments"),
            (Self::And | Self::Or, _) => Err("two or more arguments"),
        }
    }

    /// An example of its use.
    pub fn usage_example(self, name: &str) -> String {
        match self {
            Self::One(_) | Self::Not => format!("{name} a"),
            Self::Two(_) | Self::Compare(_) | Self::And | Self::Or => format!("{name} a b"),
        }
    }
}

/// The helper that was probably meant by a name: its equivalent if the name is from another language, otherwise the
/// most similar one.
pub(crate) fn closest_helper(name: &str) -> Option<&'static str> {
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
        _ => crate::suggestion::closest_name(name, &helper_names()),
    }
}
