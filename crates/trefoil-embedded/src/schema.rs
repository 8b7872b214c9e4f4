//! Generates values that a JSON Schema accepts and that meet as many requirements as the schema allows.
//!
//! The generator uses the keywords that describe a value. Keywords that only exclude values (`not`, `if`, ...) are left
//! to the validator, which checks every value before it is used.

use std::sync::Arc;

use serde_json::{Map, Value as Json};
use trefoil_ir::schema::SchemaChecker;
use trefoil_ir::solver::{SplitMixRandom, ValueConstraint, filler_text, json_equal, pick_length, rounded_number};

use super::pattern;
use super::requirements::{AnswerPathSegment, AnswerRequirements};

/// Maximum nesting, and maximum length of a chain of `$ref`s.
const DEEPEST: usize = 12;
/// From this depth on, only required parts are generated.
const SPARSE: usize = 4;
/// Maximum number of values and schema parts in one answer. Nested lists and multiplying references could otherwise
/// exceed the memory.
const MOST_PARTS: u32 = 50_000;
/// Number of tries before the requirements are dropped, and then before the schema is.
const TRIES: usize = 24;

/// A compiled schema.
#[derive(Debug, Clone)]
pub(super) struct CheckedSchema {
    json: Json,
    /// `None` if the schema is invalid, so that values cannot be checked.
    checker: Option<Arc<SchemaChecker>>,
}

impl CheckedSchema {
    pub fn new(json: Json) -> Self {
        let checker = SchemaChecker::new(&json).ok().map(Arc::new);
        Self { json, checker }
    }

    pub(super) fn accepts_value(&self, value: &Json) -> bool {
        match &self.checker {
            Some(checker) => checker.accepts_value(value),
            None => true,
        }
    }
}

/// A value that all schemas accept and that meets the requirements if possible. `extra` is another condition that must
/// hold.
pub(super) fn generate_instance(
    schemas: &[CheckedSchema],
    wants: &AnswerRequirements,
    random: &mut SplitMixRandom,
    extra: &dyn Fn(&Json) -> bool,
) -> Option<Json> {
    let nothing = AnswerRequirements::default();
    let mut fallback = None;
    for wants in [wants, &nothing] {
        for try_ in 0..TRIES {
            let schema = schemas.get(try_ % schemas.len().max(1))?;
            let mut maker =
                InstanceGenerator { root: &schema.json, wants, random: random.derive_random(), left: MOST_PARTS };
            let value = maker.value(&schema.json, &mut Vec::new(), 0);
            if maker.left == 0 {
                // The next value would be as large.
                return fallback;
            }
            if schemas.iter().all(|s| s.accepts_value(&value)) {
                if extra(&value) {
                    return Some(value);
                }
                fallback.get_or_insert(value);
            }
        }
    }
    fallback
}

struct InstanceGenerator<'a> {
    root: &'a Json,
    wants: &'a AnswerRequirements,
    random: SplitMixRandom,
    /// The part of [`MOST_PARTS`] that is left.
    left: u32,
}

impl InstanceGenerator<'_> {
    fn value(&mut self, schema: &Json, path: &mut Vec<AnswerPathSegment>, depth: usize) -> Json {
        if self.left == 0 {
            return Json::Null;
        }
        self.left -= 1;
        let flat = self.flat(schema, depth);
        let wanted: Vec<&ValueConstraint> = self.wants.constraints_at(path).collect();
        let made = self.generate_value(&flat, path, depth);
        if wanted.is_empty() {
            return made;
        }
        let mut candidates: Vec<Json> = Vec::new();
        for constraint in &wanted {
            candidates.extend(constraint.propose_values(&mut self.random));
        }
        let mut listed = enumerated_values(&flat);
        self.random.shuffle_slice(&mut listed);
        candidates.extend(listed);
        // The contents of a list or an object already meet requirements, so they come first; a plain value follows only
        // the schema.
        let place = if made.is_array() || made.is_object() { 0 } else { candidates.len() };
        candidates.insert(place, made.clone());
        for candidate in candidates {
            if wanted.iter().all(|constraint| constraint.accepts_value(&candidate)) && fits(&flat, &candidate) {
                return candidate;
            }
        }
        made
    }

    /// Generates a value from the schema alone, except that lists and texts have the required length.
    fn generate_value(&mut self, flat: &Map<String, Json>, path: &mut Vec<AnswerPathSegment>, depth: usize) -> Json {
        let listed = enumerated_values(flat);
        if !listed.is_empty() {
            return self.random.pick_one(&listed).cloned().unwrap_or_default();
        }
        match self.kind(flat) {
            "object" => self.object(flat, path, depth),
            "array" => self.array(flat, path, depth),
            "string" => Json::from(self.string(flat, path)),
            "integer" => self.number(flat, true),
            "number" => self.number(flat, false),
            "boolean" => Json::from(self.random.one_in(2)),
            _ => Json::Null,
        }
    }

    /// A type that the schema allows; null only if there is no other.
    fn kind(&mut self, flat: &Map<String, Json>) -> &'static str {
        const KINDS: [&str; 7] = ["object", "array", "string", "integer", "number", "boolean", "null"];
        let known = |name: &str| KINDS.iter().find(|k| **k == name).copied();
        match flat.get("type") {
            Some(Json::String(name)) => known(name).unwrap_or("string"),
            Some(Json::Array(names)) => {
                let mut kinds = Vec::new();
                for name in names {
                    if let Some(name) = name.as_str()
                        && let Some(kind) = known(name)
                        && kind != "null"
                    {
                        kinds.push(kind);
                    }
                }
                self.random.pick_one(&kinds).copied().unwrap_or("null")
            }
            _ => {
                let has = |keys: &[&str]| keys.iter().any(|k| flat.contains_key(*k));
                if has(&["properties", "required", "additionalProperties", "minProperties", "patternProperties"]) {
                    "object"
                } else if has(&["items", "prefixItems", "minItems", "maxItems", "contains"]) {
                    "array"
                } else if has(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
                    "number"
                } else {
                    "string"
                }
            }
        }
    }

    fn object(&mut self, flat: &Map<String, Json>, path: &mut Vec<AnswerPathSegment>, depth: usize) -> Json {
        let none = Map::new();
        let properties = match flat.get("properties") {
            Some(Json::Object(properties)) => properties,
            _ => &none,
        };
        let mut required: Vec<&str> = strings(flat.get("required"));
        let mut out = Map::new();
        for (name, schema) in properties {
            path.push(AnswerPathSegment::Name(name.as_str().into()));
            let must = required.contains(&name.as_str());
            let wanted = self.wants.has_within(path);
            if must || wanted || (depth < SPARSE && !self.random.one_in(4)) {
                let value = self.value(schema, path, depth + 1);
                if must || !wanted || !self.is_better_omitted(path, &value) {
                    out.insert(name.clone(), value);
                    if let Some(dependent) = flat.get("dependentRequired") {
                        required.extend(strings(dependent.get(name)));
                    }
                }
            }
            path.pop();
        }
        let rest = flat.get("additionalProperties");
        let mut more: Vec<String> = required.iter().map(|n| (*n).to_owned()).collect();
        if rest != Some(&Json::Bool(false)) {
            for segment in self.wants.segments_inside(path) {
                if let AnswerPathSegment::Name(name) = segment
                    && !properties.contains_key(&**name)
                {
                    more.push(name.to_string());
                }
            }
            let least = bound(flat, "minProperties", 32).unwrap_or(0);
            let known = out.len() + more.iter().filter(|name| !out.contains_key(name.as_str())).count();
            for n in 1..=least.saturating_sub(known) {
                more.push(format!("member_{n}"));
            }
        }
        let anything = Json::Bool(true);
        for name in more {
            if !out.contains_key(&name) {
                path.push(AnswerPathSegment::Name(name.as_str().into()));
                let schema = match (properties.get(&name), rest) {
                    (Some(schema), _) => schema,
                    (None, Some(rest)) if rest.is_object() => rest,
                    _ => &anything,
                };
                let value = self.value(schema, path, depth + 1);
                path.pop();
                out.insert(name, value);
            }
        }
        Json::Object(out)
    }

    /// Whether an omitted property meets requirements that its value does not: if the schema does not allow null, it stands for
    /// null.
    fn is_better_omitted(&self, path: &[AnswerPathSegment], value: &Json) -> bool {
        self.wants.constraints_at(path).any(|constraint| !constraint.accepts_value(value))
            && self.wants.constraints_at(path).all(|constraint| constraint.accepts_value(&Json::Null))
    }

    fn array(&mut self, flat: &Map<String, Json>, path: &mut Vec<AnswerPathSegment>, depth: usize) -> Json {
        let prefix = list(flat, "prefixItems");
        let most = bound(flat, "maxItems", 64);
        let mut low = bound(flat, "minItems", 64).unwrap_or(if depth < SPARSE { 1 } else { 0 });
        let mut high = most.unwrap_or(3);
        for constraint in self.wants.constraints_at(path) {
            if let ValueConstraint::List(l, h) | ValueConstraint::Length(l, h) = constraint {
                low = low.max(*l);
                high = if most.is_some() { high.min(*h) } else { *h };
            }
        }
        let closed = flat.get("items") == Some(&Json::Bool(false));
        let count = if closed {
            prefix.len()
        } else {
            pick_length(low, high.max(low), &mut self.random).max(prefix.len().min(low))
        };
        let anything = Json::Bool(true);
        let items = match flat.get("items") {
            Some(items) if !items.is_boolean() => items,
            _ => &anything,
        };
        let unique = flat.get("uniqueItems") == Some(&Json::Bool(true));
        let mut out: Vec<Json> = Vec::new();
        path.push(AnswerPathSegment::Any);
        for n in 0..count {
            let schema = match (prefix.get(n), flat.get("contains")) {
                (Some(schema), _) => schema,
                (None, Some(contains)) if n == prefix.len() => contains,
                _ => items,
            };
            let mut value = self.value(schema, path, depth + 1);
            for _ in 0..TRIES {
                if !unique || !out.iter().any(|item| json_equal(item, &value)) {
                    break;
                }
                value = self.value(schema, path, depth + 1);
            }
            out.push(value);
        }
        path.pop();
        Json::Array(out)
    }

    fn string(&mut self, flat: &Map<String, Json>, path: &[AnswerPathSegment]) -> String {
        let mut low = bound(flat, "minLength", 4096).unwrap_or(0);
        let mut high = bound(flat, "maxLength", 4096).unwrap_or(usize::MAX);
        for constraint in self.wants.constraints_at(path) {
            if let ValueConstraint::Length(l, h) = constraint {
                (low, high) = (low.max(*l), high.min(*h));
            }
        }
        if let Some(Json::String(pattern)) = flat.get("pattern") {
            for _ in 0..TRIES {
                if let Some(text) = pattern::generate_match(pattern, &mut self.random)
                    && (low..=high).contains(&text.chars().count())
                {
                    return text;
                }
            }
        }
        if let Some(Json::String(format)) = flat.get("format")
            && let Some(text) = self.format(format)
        {
            return text;
        }
        let name = path.iter().rev().find_map(|segment| match segment {
            AnswerPathSegment::Name(name) => Some(&**name),
            AnswerPathSegment::Any => None,
        });
        let number = self.random.pick_between(1, 99);
        let mut text = match name {
            Some(name) => format!("sample {} {number}", name.replace(['_', '-'], " ")),
            None => format!("sample {number}"),
        };
        // Not in lists, whose items must differ, and not if the schema limits the length.
        if let (Some(name), false, 0, usize::MAX) = (name, self.wants.about.is_empty(), low, high)
            && !path.contains(&AnswerPathSegment::Any)
        {
            text = format!("[embedded] {} about \"{}\"", name.replace(['_', '-'], " "), self.wants.about);
        }
        let length = text.chars().count();
        if length < low {
            text.push_str(&filler_text(low - length));
        } else if length > high {
            text = filler_text(high);
        }
        text
    }

    fn format(&mut self, format: &str) -> Option<String> {
        let n = self.random.pick_between(1, 28);
        Some(match format {
            "date" => format!("2026-01-{n:02}"),
            "date-time" => format!("2026-01-{n:02}T12:00:00Z"),
            "time" => "12:00:00Z".to_owned(),
            "duration" => format!("P{n}D"),
            "email" | "idn-email" => format!("person{n}@example.com"),
            "uri" | "url" | "iri" => format!("https://example.com/{n}"),
            "uri-reference" | "iri-reference" => format!("/{n}"),
            "hostname" | "idn-hostname" => format!("host{n}.example.com"),
            "ipv4" => format!("192.0.2.{n}"),
            "ipv6" => format!("2001:db8::{n}"),
            "uuid" => format!("00000000-0000-4000-8000-{n:012}"),
            "json-pointer" => format!("/{n}"),
            "regex" => "^[a-z]+$".to_owned(),
            _ => return None,
        })
    }

    fn number(&mut self, flat: &Map<String, Json>, whole: bool) -> Json {
        let bound = |name: &str| number(flat, name);
        let step = match bound("multipleOf") {
            Some(step) if step > 0.0 => step,
            _ if whole => 1.0,
            _ => 0.0,
        };
        // An exclusive bound is exceeded by one step, or by a small amount.
        let little = if step > 0.0 { step } else { 0.01 };
        let low = max(bound("minimum"), bound("exclusiveMinimum").map(|n| n + little));
        let high = min(bound("maximum"), bound("exclusiveMaximum").map(|n| n - little));
        let (low, high) = match (low, high) {
            (Some(low), Some(high)) => (low, high.max(low)),
            (Some(low), None) => (low, low + 10.0 * little.max(1.0)),
            (None, Some(high)) => (high - 10.0 * little.max(1.0), high),
            (None, None) => (0.0, 10.0 * little.max(1.0)),
        };
        if step > 0.0 {
            let (first, last) = ((low / step).ceil(), (high / step).floor());
            let n = self.random.pick_between(first as i64, last.max(first) as i64) as f64 * step;
            return if whole && n.fract() == 0.0 { Json::from(n as i64) } else { rounded_number(n) };
        }
        let part = self.random.pick_between(0, 20) as f64 / 20.0;
        rounded_number(low + (high - low) * part)
    }

    /// The schema with its references resolved, one alternative of each choice, and all parts merged.
    fn flat(&mut self, schema: &Json, depth: usize) -> Map<String, Json> {
        let mut out = Map::new();
        self.lay(schema, depth, &mut out);
        out
    }

    fn lay(&mut self, schema: &Json, depth: usize, out: &mut Map<String, Json>) {
        let Some(schema) = schema.as_object() else { return };
        if depth >= DEEPEST || self.left == 0 {
            return;
        }
        self.left -= 1;
        for (name, value) in schema {
            match (name.as_str(), out.get_mut(name), value) {
                ("$ref" | "allOf" | "anyOf" | "oneOf", ..) => {}
                ("properties" | "dependentRequired", Some(Json::Object(have)), Json::Object(more)) => {
                    have.extend(more.clone());
                }
                ("required", Some(Json::Array(have)), Json::Array(more)) => have.extend(more.iter().cloned()),
                ("minimum" | "exclusiveMinimum" | "minLength" | "minItems", Some(have), more) => {
                    if more.as_f64() > have.as_f64() {
                        *have = more.clone();
                    }
                }
                ("maximum" | "exclusiveMaximum" | "maxLength" | "maxItems", Some(have), more) => {
                    if more.as_f64() < have.as_f64() {
                        *have = more.clone();
                    }
                }
                ("enum", Some(Json::Array(have)), Json::Array(more)) => {
                    have.retain(|known| more.iter().any(|value| json_equal(known, value)))
                }
                _ => {
                    out.insert(name.clone(), value.clone());
                }
            }
        }
        if let Some(Json::String(reference)) = schema.get("$ref")
            && let Some(target) = self.target(reference)
        {
            self.lay(&target, depth + 1, out);
        }
        for part in list(schema, "allOf") {
            self.lay(part, depth + 1, out);
        }
        for choice in ["anyOf", "oneOf"] {
            let ways = list(schema, choice);
            // Null ends a recursion; otherwise it is the least useful answer.
            let is_null = |way: &Json| matches!(way.get("type"), Some(Json::String(kind)) if kind == "null");
            let some: Vec<&Json> = ways.iter().filter(|way| is_null(way) == (depth >= SPARSE)).collect();
            let all: Vec<&Json> = ways.iter().collect();
            if let Some(way) = self.random.pick_one(if some.is_empty() { &all } else { &some }) {
                self.lay(way, depth + 1, out);
            }
        }
    }

    fn target(&self, reference: &str) -> Option<Json> {
        let pointer = reference.strip_prefix('#')?.replace("%24", "$");
        self.root.pointer(&pointer).cloned()
    }
}

/// The values that a schema enumerates.
fn enumerated_values(flat: &Map<String, Json>) -> Vec<Json> {
    if let Some(value) = flat.get("const") {
        return vec![value.clone()];
    }
    list(flat, "enum").to_vec()
}

/// Whether a value has the schema's type and size; the validator checks the rest.
fn fits(flat: &Map<String, Json>, value: &Json) -> bool {
    let listed = enumerated_values(flat);
    if !listed.is_empty() {
        return listed.iter().any(|known| json_equal(known, value));
    }
    let kind = match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(n) if n.is_i64() || n.is_u64() => "integer",
        Json::Number(_) => "number",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    let is = |name: &Json| match name.as_str() {
        Some("number") => matches!(kind, "number" | "integer"),
        name => name == Some(kind),
    };
    let typed = match flat.get("type") {
        Some(Json::Array(names)) => names.iter().any(is),
        Some(name) => is(name),
        None => true,
    };
    let lower = |name: &str| number(flat, name).unwrap_or(f64::NEG_INFINITY);
    let upper = |name: &str| number(flat, name).unwrap_or(f64::INFINITY);
    let between = |n: f64, low: &str, high: &str| n >= lower(low) && n <= upper(high);
    let sized = match value {
        Json::Number(n) => {
            let n = n.as_f64().unwrap_or(0.0);
            between(n, "minimum", "maximum") && n > lower("exclusiveMinimum") && n < upper("exclusiveMaximum")
        }
        Json::String(text) => {
            between(text.chars().count() as f64, "minLength", "maxLength") && !flat.contains_key("pattern")
        }
        Json::Array(items) => between(items.len() as f64, "minItems", "maxItems"),
        _ => true,
    };
    typed && sized
}

fn strings(json: Option<&Json>) -> Vec<&str> {
    match json {
        Some(Json::Array(items)) => items.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The items of a keyword that has a list.
fn list<'s>(schema: &'s Map<String, Json>, keyword: &str) -> &'s [Json] {
    match schema.get(keyword) {
        Some(Json::Array(items)) => items,
        _ => &[],
    }
}

/// The size that a keyword gives, if it is not larger than `most`.
fn bound(schema: &Map<String, Json>, keyword: &str, most: u64) -> Option<usize> {
    Some(schema.get(keyword)?.as_u64()?.min(most) as usize)
}

/// The number that a keyword gives.
fn number(schema: &Map<String, Json>, keyword: &str) -> Option<f64> {
    schema.get(keyword)?.as_f64()
}

fn max(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (a, b) => a.or(b),
    }
}

fn min(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use trefoil_template::ComparisonOperator;

    fn make(schema: &Json, wants: &AnswerRequirements, seed: u64) -> Json {
        let checked = CheckedSchema::new(schema.clone());
        assert!(checked.checker.is_some(), "not a schema: {schema}");
        let value = generate_instance(std::slice::from_ref(&checked), wants, &mut SplitMixRandom::new(seed), &|_| true);
        let value = value.unwrap_or_else(|| panic!("nothing for {schema}"));
        assert!(checked.accepts_value(&value), "{value} for {schema}");
        value
    }

    fn wants(all: &[(&str, ValueConstraint)]) -> AnswerRequirements {
        let seg = |name: &str| if name == "*" { AnswerPathSegment::Any } else { AnswerPathSegment::Name(name.into()) };
        let constraints = all.iter().map(|(p, c)| (p.split('.').map(seg).collect(), c.clone())).collect();
        AnswerRequirements { constraints, reads: Vec::new(), about: String::new() }
    }

    #[test]
    fn every_keyword_that_describes_is_followed() {
        let schemas = [
            json!(true),
            json!({}),
            json!({"const": {"a": [1]}}),
            json!({"enum": ["x", 2, null]}),
            json!({"type": ["string", "null"]}),
            json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a", "b"]}),
            json!({"type": "object", "additionalProperties": {"type": "number"}, "minProperties": 3}),
            json!({"type": "object", "properties": {"a": {}}, "required": ["a"], "dependentRequired": {"a": ["z"]}}),
            json!({"type": "array", "items": {"enum": [1, 2, 3, 4]}, "minItems": 3, "uniqueItems": true}),
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false, "minItems": 2}),
            json!({"type": "array", "contains": {"const": "x"}, "minItems": 1}),
            json!({"type": "string", "minLength": 30, "maxLength": 31}),
            json!({"type": "string", "maxLength": 3}),
            json!({"type": "string", "maxLength": 0}),
            json!({"type": "string", "pattern": "^[A-Z]{2}-\\d{3}$"}),
            json!({"type": "integer", "minimum": 3, "maximum": 3}),
            json!({"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5}),
            json!({"type": "integer", "minimum": -10, "maximum": -5, "multipleOf": 5}),
            json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
            json!({"type": "number", "multipleOf": 0.25, "minimum": 7}),
            json!({"allOf": [{"type": "object", "required": ["a"]}, {"properties": {"a": {"minimum": 5, "type": "integer"}}}]}),
            json!({"anyOf": [{"type": "string"}, {"type": "object", "required": ["k"]}]}),
            json!({"oneOf": [{"type": "integer", "multipleOf": 3}, {"type": "integer", "multipleOf": 5}]}),
            json!({"type": "string", "not": {"enum": ["sample 1"]}}),
            json!({"$defs": {"n": {"type": "object", "properties": {"v": {"type": "integer"},
                "next": {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "null"}]}}, "required": ["v", "next"]}}, "$ref": "#/$defs/n"}),
            json!({"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}, "required": ["kids"]}),
        ];
        for schema in &schemas {
            for seed in 0..40 {
                make(schema, &AnswerRequirements::default(), seed);
            }
        }
    }

    /// Schemas that have at least one valid value, by construction.
    fn random_schema(random: &mut SplitMixRandom, depth: usize) -> Json {
        let low = random.pick_between(-5, 5);
        let high = low + random.pick_between(0, 6);
        let count = random.pick_below(4);
        let mut schema = match random.pick_below(if depth > 2 { 6 } else { 10 }) {
            0 => json!({"type": "integer", "minimum": low, "maximum": high}),
            1 => json!({"type": "number", "exclusiveMinimum": low, "maximum": high + 1}),
            2 => json!({"type": "string", "minLength": count, "maxLength": count + random.pick_below(20)}),
            3 => json!({"enum": ["a", low, null, [high], {"k": low}]}),
            4 => json!({"type": ["boolean", "null"]}),
            5 => {
                json!({"type": "string", "pattern": (["^[a-z]{3,}$", r"\d+\.\d+", "^(red|green)$"][random.pick_below(3)])})
            }
            6 => json!({"type": "array", "items": random_schema(random, depth + 1), "minItems": count,
                "maxItems": count + random.pick_below(3)}),
            7 => json!({"anyOf": [random_schema(random, depth + 1), random_schema(random, depth + 1)]}),
            8 => json!({"$ref": "#/$defs/leaf"}),
            _ => {
                let names = ["one", "two", "three"];
                let properties: Map<String, Json> =
                    names.iter().take(count).map(|n| ((*n).to_owned(), random_schema(random, depth + 1))).collect();
                let required: Vec<&str> = names.iter().take(count).filter(|_| random.one_in(2)).copied().collect();
                json!({"type": "object", "properties": properties, "required": required,
                    "additionalProperties": random.one_in(2)})
            }
        };
        if depth == 0 {
            schema["$defs"] = json!({"leaf": {"type": "string", "format": "date"}});
        }
        schema
    }

    #[test]
    fn random_schemas_get_values_that_they_accept() {
        for seed in 0..1500 {
            let schema = random_schema(&mut SplitMixRandom::new(seed), 0);
            make(&schema, &AnswerRequirements::default(), seed);
        }
    }

    #[test]
    fn wants_are_met_where_the_schema_allows() {
        let schema = json!({"type": "object", "required": ["score"], "additionalProperties": false, "properties": {
            "score": {"type": "integer", "minimum": 1, "maximum": 10},
            "kind": {"enum": ["bug", "question", "praise"]},
            "note": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
        }});
        for seed in 0..40 {
            let value = |path: &str, constraint| make(&schema, &wants(&[(path, constraint)]), seed);
            let score = value("score", ValueConstraint::Bound(ComparisonOperator::GreaterEqual, 8.0));
            assert!(score["score"].as_i64().unwrap() >= 8);
            assert_eq!(value("kind", ValueConstraint::Equal(json!("praise"), true))["kind"], "praise");
            assert_ne!(value("kind", ValueConstraint::Equal(json!("praise"), false))["kind"], "praise");
            assert_eq!(
                value("note", ValueConstraint::Equal(Json::Null, true)).get("note"),
                None,
                "left out, for want of null"
            );
            assert!(
                value("note", ValueConstraint::Contains(json!("urgent"), true))["note"]
                    .as_str()
                    .unwrap()
                    .contains("urgent")
            );
            let tags = value("tags", ValueConstraint::List(2, 4));
            assert!((2..=4).contains(&tags["tags"].as_array().unwrap().len()));
            let named = value("tags.*.name", ValueConstraint::Equal(json!("x"), true));
            assert!(named["tags"].as_array().unwrap().iter().all(|t| t["name"] == "x"));
            // Requirements that the schema does not allow: the schema takes precedence.
            value("score", ValueConstraint::Bound(ComparisonOperator::Greater, 10.0));
            value("unknown", ValueConstraint::Truthy(true));
        }
    }

    #[test]
    fn over_seeds_every_listed_value_comes_up() {
        let schema = json!({"enum": ["a", "b", "c"]});
        let seen: std::collections::BTreeSet<String> =
            (0..30).map(|seed| make(&schema, &AnswerRequirements::default(), seed).to_string()).collect();
        assert_eq!(seen.len(), 3);
    }
}
