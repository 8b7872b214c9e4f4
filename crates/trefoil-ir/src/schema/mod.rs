//! How JSON Schemas are compiled, and how much work a check against one may take.
//!
//! All schemas are compiled with [`compile_schema`]: the regex engine takes linear time, so backreferences and
//! look-around other than at the
//! start of a pattern are not supported, and nothing is fetched. A [`SchemaChecker`] adds limits, and is the only
//! way to compile a schema that may be
//! from anywhere (a server's tool, a file, a manifest): the size of its patterns before they are compiled, and the work
//! of a check. With references, a schema of a few lines can take an unbounded amount of work, so the work is estimated
//! before a value is checked, and rejected beyond [`limits::SCHEMA_WORK`]. The estimate depends only on the schema and
//! the value, so a replay gets the same one.

mod foreign_schema;

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use jsonschema::{Draft, PatternOptions, ValidationError, ValidationOptions, Validator};
use serde_json::{Map, Value as Json};
use trefoil_template::limits;

use crate::pattern::linear_schema;

pub use foreign_schema::{ReadableForm, readable_form};

/// Compiles a schema: of this draft, or of the one that `$schema` names, otherwise 2020-12; nothing is fetched; patterns take linear
/// time.
pub fn compile_schema(schema: &Json, draft: Option<Draft>) -> Result<Validator, ValidationError<'static>> {
    let options = pattern_options(limits::PATTERN_BYTES);
    let options = match draft {
        Some(draft) => options.with_draft(draft),
        None => options,
    };
    options.build(&linear_schema(schema))
}

fn pattern_options(bytes: usize) -> ValidationOptions<'static> {
    let patterns = PatternOptions::regex().size_limit(bytes).dfa_size_limit(bytes);
    jsonschema::options().offline().with_pattern_options(patterns)
}

/// The approximate total size in bytes of all compiled patterns, each counted once. Stops counting beyond `most`.
pub fn pattern_bytes<'s>(schemas: impl IntoIterator<Item = &'s Json>, most: usize) -> usize {
    let mut patterns = BTreeSet::new();
    schemas.into_iter().for_each(|schema| collect_patterns(schema, &mut patterns));
    let mut bytes = 0usize;
    for pattern in patterns {
        if bytes > most {
            break;
        }
        bytes = bytes.saturating_add(pattern_weight(pattern).unwrap_or(limits::PATTERN_BYTES));
    }
    bytes
}

fn collect_patterns<'s>(json: &'s Json, found: &mut BTreeSet<&'s str>) {
    match json {
        Json::Object(members) => {
            for (key, value) in members {
                match value {
                    Json::String(pattern) if key == "pattern" => drop(found.insert(pattern)),
                    Json::Object(named) if key == "patternProperties" => found.extend(named.keys().map(String::as_str)),
                    _ => {}
                }
                collect_patterns(value, found);
            }
        }
        Json::Array(items) => items.iter().for_each(|item| collect_patterns(item, found)),
        _ => {}
    }
}

/// The smallest of several size limits within which a pattern compiles. The engine does not report a size, only that a
/// limit was exceeded. `None`: it does not compile within the largest limit.
pub fn pattern_weight(pattern: &str) -> Option<usize> {
    let fits = |limit: &usize| {
        let only = Json::Object(Map::from_iter([("pattern".to_owned(), Json::from(pattern))]));
        pattern_options(*limit).build(&linear_schema(&only)).is_ok()
    };
    [8 << 10, 64 << 10, 512 << 10, limits::PATTERN_BYTES].into_iter().find(fits)
}

/// A compiled schema with a limit for work.
#[derive(Debug, Clone)]
pub struct SchemaChecker {
    validator: Validator,
    cost: SchemaCost,
}

/// Why a value does not match a schema.
#[derive(Debug)]
pub enum SchemaMismatch<'v> {
    /// It violates these rules.
    Broken(Vec<ValidationError<'v>>),
    /// The check would take too long.
    TooMuchWork,
}

/// Why a schema is not compiled.
#[derive(Debug)]
pub enum SchemaFault {
    /// It is not a JSON Schema.
    Invalid(Box<ValidationError<'static>>),
    /// No value could be checked against it.
    Endless(EndlessSchema),
    /// Its patterns need more than [`limits::PATTERNS_BYTES`].
    Patterns,
}

impl fmt::Display for SchemaFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(error) => error.fmt(f),
            Self::Endless(endless) if endless.circular => {
                f.write_str("it refers to itself without going deeper into the value")
            }
            Self::Endless(_) => f.write_str("its references multiply, so checking one value would take forever"),
            Self::Patterns => write!(f, "its patterns need more than {} MB", limits::PATTERNS_BYTES >> 20),
        }
    }
}

/// Checks the limits that need no compiled pattern.
fn bounded_cost(schema: &Json) -> Result<SchemaCost, SchemaFault> {
    let cost = SchemaCost::new(schema);
    match cost.find_endless() {
        Some(endless) => Err(SchemaFault::Endless(endless)),
        None => Ok(cost),
    }
}

impl SchemaChecker {
    /// Compiles a schema of draft 2020-12 within the limits. May take a second, so an async task does this on a thread of
    /// its own.
    pub fn new(schema: &Json) -> Result<Self, SchemaFault> {
        Self::of_draft(schema, Draft::Draft202012)
    }

    /// Compiles a schema of others: by the draft that it states, and without what that does not allow.
    pub fn of_others(schema: &Json) -> Result<Self, SchemaFault> {
        let form = readable_form(schema)?;
        Self::of_draft(&form.schema, form.draft)
    }

    fn of_draft(schema: &Json, draft: Draft) -> Result<Self, SchemaFault> {
        let cost = bounded_cost(schema)?;
        if pattern_bytes([schema], limits::PATTERNS_BYTES) > limits::PATTERNS_BYTES {
            return Err(SchemaFault::Patterns);
        }
        let built = compile_schema(schema, Some(draft));
        let validator = built.map_err(|error| SchemaFault::Invalid(Box::new(error)))?;
        Ok(Self { validator, cost })
    }

    /// Whether a value matches. Also false if the check would take too long.
    pub fn accepts_value(&self, value: &Json) -> bool {
        self.cost.is_bearable(value) && self.validator.is_valid(value)
    }

    /// Checks a value.
    pub fn check_value<'v>(&'v self, value: &'v Json) -> Result<(), SchemaMismatch<'v>> {
        if !self.cost.is_bearable(value) {
            return Err(SchemaMismatch::TooMuchWork);
        }
        if self.validator.is_valid(value) {
            return Ok(());
        }
        Err(SchemaMismatch::Broken(self.validator.iter_errors(value).collect()))
    }
}

/// The cost of checking a value, in visits of a subschema to a part of the value. An upper bound, because a validator
/// stops early in some cases.
#[derive(Debug, Clone)]
pub struct SchemaCost {
    root: Json,
    /// The number of subschemas and of other things that a validator compares.
    size: u64,
    /// Whether it contains references.
    refers: bool,
    /// JSON pointers of the named subschemas.
    names: HashMap<String, String>,
}

/// Why a schema is too costly for any value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndlessSchema {
    /// The JSON pointer of the subschema that shows it.
    pub pointer: String,
    /// Whether it is circular; otherwise its references multiply.
    pub circular: bool,
}

/// Keywords whose value is a schema that applies to the same part of the value.
const SAME_ONE: [&str; 4] = ["not", "if", "then", "else"];
/// Lists of such schemas.
const SAME_MANY: [&str; 3] = ["allOf", "anyOf", "oneOf"];
/// References to such a schema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// The maximum depth of the walk. Deeper recursion would risk a stack overflow in a validator.
const DEEPEST: usize = 1000;
/// The number of names with which an unknown reference is compared.
const MOST_COMPARED: usize = 100;

impl SchemaCost {
    /// The cost of a schema, which is compiled elsewhere.
    pub fn new(schema: &Json) -> Self {
        let mut cost = Self { root: schema.clone(), size: 0, refers: false, names: HashMap::new() };
        let mut pointer = String::new();
        cost.survey(schema, &mut pointer);
        cost
    }

    fn survey(&mut self, json: &Json, pointer: &mut String) {
        self.size += 1;
        let length = pointer.len();
        match json {
            Json::Object(members) => {
                for (key, value) in members {
                    let name = value.as_str();
                    self.refers |= REFERENCES.contains(&key.as_str()) && name.is_some();
                    match (key.as_str(), name) {
                        ("$anchor" | "$dynamicAnchor", Some(name)) => {
                            self.names.insert(format!("#{name}"), pointer.clone());
                        }
                        ("$id" | "id", Some(name)) => {
                            self.names.insert(name.to_owned(), pointer.clone());
                        }
                        _ => {}
                    }
                    pointer.push('/');
                    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
                    self.survey(value, pointer);
                    pointer.truncate(length);
                }
            }
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    pointer.push_str(&format!("/{index}"));
                    self.survey(item, pointer);
                    pointer.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// The schema that a reference refers to. An unknown name counts as the whole schema, which costs the most.
    fn target(&self, reference: &str) -> &Json {
        let pointer = match reference.split_once('#') {
            Some(("", pointer)) if pointer.is_empty() || pointer.starts_with('/') => pointer.to_owned(),
            _ => match self.names.get(reference) {
                Some(pointer) => pointer.clone(),
                // Each unknown reference would be compared with each name.
                None if self.names.len() > MOST_COMPARED => String::new(),
                None => {
                    let (name, rest) = reference.split_once('#').unwrap_or((reference, ""));
                    let known = self.names.iter().find(|(id, _)| !name.is_empty() && id.ends_with(name));
                    known.map(|(_, base)| format!("{base}{rest}")).unwrap_or_default()
                }
            },
        };
        let decoded = if pointer.contains('%') { percent_decoded(&pointer) } else { pointer };
        self.root.pointer(&decoded).unwrap_or(&self.root)
    }

    /// Whether checking this value takes at most [`limits::SCHEMA_WORK`].
    pub fn is_bearable(&self, value: &Json) -> bool {
        // Without references, every subschema visits every part of the value at most once.
        let nodes = if self.refers { u64::MAX } else { limits::SCHEMA_WORK / self.size.max(1) };
        if fewer_nodes(value, nodes.min(limits::SCHEMA_WORK)) && !self.refers {
            return true;
        }
        let mut left = limits::SCHEMA_WORK;
        self.walk(&self.root, value, DEEPEST, &mut left).is_some()
    }

    fn walk(&self, schema: &Json, value: &Json, depth: usize, left: &mut u64) -> Option<()> {
        *left = left.checked_sub(1)?;
        let Json::Object(all) = schema else { return Some(()) };
        let depth = depth.checked_sub(1)?;
        // For unevaluated properties or items, the subschemas next to them are visited a second time.
        let looks =
            if all.contains_key("unevaluatedProperties") || all.contains_key("unevaluatedItems") { 2 } else { 1 };
        for (key, keyword) in all {
            let key = key.as_str();
            *left = left.checked_sub(1)?;
            for _ in 0..looks {
                for same in applied_here(key, keyword) {
                    self.walk(same, value, depth, left)?;
                }
                if let (true, Some(reference)) = (REFERENCES.contains(&key), keyword.as_str()) {
                    self.walk(self.target(reference), value, depth, left)?;
                }
            }
            match (key, value) {
                ("enum" | "required" | "type", _) => {
                    *left = left.checked_sub(keyword.as_array().map_or(1, |all| all.len() as u64))?;
                }
                ("properties", Json::Object(members)) => {
                    if let Some(schemas) = keyword.as_object() {
                        self.members(schemas, members, depth, left)?;
                    }
                }
                ("additionalProperties" | "unevaluatedProperties", Json::Object(members)) => {
                    for member in members.values() {
                        self.walk(keyword, member, depth, left)?;
                    }
                }
                ("patternProperties", Json::Object(members)) => {
                    if let Some(schemas) = keyword.as_object() {
                        for schema in schemas.values() {
                            for member in members.values() {
                                self.walk(schema, member, depth, left)?;
                            }
                        }
                    }
                }
                ("propertyNames", Json::Object(members)) => {
                    for _ in members {
                        self.walk(keyword, &Json::Null, depth, left)?;
                    }
                }
                ("items" | "additionalItems" | "unevaluatedItems" | "contains", Json::Array(items))
                    if !keyword.is_array() =>
                {
                    for item in items {
                        self.walk(keyword, item, depth, left)?;
                    }
                }
                ("items" | "prefixItems", Json::Array(items)) => {
                    for (schema, item) in keyword.as_array().into_iter().flatten().zip(items) {
                        self.walk(schema, item, depth, left)?;
                    }
                }
                ("uniqueItems", Json::Array(items)) => *left = left.checked_sub(8 * items.len() as u64)?,
                _ => {}
            }
        }
        Some(())
    }

    fn members(
        &self,
        schemas: &Map<String, Json>,
        members: &Map<String, Json>,
        depth: usize,
        left: &mut u64,
    ) -> Option<()> {
        if schemas.len() <= members.len() {
            for (name, schema) in schemas {
                if let Some(member) = members.get(name) {
                    self.walk(schema, member, depth, left)?;
                }
            }
        } else {
            for (name, member) in members {
                if let Some(schema) = schemas.get(name) {
                    self.walk(schema, member, depth, left)?;
                }
            }
        }
        Some(())
    }

    /// Whether the schema is too costly for any value, and where that shows; `None`: it is not.
    pub fn find_endless(&self) -> Option<EndlessSchema> {
        if !self.refers {
            return None;
        }
        let mut seen = HashMap::new();
        let mut found = None;
        self.weigh_all(&self.root, &mut String::new(), &mut seen, &mut found);
        found
    }

    /// Computes the cost of every subschema.
    fn weigh_all(&self, json: &Json, pointer: &mut String, seen: &mut SeenSchemas, found: &mut Option<EndlessSchema>) {
        if found.is_some() {
            return;
        }
        let length = pointer.len();
        let children: Vec<(String, &Json)> = match json {
            Json::Object(members) => {
                if let Err(circular) = self.weigh(json, seen, 0) {
                    *found = Some(EndlessSchema { pointer: pointer.clone(), circular });
                    return;
                }
                members.iter().map(|(k, v)| (k.replace('~', "~0").replace('/', "~1"), v)).collect()
            }
            Json::Array(items) => items.iter().enumerate().map(|(i, v)| (i.to_string(), v)).collect(),
            _ => return,
        };
        for (key, child) in children {
            pointer.push('/');
            pointer.push_str(&key);
            self.weigh_all(child, pointer, seen, found);
            pointer.truncate(length);
        }
    }

    /// The number of visits that a subschema makes to one part of the value. `Err`: unbounded (`true`: it is circular).
    fn weigh(&self, schema: &Json, seen: &mut SeenSchemas, depth: usize) -> Result<u64, bool> {
        let Json::Object(all) = schema else { return Ok(1) };
        let here = std::ptr::from_ref(schema) as usize;
        match seen.get(&here) {
            Some(Some(weight)) => return Ok(*weight),
            Some(None) => return Err(true),
            None => {}
        }
        if depth > DEEPEST {
            return Err(false);
        }
        seen.insert(here, None);
        let mut weight = 1u64;
        for (key, keyword) in all {
            for same in applied_here(key, keyword) {
                weight = weight.saturating_add(self.weigh(same, seen, depth + 1)?);
            }
            if let (true, Some(reference)) = (REFERENCES.contains(&key.as_str()), keyword.as_str()) {
                weight = weight.saturating_add(self.weigh(self.target(reference), seen, depth + 1)?);
            }
        }
        if weight > limits::SCHEMA_WORK {
            return Err(false);
        }
        seen.insert(here, Some(weight));
        Ok(weight)
    }
}

/// The cost of each subschema by its address; `None`: being computed.
type SeenSchemas = HashMap<usize, Option<u64>>;

/// The subschemas of a keyword that apply to the same part of the value.
fn applied_here<'s>(key: &str, keyword: &'s Json) -> Vec<&'s Json> {
    let mut applied = Vec::new();
    if SAME_ONE.contains(&key) {
        applied.push(keyword);
    }
    match keyword {
        Json::Array(schemas) if SAME_MANY.contains(&key) => applied.extend(schemas),
        Json::Object(schemas) if matches!(key, "dependentSchemas" | "dependencies") => applied.extend(schemas.values()),
        _ => {}
    }
    applied
}

/// Whether a value has fewer parts than `most`.
fn fewer_nodes(value: &Json, most: u64) -> bool {
    fn count(value: &Json, left: &mut u64) -> Option<()> {
        *left = left.checked_sub(1)?;
        match value {
            Json::Array(items) => items.iter().try_for_each(|item| count(item, left)),
            Json::Object(members) => members.values().try_for_each(|member| count(member, left)),
            _ => Some(()),
        }
    }
    let mut left = most;
    count(value, &mut left).is_some()
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|h| u8::from_str_radix(std::str::from_utf8(h).ok()?, 16).ok());
        match hex {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `levels` definitions, each of which applies the next one twice.
    fn doubling(levels: usize) -> Json {
        let mut defs = Map::new();
        for n in 0..levels {
            let next = json!({"$ref": format!("#/$defs/d{}", n + 1)});
            defs.insert(format!("d{n}"), json!({"allOf": [next.clone(), next]}));
        }
        defs.insert(format!("d{levels}"), json!({"type": "string"}));
        json!({"$ref": "#/$defs/d0", "$defs": defs})
    }

    #[test]
    fn references_that_double_at_every_step_are_refused() {
        assert_eq!(SchemaCost::new(&doubling(10)).find_endless(), None);
        let endless = SchemaCost::new(&doubling(40)).find_endless().unwrap();
        assert!(!endless.circular, "{endless:?}");
        assert!(matches!(SchemaChecker::new(&doubling(40)), Err(SchemaFault::Endless(_))));
        assert!(readable_form(&doubling(40)).is_err() && readable_form(&doubling(10)).is_ok());
    }

    #[test]
    fn a_schema_that_comes_back_to_itself_at_the_same_place_is_refused() {
        for circular in [
            json!({"$ref": "#"}),
            json!({"anyOf": [{"type": "null"}, {"$ref": "#"}]}),
            json!({"properties": {"x": {"$ref": "#/$defs/a"}}, "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"not": {"$ref": "#/$defs/a"}}}}),
            json!({"$dynamicAnchor": "a", "allOf": [{"$dynamicRef": "#a"}]}),
        ] {
            assert!(SchemaCost::new(&circular).find_endless().is_some_and(|e| e.circular), "{circular}");
        }
    }

    #[test]
    fn a_tree_is_no_trouble_and_a_tree_that_is_checked_twice_at_every_level_is() {
        let tree = json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}});
        let twice =
            json!({"allOf": [{"properties": {"left": {"$ref": "#"}}}, {"properties": {"left": {"$ref": "#"}}}]});
        let deep = (0..60).fold(json!({}), |inner, _| json!({"left": inner}));
        assert_eq!((SchemaCost::new(&tree).find_endless(), SchemaCost::new(&twice).find_endless()), (None, None));
        assert!(SchemaCost::new(&tree).is_bearable(&deep));
        assert!(!SchemaCost::new(&twice).is_bearable(&deep));
    }

    #[test]
    fn a_long_list_of_small_things_is_bearable() {
        let schema =
            json!({"type": "array", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "integer", "minimum": 0}}});
        let list = Json::from((0..1_000_000).collect::<Vec<u32>>());
        assert!(SchemaChecker::new(&schema).unwrap().accepts_value(&list));
    }

    #[test]
    fn patterns_are_refused_before_they_take_the_memory() {
        let many = |n: usize| {
            let all = (0..n).map(|i| (format!("x{i}"), json!({"pattern": format!("[a-z{i}]{{1,400}}é\\w{{200}}")})));
            json!({"properties": all.collect::<Map<_, _>>()})
        };
        assert!(SchemaChecker::new(&many(2)).is_ok());
        let refused = SchemaChecker::new(&many(200)).unwrap_err();
        assert_eq!(refused.to_string(), "its patterns need more than 32 MB");
        assert!(readable_form(&many(200)).is_ok(), "nothing of it is compiled there");
    }

    #[test]
    fn many_names_and_unknown_references_are_no_trouble() {
        let all =
            (0..20_000).map(|i| (format!("x{i}"), json!({"$id": format!("https://a/{i}"), "$ref": format!("no{i}")})));
        let cost = SchemaCost::new(&json!({"properties": all.collect::<Map<_, _>>()}));
        assert_eq!(cost.names.len(), 20_000);
        cost.find_endless();
    }

    #[test]
    fn patterns_take_linear_time() {
        assert!(SchemaChecker::new(&json!({"pattern": "^a(?=b)"})).is_err(), "look-around");
        let checker = SchemaChecker::new(&json!({"pattern": "^(?!a)[ab]+$"})).unwrap();
        assert!(checker.accepts_value(&Json::from("ba")) && !checker.accepts_value(&Json::from("ab")));
        assert!(SchemaChecker::new(&json!({"pattern": r"(a)\1"})).is_err(), "a backreference");
        let checker = SchemaChecker::new(&json!({"pattern": "^(a+)+$"})).unwrap();
        assert!(!checker.accepts_value(&Json::from(format!("{}b", "a".repeat(100_000)))));
    }
}
