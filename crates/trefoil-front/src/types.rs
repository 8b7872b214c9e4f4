//! The types of the values with which a run starts. [`trefoil_ir::types`] has the operations on them.

use trefoil_ir::types::ValueType;
use trefoil_template::{Value, ValueNumber};

/// The type of a value. Its objects are complete; its lists may contain anything.
pub fn type_of(value: &Value) -> ValueType {
    match value {
        Value::Null => ValueType::Any,
        Value::Bool(_) => ValueType::BOOLEAN,
        Value::Number(ValueNumber::Float(_)) => ValueType::NUMBER,
        Value::Number(_) => ValueType::INTEGER,
        Value::Str(_) | Value::Masked(_) => ValueType::TEXT,
        Value::List(_) => ValueType::LIST,
        Value::Object(members) => ValueType::optional_fields(members.iter().map(|(k, v)| (k.clone(), type_of(v)))),
    }
}
