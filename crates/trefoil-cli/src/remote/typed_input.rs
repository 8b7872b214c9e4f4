//! The input of a run of a server, from the arguments. The types are those of the flow's schema, which the server tells; whether the
//! input is accepted is for the server to say.

use serde_json::{Map, Value as Json};
use trefoil_project::input::{InputError, parse_by_schema, split_pair};
use trefoil_syntax::suggestions::nearest_name;
use trefoil_template::{Value, ValueObject};

use crate::run::input::{InputRejection, check_no_file, read_json_argument};

/// The input for a flow with this schema. Null: none.
///
/// # Errors
///
/// What is wrong with the arguments.
pub fn read_remote_input(
    schema: &Map<String, Json>,
    inputs: &[String],
    json: Option<&str>,
) -> Result<Json, InputRejection> {
    for input in inputs {
        check_no_file(input)?;
    }
    let base = match json {
        Some(argument) => Some(read_json_argument(argument)?),
        None => None,
    };
    let input = merge_inputs(schema, inputs, base).map_err(InputRejection::Error)?;
    Ok(match input {
        Some(input) => input.to_json(),
        None => Json::Null,
    })
}

fn merge_inputs(
    schema: &Map<String, Json>,
    inputs: &[String],
    base: Option<Value>,
) -> Result<Option<Value>, InputError> {
    let (mut texts, mut pairs) = (Vec::new(), ValueObject::default());
    for typed in inputs {
        let Some((key, text)) = split_pair(typed) else {
            texts.push(typed.as_str());
            continue;
        };
        let value = typed_value(schema, key, text)?;
        if pairs.insert(key.into(), value).is_some() {
            return Err(InputError::new(format!("the input `{key}` is set twice")));
        }
    }
    let (text, more) = (texts.first().copied(), texts.len() > 1);
    if more {
        return Err(InputError::new("the input text was passed more than once")
            .with_help("pass one text, and other inputs as `--input key=value`"));
    }
    if pairs.is_empty() && base.is_none() {
        return Ok(text.map(Value::from));
    }
    if let Some(text) = text {
        let short = trefoil_view::short_text(text);
        return Err(InputError::new(format!("the input is an object, but `{short}` is plain text"))
            .with_help("write `--input key=value`"));
    }
    let mut all = match base {
        Some(Value::Object(object)) => (*object).clone(),
        None => ValueObject::default(),
        Some(_) if pairs.is_empty() => return Ok(base),
        Some(other) => {
            let kind = other.kind_description();
            let why = format!("`--input` can only be added to an object, but the JSON input is {kind}");
            return Err(InputError::new(why));
        }
    };
    all.extend(pairs);
    Ok(Some(Value::from(all)))
}

/// The value of a property, with the type that the schema has for it.
fn typed_value(schema: &Map<String, Json>, key: &str, text: &str) -> Result<Value, InputError> {
    let properties = schema.get("properties").and_then(Json::as_object);
    if let Some(property) = properties.and_then(|all| all.get(key)) {
        return parse_by_schema(key, property, text);
    }
    let names: Vec<&str> = properties.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    let is_closed = schema.get("additionalProperties") == Some(&Json::Bool(false));
    let near = nearest_name(key, names.iter().copied());
    if !is_closed && near.is_none() {
        return Ok(Value::from(text));
    }
    let error = InputError::new(format!("unknown input `{key}`"));
    Err(match near {
        Some(near) => error.with_help(format!("did you mean `{near}`?")),
        None if names.is_empty() => error.with_help("there are no named inputs"),
        None => error.with_help(format!("available: `{}`", names.join("`, `"))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(inputs: &[&str], json_input: Option<&str>) -> Result<Json, String> {
        let schema = json!({
            "type": "object", "additionalProperties": false,
            "properties": { "n": { "type": "integer" }, "tags": { "type": "array" }, "topic": { "type": "string" } },
        });
        let inputs: Vec<String> = inputs.iter().map(|input| (*input).to_owned()).collect();
        read_remote_input(schema.as_object().unwrap(), &inputs, json_input).map_err(|why| match why {
            InputRejection::Error(error) => format!("{}; {}", error.message, error.help.unwrap_or_default()),
            InputRejection::Findings(..) => "findings".to_owned(),
        })
    }

    #[test]
    fn properties_have_the_types_of_the_schema() {
        assert_eq!(read(&["n=3", "topic=4", "tags=[1]"], None), Ok(json!({"n": 3, "topic": "4", "tags": [1]})));
        assert_eq!(read(&["n=3"], Some("{\"topic\": \"x\"}")), Ok(json!({"topic": "x", "n": 3})));
        assert_eq!(read(&["a text"], None), Ok(json!("a text")));
        assert_eq!(read(&[], None), Ok(Json::Null));
        assert_eq!(read(&["topc=x"], None), Err("unknown input `topc`; did you mean `topic`?".to_owned()));
        assert!(read(&["n=x"], None).unwrap_err().contains("must be of type integer"));
        assert!(read(&["n=1", "n=2"], None).unwrap_err().contains("set twice"));
        assert!(read(&["a text", "n=2"], None).unwrap_err().contains("plain text"));
    }
}
