//! The description of the API, and whether answers are as it says. It is read strictly: an answer has no member that the description
//! does not name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, OnceLock};

use jsonschema::Validator;
use serde_json::{Map, Value as Json, json};

use crate::test_server::Reply;

const PROBLEM: &str = "application/problem+json";
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// The description of the API.
pub struct DescribedApi {
    document: Json,
    validators: Mutex<BTreeMap<String, Arc<Validator>>>,
}

impl DescribedApi {
    /// That of the server.
    pub fn get() -> &'static Self {
        static API: OnceLock<DescribedApi> = OnceLock::new();
        API.get_or_init(|| Self::new(trefoil_server::describe_api()))
    }

    fn new(document: Json) -> Self {
        Self { document, validators: Mutex::default() }
    }

    /// All operations: `GET /api/v1/runs/{run}`.
    fn operations(&self) -> BTreeMap<String, &Json> {
        let mut all = BTreeMap::new();
        for (path, item) in self.document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                assert!(METHODS.contains(&method.as_str()), "{path}: {method}");
                all.insert(format!("{} {path}", method.to_uppercase()), operation);
            }
        }
        all
    }

    /// The names of all operations.
    pub fn operation_names(&self) -> BTreeSet<String> {
        self.operations().into_keys().collect()
    }

    fn find_operation(&self, method: &str, path: &str) -> Option<(String, &Json)> {
        let parts: Vec<&str> = path.split('/').collect();
        let is_same = |template: &str| {
            let wanted: Vec<&str> = template.split('/').collect();
            let mut pairs = wanted.iter().zip(&parts);
            wanted.len() == parts.len()
                && pairs.all(|(wanted, part)| wanted == part || wanted.starts_with('{') && !part.is_empty())
        };
        let is_named = |name: &str| name.split_once(' ').is_some_and(|(verb, at)| verb == method && is_same(at));
        self.operations().into_iter().find(|(name, _)| is_named(name))
    }

    /// The operation of an answer; `None`: it is not one of the API.
    ///
    /// # Errors
    ///
    /// What the description does not say.
    pub fn check_reply(&self, method: &str, path: &str, reply: &Reply) -> Result<Option<String>, String> {
        if !path.starts_with("/api/v1/") {
            return Ok(None);
        }
        let content_type = reply.header("content-type").split(';').next().unwrap_or_default().trim().to_owned();
        if reply.status >= 400 {
            self.check_problem(&content_type, reply)?;
        }
        let Some((name, operation)) = self.find_operation(method, path) else {
            return if reply.status >= 400 { Ok(None) } else { Err("the operation is not described".to_owned()) };
        };
        let response = &operation["responses"][reply.status.to_string()];
        if response.is_null() {
            return Err(format!("`{name}` does not describe this status"));
        }
        let Some(contents) = response["content"].as_object() else {
            return if reply.text.is_empty() { Ok(Some(name)) } else { Err(format!("`{name}` describes no body")) };
        };
        let Some(content) = contents.get(&content_type) else {
            return Err(format!("`{name}` does not describe `{content_type}`"));
        };
        if content_type.ends_with("json") {
            let body = serde_json::from_str(&reply.text).map_err(|error| error.to_string())?;
            self.check_body(&content["schema"], &body)?;
        }
        Ok(Some(name))
    }

    fn check_problem(&self, content_type: &str, reply: &Reply) -> Result<(), String> {
        if content_type != PROBLEM {
            return Err(format!("`{content_type}` is not a problem"));
        }
        let body: Json = serde_json::from_str(&reply.text).map_err(|error| error.to_string())?;
        if body["status"] != reply.status {
            return Err("the problem has another status".to_owned());
        }
        self.check_body(&json!({ "$ref": "#/components/schemas/Problem" }), &body)
    }

    fn check_body(&self, schema: &Json, body: &Json) -> Result<(), String> {
        let name = schema.to_string();
        let known = self.validators.lock().unwrap().get(&name).cloned();
        let validator = match known {
            Some(known) => known,
            None => {
                let made = Arc::new(self.strict_validator(schema));
                self.validators.lock().unwrap().insert(name, made.clone());
                made
            }
        };
        let faults: Vec<String> =
            validator.iter_errors(body).map(|fault| format!("{}: {fault}", fault.instance_path())).collect();
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
    }

    fn strict_validator(&self, schema: &Json) -> Validator {
        let mut whole = rewrite_schema(schema, true);
        let (mut strict, mut open) = (Map::new(), Map::new());
        for (name, schema) in self.document["components"]["schemas"].as_object().unwrap() {
            strict.insert(name.clone(), rewrite_schema(schema, true));
            open.insert(name.clone(), rewrite_schema(schema, false));
        }
        whole["components"] = json!({ "schemas": strict, "open": open });
        jsonschema::draft202012::options().build(&whole).unwrap()
    }
}

/// A schema without places for members that it does not name. `is_strict` is false in a part of `allOf`, whose other parts name more.
fn rewrite_schema(schema: &Json, is_strict: bool) -> Json {
    let Json::Object(members) = schema else { return schema.clone() };
    let mut all = Map::new();
    for (name, value) in members {
        let value = match name.as_str() {
            "$ref" if !is_strict => value.as_str().unwrap().replace("/components/schemas/", "/components/open/").into(),
            "properties" | "patternProperties" => {
                let each = value.as_object().unwrap().iter();
                Json::Object(each.map(|(name, schema)| (name.clone(), rewrite_schema(schema, true))).collect())
            }
            "items" | "additionalProperties" | "propertyNames" => rewrite_schema(value, true),
            "allOf" => rewrite_all(value, false),
            "anyOf" | "oneOf" | "prefixItems" => rewrite_all(value, is_strict && !members.contains_key("properties")),
            _ => value.clone(),
        };
        all.insert(name.clone(), value);
    }
    let has_members = all.contains_key("properties") || all.contains_key("allOf");
    if is_strict && has_members && !all.contains_key("additionalProperties") {
        all.insert("unevaluatedProperties".to_owned(), false.into());
    }
    Json::Object(all)
}

fn rewrite_all(schemas: &Json, is_strict: bool) -> Json {
    schemas.as_array().unwrap().iter().map(|schema| rewrite_schema(schema, is_strict)).collect()
}

fn collect_references(json: &Json, found: &mut BTreeSet<String>) {
    match json {
        Json::Object(members) => {
            for (name, value) in members {
                match value {
                    Json::String(target) if name == "$ref" => drop(found.insert(target.clone())),
                    other => collect_references(other, found),
                }
            }
        }
        Json::Array(items) => items.iter().for_each(|item| collect_references(item, found)),
        _ => {}
    }
}

#[test]
fn the_description_is_whole_and_has_the_routes_of_the_router() {
    let api = DescribedApi::get();
    let routes: BTreeSet<String> =
        trefoil_server::list_api_routes().into_iter().map(|(method, path)| format!("{method} {path}")).collect();
    assert_eq!(api.operation_names(), routes);
    let mut ids = BTreeSet::new();
    for (name, operation) in api.operations() {
        let id = operation["operationId"].as_str().unwrap_or_else(|| panic!("{name} has no id"));
        assert!(ids.insert(id), "{id} is not unique");
        assert!(!operation["summary"].as_str().unwrap_or_default().is_empty(), "{name} says nothing");
        for (status, response) in operation["responses"].as_object().unwrap() {
            assert!(!response["description"].as_str().unwrap_or_default().is_empty(), "{name} {status}");
        }
        let mut named = BTreeSet::new();
        for parameter in operation["parameters"].as_array().unwrap_or(&Vec::new()) {
            if parameter["in"] == "path" {
                named.insert(format!("{{{}}}", parameter["name"].as_str().unwrap()));
            }
        }
        let in_path: BTreeSet<String> =
            name.split('/').filter(|part| part.starts_with('{')).map(str::to_owned).collect();
        assert_eq!(named, in_path, "{name}");
    }
    let mut targets = BTreeSet::new();
    collect_references(&api.document, &mut targets);
    for target in targets {
        let at = target.strip_prefix('#').unwrap_or_else(|| panic!("{target}"));
        assert!(api.document.pointer(at).is_some(), "{target} does not exist");
    }
    for (name, schema) in api.document["components"]["schemas"].as_object().unwrap() {
        assert!(jsonschema::draft202012::meta::is_valid(schema), "{name} is no schema");
    }
    assert_eq!(api.document["openapi"].as_str().unwrap().get(..3), Some("3.1"));
}

#[test]
fn an_answer_that_the_description_does_not_have_is_found() {
    let document = json!({
        "paths": { "/api/v1/a/{b}": { "get": { "responses": { "200": {
            "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Whole" } } },
        } } } } },
        "components": { "schemas": {
            "Part": { "type": "object", "required": ["x"], "properties": { "x": { "type": "integer" } } },
            "Whole": { "allOf": [
                { "$ref": "#/components/schemas/Part" },
                { "type": "object", "properties": { "parts": { "type": "array", "items": { "$ref": "#/components/schemas/Part" } } } },
            ] },
            "Problem": { "type": "object", "properties": { "status": { "type": "integer" } } },
        } },
    });
    let api = DescribedApi::new(document);
    let check = |path: &str, status: u16, content_type: &str, body: Json| {
        let headers = [("content-type".parse().unwrap(), content_type.parse().unwrap())].into_iter().collect();
        api.check_reply("GET", path, &Reply { status, headers, text: body.to_string() }).is_ok()
    };
    let json = "application/json";
    assert!(check("/api/v1/a/1", 200, json, json!({ "x": 1, "parts": [{ "x": 2 }] })));
    assert!(check("/run", 500, "text/plain", json!("any")));
    assert!(!check("/api/v1/a/1", 200, json, json!({})));
    assert!(!check("/api/v1/a/1", 200, json, json!({ "x": 1, "more": 2 })));
    assert!(!check("/api/v1/a/1", 200, json, json!({ "x": 1, "parts": [{ "x": 2, "more": 3 }] })));
    assert!(!check("/api/v1/a/1", 200, "text/plain", json!({ "x": 1 })));
    assert!(!check("/api/v1/a/1", 201, json, json!({ "x": 1 })));
    assert!(!check("/api/v1/a", 200, json, json!({ "x": 1 })));
    assert!(check("/api/v1/a", 404, PROBLEM, json!({ "status": 404 })));
    assert!(!check("/api/v1/a", 404, PROBLEM, json!({ "status": 400 })));
    assert!(!check("/api/v1/a", 404, json, json!({ "status": 404 })));
    assert!(!check("/api/v1/a/1", 404, PROBLEM, json!({ "status": 404 })));
}
