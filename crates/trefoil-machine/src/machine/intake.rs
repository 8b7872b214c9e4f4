//! Processes a call's input before it is stored in slots: wraps it, fills in defaults, checks it.

use std::sync::Arc;

use trefoil_ir::{FlowDefinition, FlowId, Intake};
use trefoil_syntax::suggestions;
use trefoil_template::{Hole, Value, ValueObject};

use super::eval::{EvalContext, EvalStop};
use super::prepared_program::PreparedProgram;
use super::trail::{self, OriginTrail};
use crate::error::RunError;
use crate::provenance::{Origin, OriginKind};

/// The values of a flow's intake slot and of its raw slot; `None` leaves the slot unset.
type IntakeValues = (Option<Value>, Option<Value>);

/// Processes an input. The first mistake stops the call.
pub fn process_input(
    prepared: &PreparedProgram,
    id: FlowId,
    flow: &FlowDefinition,
    input: Option<&Value>,
) -> Result<IntakeValues, EvalStop> {
    let faults = match fit(prepared, id, flow, input) {
        Ok(values) => return Ok(values),
        Err(faults) => faults,
    };
    let fault = match faults.into_iter().next() {
        Some(first) => first,
        None => invalid(flow, format!("the input of {} `{}` does not match its schema", flow.sort, flow.name)),
    };
    Err(fault.into())
}

/// All mistakes in an input of the program's entry, each with the code `INPUT_INVALID`.
pub fn input_faults(prepared: &PreparedProgram, input: Option<&Value>) -> Vec<RunError> {
    let entry = prepared.program.entry;
    fit(prepared, entry, prepared.program.entry_flow(), input).err().unwrap_or_default()
}

/// The processed input of the program's entry: wrapped, with defaults. `None`: it is invalid.
pub fn effective_input(prepared: &PreparedProgram, input: Option<&Value>) -> Option<Value> {
    let entry = prepared.program.entry;
    fit(prepared, entry, prepared.program.entry_flow(), input).ok()?.0
}

/// Whether values that only the driver knows match what the flow declares. Returns the first question that has no answer yet, or why
/// the call fails.
pub fn check_masked_input(
    prepared: &PreparedProgram,
    id: FlowId,
    flow: &FlowDefinition,
    input: &Value,
    context: &EvalContext<'_>,
) -> Result<(), EvalStop> {
    let Ok((Some(value), _)) = fit(prepared, id, flow, Some(input)) else { return Ok(()) };
    for field in &flow.intake.fields {
        let Some(value) = value.get(&field.name) else { continue };
        if !value.is_masked() || !constrains(&field.schema) {
            continue;
        }
        // An unset variable is null.
        let schema = if field.nullable { or_null(&field.schema) } else { field.schema.clone() };
        if !context.matches_schema(value.clone(), schema)? {
            let what = format!(
                "input property `{}` of {} `{}` does not match its schema: its value is from {}",
                field.name,
                flow.sort,
                flow.name,
                variables(value)
            );
            return Err(invalid(flow, what).at_step(None, Some(field.origin)).into());
        }
    }
    if let Some(schema) = flow.intake.schema
        && value.is_masked()
        && !context.matches_schema(value.clone(), prepared.program.schemas[schema].json.clone())?
    {
        let what = format!(
            "the input of {} `{}` does not match its schema: a part of it is from {}",
            flow.sort,
            flow.name,
            variables(&value)
        );
        return Err(invalid(flow, what).into());
    }
    Ok(())
}

/// Whether any text can be wrong. A property that is not declared as text gets the variable's text as it is.
fn constrains(schema: &Value) -> bool {
    let Some(members) = schema.as_object() else { return false };
    let takes_text = match members.get("type") {
        None => true,
        Some(Value::List(kinds)) => kinds.iter().any(|kind| kind.as_str() == Some("string")),
        Some(kind) => matches!(kind.as_str(), Some("string" | "object" | "array")),
    };
    takes_text && members.keys().any(|key| !["type", "description", "default", "title", "examples"].contains(&&**key))
}

fn or_null(schema: &Value) -> Value {
    let null: Value = [("type", Value::from("null"))].into_iter().collect();
    [("anyOf", Value::from(vec![schema.clone(), null]))].into_iter().collect()
}

/// The variables in a value: `env.NAME`.
fn variables(value: &Value) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut note = |hole: &Hole| {
        let name = format!("`{}.{}`", hole.kind.template_namespace(), hole.name);
        if !names.contains(&name) {
            names.push(name);
        }
        Ok::<_, std::convert::Infallible>(None)
    };
    let Ok(_) = value.replace_holes(&mut note);
    names.join(", ")
}

fn fit(
    prepared: &PreparedProgram,
    id: FlowId,
    flow: &FlowDefinition,
    input: Option<&Value>,
) -> Result<IntakeValues, Vec<RunError>> {
    let intake = &flow.intake;
    let raw = intake.raw.as_ref().map(|(_, key)| raw(input, key.as_deref()));
    let wrapped = wrap(intake, input);
    let declared = !intake.fields.is_empty() || intake.closed;
    let value = match wrapped {
        Some(Value::Object(object)) if declared => Some(complete(prepared, id, flow, &object)?),
        None if declared => Some(complete(prepared, id, flow, &ValueObject::default())?),
        Some(other) if declared => {
            let what = format!(
                "the input of {} `{}` must be an object, not {}",
                flow.sort,
                flow.name,
                other.kind_description()
            );
            return Err(vec![invalid(flow, what)]);
        }
        other => other,
    };
    if let (Some(schema), Some(value)) = (intake.schema, &value)
        && !value.is_masked()
        && let Err(why) = prepared.schemas.check_value(schema, value)
    {
        let what = format!("the input of {} `{}` does not match its schema: {why}", flow.sort, flow.name);
        return Err(vec![invalid(flow, what)]);
    }
    Ok((value, raw))
}

fn raw(input: Option<&Value>, key: Option<&str>) -> Value {
    member(input, key).or(input).cloned().unwrap_or_default()
}

/// The member with this key of an input that is an object.
fn member<'v>(input: Option<&'v Value>, key: Option<&str>) -> Option<&'v Value> {
    let input = input?;
    input.as_object()?;
    input.get(key?)
}

/// The origin of the value in the intake slot.
pub fn intake_trail(flow: &FlowDefinition, input: Option<&Value>, from: &OriginTrail) -> OriginTrail {
    let intake = &flow.intake;
    let given = match (input, &intake.wrap) {
        (Some(Value::Object(_)) | None, _) | (_, None) => from.clone(),
        (Some(_), Some(key)) => trail::object_trail([(key.clone(), from.clone())], None),
    };
    // Not passed, so it is the default at its declaration.
    let mut defaults = Vec::new();
    for field in &intake.fields {
        if let Some(input) = input
            && (input.get(&field.name).is_some() || intake.wrap.as_ref() == Some(&field.name))
        {
            continue;
        }
        let path = Some(field.name.clone());
        let known = Origin { path, place: Some(field.origin), ..Origin::from_kind(OriginKind::Const) };
        defaults.push((field.name.clone(), trail::from_origin(known)));
    }
    if defaults.is_empty() { given } else { trail::object_trail(defaults, given) }
}

/// The origin of the value in the raw slot.
pub fn raw_trail(input: Option<&Value>, key: Option<&str>, from: &OriginTrail) -> OriginTrail {
    match key {
        Some(key) if member(input, Some(key)).is_some() => trail::trail_member(from, &[key.into()]),
        _ => from.clone(),
    }
}

fn wrap(intake: &Intake, input: Option<&Value>) -> Option<Value> {
    let Some(key) = &intake.wrap else { return input.cloned() };
    Some(match input {
        None => Value::from(ValueObject::default()),
        Some(Value::Object(object)) => Value::Object(object.clone()),
        Some(other) => [(key.clone(), other.clone())].into_iter().collect(),
    })
}

fn complete(
    prepared: &PreparedProgram,
    id: FlowId,
    flow: &FlowDefinition,
    given: &ValueObject,
) -> Result<Value, Vec<RunError>> {
    let fields = &flow.intake.fields;
    let mut faults = Vec::new();
    for unknown in given.keys() {
        if !flow.intake.closed || intake_has(&flow.intake, unknown) {
            continue;
        }
        let mut error = invalid(flow, format!("{} `{}` has no input property `{unknown}`", flow.sort, flow.name));
        let names: Vec<&str> = fields.iter().map(|f| &*f.name).collect();
        error.help = Some(match suggestions::nearest_name(unknown, names.iter().copied()) {
            Some(close) => format!("did you mean `{close}`?"),
            None if names.is_empty() => "it has no input properties".into(),
            None => format!("its input properties are `{}`", names.join("`, `")),
        });
        faults.push(error);
    }
    let mut all = given.clone();
    for (at, field) in fields.iter().enumerate() {
        match all.get(&field.name) {
            Some(Value::Null) if field.nullable => {}
            Some(value) if value.is_masked() => {}
            Some(value) => {
                if let Err(why) = prepared.schemas.check_field(id, at, value) {
                    let what = format!(
                        "input property `{}` of {} `{}` does not match its schema: {why}",
                        field.name, flow.sort, flow.name
                    );
                    let mut error = invalid(flow, what);
                    error.location = Some(field.origin);
                    faults.push(error);
                }
            }
            None if field.default.is_none() && field.optional => {}
            None => {
                let value = match (&field.default, field.nullable) {
                    (Some(default), _) => default.clone(),
                    (None, true) => Value::Null,
                    (None, false) => {
                        let what = format!("{} `{}` needs the input property `{}`", flow.sort, flow.name, field.name);
                        let mut error = invalid(flow, what);
                        error.location = Some(field.origin);
                        faults.push(error);
                        continue;
                    }
                };
                all.insert(Arc::clone(&field.name), value);
            }
        }
    }
    if faults.is_empty() { Ok(all.into()) } else { Err(faults) }
}

fn intake_has(intake: &Intake, key: &str) -> bool {
    intake.fields.iter().any(|f| *f.name == *key) || intake.tolerated.contains(&key)
}

fn invalid(flow: &FlowDefinition, message: String) -> RunError {
    let mut error = RunError::new("INPUT_INVALID", message);
    error.location = Some(flow.origin);
    error
}
