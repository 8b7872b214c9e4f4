//! The form of schemas of others: older drafts, and what no draft allows.
//!
//! A schema that is not quite right still says most of what it means, and whoever wrote it cannot be asked. So a stated draft is
//! honoured, and what the draft does not allow counts as "anything" at its place.

use jsonschema::Draft;
use serde_json::{Map, Value as Json};

use super::{SchemaFault, bounded_cost};

/// Drafts, and what names them in `$schema`. Writers vary the rest of the address.
const DRAFTS: [(&str, Draft, &str); 5] = [
    ("draft-04", Draft::Draft4, "http://json-schema.org/draft-04/schema#"),
    ("draft-06", Draft::Draft6, "http://json-schema.org/draft-06/schema#"),
    ("draft-07", Draft::Draft7, "http://json-schema.org/draft-07/schema#"),
    ("2019-09", Draft::Draft201909, "https://json-schema.org/draft/2019-09/schema"),
    ("2020-12", Draft::Draft202012, "https://json-schema.org/draft/2020-12/schema"),
];
/// Members that hold subschemas by name, and lists of subschemas.
const NAMED: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// The number of slips in one schema, and of those that are named.
const MOST: usize = 200;
const NAMED_SLIPS: usize = 3;

/// A schema that can be compiled.
#[derive(Debug)]
pub struct ReadableForm {
    /// The schema without what its draft does not allow.
    pub schema: Json,
    /// Its draft.
    pub draft: Draft,
    /// What was not allowed, and where: for a message, as ``/properties/q/type` is "any"``.
    pub slips: Vec<String>,
}

/// Reads a schema of others without compiling its patterns, which may take a second: for many schemas of which few are used.
pub fn readable_form(schema: &Json) -> Result<ReadableForm, SchemaFault> {
    bounded_cost(schema)?;
    let mut schema = schema.clone();
    let draft = state_draft(&mut schema);
    let mut slips = Vec::new();
    let mut count = 0;
    while let Some(places) = wrong_places(&schema, draft) {
        for place in places {
            count += 1;
            // Beyond that, it says nothing at all.
            if count > MOST || place.is_empty() {
                slips.push("it is not a JSON Schema".to_owned());
                return Ok(ReadableForm { schema: Json::Object(Map::new()), draft, slips });
            }
            if let Some(removed) = loosen(&mut schema, &place)
                && slips.len() < NAMED_SLIPS
            {
                slips.push(format!("`{place}` is {}", shown(&removed)));
            }
        }
    }
    Ok(ReadableForm { schema, draft, slips })
}

/// The draft that a schema states, written as the compiler knows it; otherwise the newest one.
fn state_draft(schema: &mut Json) -> Draft {
    let Some(members) = schema.as_object_mut() else { return Draft::Draft202012 };
    let stated = members.remove("$schema");
    let stated = stated.as_ref().and_then(Json::as_str).unwrap_or_default();
    let known = DRAFTS.iter().find(|(name, ..)| stated.contains(name));
    if let Some((_, _, address)) = known {
        members.insert("$schema".to_owned(), (*address).into());
    }
    match known {
        Some((_, draft, _)) => *draft,
        None => Draft::Draft202012,
    }
}

/// The JSON pointers of what the draft does not allow.
fn wrong_places(schema: &Json, draft: Draft) -> Option<Vec<String>> {
    let validator = match draft {
        Draft::Draft4 => jsonschema::draft4::meta::validator(),
        Draft::Draft6 => jsonschema::draft6::meta::validator(),
        Draft::Draft7 => jsonschema::draft7::meta::validator(),
        Draft::Draft201909 => jsonschema::draft201909::meta::validator(),
        _ => jsonschema::draft202012::meta::validator(),
    };
    if validator.is_valid(schema) {
        return None;
    }
    let mut places: Vec<String> =
        validator.iter_errors(schema).map(|error| error.instance_path().to_string()).collect();
    places.sort();
    places.dedup();
    Some(places)
}

/// Makes a schema say nothing at a place, and returns what it said there.
fn loosen(schema: &mut Json, pointer: &str) -> Option<Json> {
    let (parent, last) = pointer.rsplit_once('/')?;
    let (_, holder) = parent.rsplit_once('/').unwrap_or_default();
    let name = last.replace("~1", "/").replace("~0", "~");
    let anything = || Json::Object(Map::new());
    match schema.pointer_mut(parent)? {
        Json::Object(members) if NAMED.contains(&holder) => members.insert(name, anything()),
        Json::Object(members) => members.remove(&name),
        Json::Array(items) => {
            let index: usize = name.parse().ok()?;
            if LISTS.contains(&holder) {
                return items.get_mut(index).map(|item| std::mem::replace(item, anything()));
            }
            // The places of later items change, so each round removes one.
            if index < items.len() { Some(items.remove(index)) } else { None }
        }
        _ => None,
    }
}

fn shown(removed: &Json) -> String {
    let text = removed.to_string();
    if text.chars().count() <= 40 { text } else { format!("{}…", text.chars().take(39).collect::<String>()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::SchemaChecker;
    use super::*;

    #[test]
    fn what_no_draft_allows_is_anything_at_its_place() {
        let table = [
            (
                json!({"properties": {"q": {"type": "any"}}}),
                json!({"properties": {"q": {}}}),
                "`/properties/q/type` is \"any\"",
            ),
            (
                json!({"properties": {"q": {"type": "number", "required": true}}}),
                json!({"properties": {"q": {"type": "number"}}}),
                "`/properties/q/required` is true",
            ),
            (
                json!({"properties": {"l": {"type": "array", "items": [{"type": "string"}]}}}),
                json!({"properties": {"l": {"type": "array"}}}),
                "`/properties/l/items` is [{\"type\":\"string\"}]",
            ),
            (json!({"type": "object", "properties": null}), json!({"type": "object"}), "`/properties` is null"),
            (json!({"properties": {"q": "string"}}), json!({"properties": {"q": {}}}), "`/properties/q` is \"string\""),
            (
                json!({"anyOf": [{"type": "null"}, "x"]}),
                json!({"anyOf": [{"type": "null"}, {}]}),
                "`/anyOf/1` is \"x\"",
            ),
            (json!({"required": ["a", 5]}), json!({"required": ["a"]}), "`/required/1` is 5"),
            (
                json!({"properties": {"q": {"minimum": "0"}}}),
                json!({"properties": {"q": {}}}),
                "`/properties/q/minimum` is \"0\"",
            ),
            (json!({"properties": {"a/b": 7}}), json!({"properties": {"a/b": {}}}), "`/properties/a~1b` is 7"),
        ];
        for (schema, readable, slip) in table {
            let form = readable_form(&schema).unwrap();
            assert_eq!((form.schema, form.slips), (readable, vec![slip.to_owned()]), "{schema}");
            assert!(SchemaChecker::of_others(&schema).is_ok(), "{schema}");
        }
    }

    #[test]
    fn a_stated_draft_is_honoured() {
        let above =
            |schema: &str| json!({"$schema": schema, "properties": {"q": {"minimum": 0, "exclusiveMinimum": true}}});
        for stated in ["http://json-schema.org/draft-04/schema#", "https://json-schema.org/draft-04/schema"] {
            let checker = SchemaChecker::of_others(&above(stated)).unwrap();
            assert!(!checker.accepts_value(&json!({"q": 0})) && checker.accepts_value(&json!({"q": 1})), "{stated}");
            assert!(readable_form(&above(stated)).unwrap().slips.is_empty(), "{stated}");
        }
        let later = readable_form(&above("https://json-schema.org/draft/2020-12/schema")).unwrap();
        assert_eq!(later.slips, ["`/properties/q/exclusiveMinimum` is true"]);
        // An unknown one is no reason not to read it.
        assert!(SchemaChecker::of_others(&json!({"$schema": "urn:mine", "type": "object"})).is_ok());
        let tuple = json!({"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}]});
        assert!(!SchemaChecker::of_others(&tuple).unwrap().accepts_value(&json!([7])));
    }

    #[test]
    fn a_schema_that_is_wrong_everywhere_allows_anything() {
        for schema in [json!(7), json!("object"), json!(null), json!([])] {
            let form = readable_form(&schema).unwrap();
            assert_eq!((form.schema, form.slips.len()), (json!({}), 1), "{schema}");
        }
        let many: Map<String, Json> = (0..1000).map(|i| (format!("x{i}"), json!({"type": "any"}))).collect();
        assert_eq!(readable_form(&json!({"properties": many})).unwrap().schema, json!({}));
    }
}
