//! The types of the values with which a run starts. [`trefoil_ir::types`] has the operations on them.

use trefoil_ir::types::Type;
use trefoil_template::{Number, Value};

/// The type of a value. Its objects are complete; its lists may contain anything.
pub fn type_of(value: &Value) -> Type {
    match value {
        Value::Null => Type::Any,
        Value::Bool(_) => Type::BOOLEAN,
        Value::Number(Number::Float(_)) => Type::NUMBER,
        Value::Number(_) => Type::INTEGER,
        Value::Str(_) | Value::Masked(_) => Type::TEXT,
        Value::List(_) => Type::LIST,
        Value::Object(members) => Type::fields(members.iter().map(|(k, v)| (k.clone(), type_of(v)))),
    }
}
