//! A call's input on its way into the slots: wrapped, completed with defaults, checked.

use std::sync::Arc;

use trefoil_ir::{Flow, FlowId, Intake};
use trefoil_syntax::suggest;
use trefoil_template::{Object, Value};

use super::eval::Stop;
use super::prepared::Prepared;
use crate::error::RunError;

/// The values of the intake's slot and of its raw slot; `None` leaves the slot unset.
pub fn take(
    prepared: &Prepared,
    id: FlowId,
    flow: &Flow,
    input: Option<&Value>,
) -> Result<(Option<Value>, Option<Value>), Stop> {
    let intake = &flow.intake;
    let raw = intake.raw.as_ref().map(|(_, key)| raw(input, key.as_deref()));
    let wrapped = wrap(intake, input);
    let declared = !intake.fields.is_empty() || intake.closed;
    let value = match wrapped {
        Some(Value::Object(object)) if declared => Some(complete(prepared, id, flow, &object)?),
        None if declared => Some(complete(prepared, id, flow, &Object::new())?),
        Some(other) if declared => {
            let what =
                format!("the input of {} `{}` must be an object, not {}", flow.sort, flow.name, other.describe());
            return Err(invalid(flow, what).into());
        }
        other => other,
    };
    if let (Some(schema), Some(value)) = (intake.schema, &value)
        && !value.is_masked()
    {
        prepared
            .check(schema, value)
            .map_err(|why| invalid(flow, format!("the input of {} `{}` does not fit: {why}", flow.sort, flow.name)))?;
    }
    Ok((value, raw))
}

fn raw(input: Option<&Value>, key: Option<&str>) -> Value {
    let inner = key.and_then(|key| input.filter(|v| v.as_object().is_some())?.get(key));
    inner.or(input).cloned().unwrap_or_default()
}

fn wrap(intake: &Intake, input: Option<&Value>) -> Option<Value> {
    let Some(key) = &intake.wrap else { return input.cloned() };
    Some(match input {
        None => Value::from(Object::new()),
        Some(Value::Object(object)) => Value::Object(object.clone()),
        Some(other) => [(key.clone(), other.clone())].into_iter().collect(),
    })
}

fn complete(prepared: &Prepared, id: FlowId, flow: &Flow, given: &Object) -> Result<Value, Stop> {
    let fields = &flow.intake.fields;
    if flow.intake.closed
        && let Some(unknown) = given.keys().find(|key| !intake_has(&flow.intake, key))
    {
        let mut error = invalid(flow, format!("{} `{}` has no input property `{unknown}`", flow.sort, flow.name));
        let names: Vec<&str> = fields.iter().map(|f| &*f.name).collect();
        error.help = Some(match suggest::nearest(unknown, names.iter().copied()) {
            Some(close) => format!("did you mean `{close}`?"),
            None if names.is_empty() => "it takes none".to_owned(),
            None => format!("it has `{}`", names.join("`, `")),
        });
        return Err(error.into());
    }
    let mut all = given.clone();
    for (at, field) in fields.iter().enumerate() {
        match all.get(&field.name) {
            Some(Value::Null) if field.nullable => {}
            Some(value) if value.is_masked() => {}
            Some(value) => prepared.check_field(id, at, value).map_err(|why| {
                let what =
                    format!("input property `{}` of {} `{}` does not fit: {why}", field.name, flow.sort, flow.name);
                let mut error = invalid(flow, what);
                error.location = Some(field.origin);
                error
            })?,
            None if field.default.is_none() && field.optional => {}
            None => {
                let value = match (&field.default, field.nullable) {
                    (Some(default), _) => default.clone(),
                    (None, true) => Value::Null,
                    (None, false) => {
                        let what = format!("{} `{}` needs the input property `{}`", flow.sort, flow.name, field.name);
                        let mut error = invalid(flow, what);
                        error.location = Some(field.origin);
                        return Err(error.into());
                    }
                };
                all.insert(Arc::clone(&field.name), value);
            }
        }
    }
    Ok(all.into())
}

fn intake_has(intake: &Intake, key: &str) -> bool {
    intake.fields.iter().any(|f| *f.name == *key) || intake.tolerated.contains(&key)
}

fn invalid(flow: &Flow, message: String) -> RunError {
    let mut error = RunError::new("INPUT_INVALID", message);
    error.location = Some(flow.origin);
    error
}
