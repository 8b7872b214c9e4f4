//! Run inputs as typed by users: text, and `key=value` pairs that are converted to the types in the schema.

use std::collections::BTreeSet;
use std::sync::Arc;

use trefoil_ir::walk::{self, EvaluatedPart};
use trefoil_ir::{FlowDefinition, FlowInputField, Intake, Program, SlotId, Source, ValueExpression};
use trefoil_syntax::{Diagnostic, FindingSeverity, Location, suggestions};
use trefoil_template::{Reference, Value, ValueObject, json_text, read_own_json};

/// The rule for an input that the entry flow does not accept.
pub const INPUT_INVALID: &str = "input-invalid";

/// Why an input is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    /// One line.
    pub message: String,
    /// Advice.
    pub help: Option<String>,
    /// The place of the input's declaration.
    pub location: Option<Location>,
}

impl InputError {
    /// A message without advice or place.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, location: None }
    }
    /// The error as a finding.
    pub fn to_diagnostic(&self) -> Diagnostic {
        let message = self.message.clone();
        let d = match self.location {
            Some(at) => Diagnostic::new_error(INPUT_INVALID, at, message),
            None => Diagnostic::without_location(INPUT_INVALID, FindingSeverity::Error, None, message),
        };
        match &self.help {
            Some(help) => d.with_help(help.clone()),
            None => d,
        }
    }
    /// Adds advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
    fn with_location(mut self, location: Location) -> Self {
        self.location.get_or_insert(location);
        self
    }
}

/// Splits `key=value`, if the text starts with a letter or `_`, followed by letters, digits, `_`, `.`, `-` and `=`.
pub fn split_pair(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once('=')?;
    let mut chars = key.chars();
    let first = chars.next()?;
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-');
    let is_name = (first.is_ascii_alphabetic() || first == '_') && chars.all(is_of_name);
    if is_name { Some((key, value)) } else { None }
}

/// The input of a run from typed texts and pairs, which are merged into an object if there is one (`--input-json`).
pub fn parse_typed_input(
    program: &Program,
    given: &[String],
    base: Option<Value>,
) -> Result<Option<Value>, InputError> {
    let flow = program.entry_flow();
    let mut read = None;
    if takes_text(flow) {
        read = Some(members(program, flow, &|slot| slot == flow.intake.slot, false));
    }
    take(flow, read.as_ref(), given, base).map_err(|error| error.with_location(flow.origin))
}

/// Whether a flow without declared input accepts plain text (agntz `userQuery`).
fn takes_text(flow: &FlowDefinition) -> bool {
    let intake = &flow.intake;
    let query = matches!(&intake.raw, Some((_, Some(_))));
    query && intake.fields.is_empty() && intake.wrap.is_none() && intake.schema.is_none()
}

/// The members that a flow reads of these slots: in texts and conditions, and, if `direct`, also as values.
fn members(
    program: &Program,
    flow: &FlowDefinition,
    is_it: &dyn Fn(SlotId) -> bool,
    direct: bool,
) -> BTreeSet<Arc<str>> {
    let (mut found, mut values) = (BTreeSet::new(), BTreeSet::new());
    let mut note = |sources: &[Source], references: &[Reference]| {
        for reference in references {
            let source = sources.get(reference.binding.source as usize);
            if matches!(source, Some(Source::Slot(slot)) if is_it(*slot))
                && let Some(member) = reference.path.get(reference.binding.skip as usize)
            {
                found.insert(member.name.clone());
            }
        }
    };
    for evaluated in evaluated_parts(program, flow) {
        each_text(evaluated, &mut note);
        evaluated.visit_sources(&mut |source| {
            if let Source::Member(slot, path) = source
                && is_it(*slot)
            {
                values.extend(path.first().cloned());
            }
        });
    }
    if direct {
        found.extend(values);
    }
    found
}

/// What a flow reads of an input that it does not declare.
#[derive(Debug, Default)]
pub struct UndeclaredReads {
    /// The members.
    pub members: BTreeSet<Arc<str>>,
    /// Whether it reads the input as a whole.
    pub whole: bool,
}

/// What the entry flow of a program reads of its input.
pub fn find_undeclared_reads(program: &Program) -> UndeclaredReads {
    let flow = program.entry_flow();
    let raw = raw_slot(flow);
    let members = members(program, flow, &|slot| slot == flow.intake.slot || Some(slot) == raw, true);
    // If the unprocessed input is kept, that is what is read as a whole.
    UndeclaredReads { members, whole: reads_slot(program, flow, &|slot| slot == raw.unwrap_or(flow.intake.slot)) }
}

/// The slot of the unprocessed input, if it is kept.
fn raw_slot(flow: &FlowDefinition) -> Option<SlotId> {
    let (slot, _) = flow.intake.raw.as_ref()?;
    Some(*slot)
}

/// Visits the references of every text and condition in something that is evaluated.
fn each_text(evaluated: EvaluatedPart<'_>, visit: &mut dyn FnMut(&[Source], &[Reference])) {
    match evaluated {
        EvaluatedPart::Expr(expr) => {
            walk::visit_templates(expr, &mut |text| visit(&text.sources, text.template.references()));
        }
        EvaluatedPart::Text(text) => visit(&text.sources, text.template.references()),
        EvaluatedPart::Cond(cond) => visit(&cond.sources, cond.condition.references()),
        EvaluatedPart::Source(_) => {}
    }
}

/// Everything that the entry flow itself evaluates.
fn evaluated_parts<'p>(program: &'p Program, flow: &'p FlowDefinition) -> Vec<EvaluatedPart<'p>> {
    let mut parts = Vec::new();
    for (owner, step) in walk::reachable_steps(program, program.entry) {
        if owner == program.entry {
            parts.extend(walk::evaluated_by_step(&program.steps[step]));
        }
    }
    parts.extend(walk::evaluated_by_flow(flow));
    parts
}

fn take(
    flow: &FlowDefinition,
    read: Option<&BTreeSet<Arc<str>>>,
    given: &[String],
    base: Option<Value>,
) -> Result<Option<Value>, InputError> {
    let Intake { fields, wrap, .. } = &flow.intake;
    let mut texts = Vec::new();
    let mut pairs = ValueObject::default();
    for typed in given {
        let Some((key, text)) = split_pair(typed) else {
            texts.push(typed.as_str());
            continue;
        };
        let value = match fields.iter().find(|field| &*field.name == key) {
            Some(field) => by_schema(field, text).map_err(|error| error.with_location(field.origin))?,
            None => {
                check_undeclared(&flow.intake, read, typed, key)?;
                Value::from(text)
            }
        };
        if pairs.insert(key.into(), value).is_some() {
            return Err(InputError::new(format!("the input `{key}` is set twice")));
        }
    }
    let text = match texts.as_slice() {
        [] => None,
        [text] => Some(*text),
        _ => {
            return Err(InputError::new("the input text was passed more than once")
                .with_help("pass one text, and other inputs as `--input key=value`"));
        }
    };
    if pairs.is_empty() && base.is_none() {
        return match text {
            Some(text) if wrap.is_none() && !fields.is_empty() => Err(wants_pairs(text, fields)),
            text => Ok(text.map(Value::from)),
        };
    }
    let mut all = match base {
        Some(Value::Object(object)) => (*object).clone(),
        None => ValueObject::default(),
        Some(_) if pairs.is_empty() && text.is_none() => return Ok(base),
        Some(other) => {
            return Err(InputError::new(format!(
                "`--input` can only be added to an object, but the JSON input is {}",
                other.kind_description()
            )));
        }
    };
    all.extend(pairs);
    match (text, wrap) {
        (None, _) => {}
        (Some(text), Some(key)) => {
            if all.insert(key.clone(), Value::from(text)).is_some() {
                return Err(InputError::new(format!("the input `{key}` is set twice")));
            }
        }
        (Some(text), None) => return Err(wants_pairs(text, fields)),
    }
    Ok(Some(Value::from(all)))
}

/// Checks that a flow accepts an input that it does not declare.
fn check_undeclared(
    intake: &Intake,
    read: Option<&BTreeSet<Arc<str>>>,
    pair: &str,
    key: &str,
) -> Result<(), InputError> {
    if intake.tolerated.contains(&key) {
        return Ok(());
    }
    if let Some(read) = read
        && !read.contains(key)
    {
        return Err(no_pairs(pair, key, read));
    }
    if intake.closed {
        return Err(unknown_input_error(key, &intake.fields));
    }
    match suggestions::nearest_name(key, intake.fields.iter().map(|field| &*field.name)) {
        // The schema allows it, but it is most likely a mistake.
        Some(near) => Err(InputError::new(format!("unknown input `{key}`"))
            .with_help(format!("did you mean `{near}`? `--input-json` accepts any property"))),
        None => Ok(()),
    }
}

fn wants_pairs(text: &str, fields: &[FlowInputField]) -> InputError {
    let short = trefoil_view::short_text(text);
    let names: Vec<String> = fields.iter().map(|f| format!("`{}`", f.name)).collect();
    let error = InputError::new(format!("the input must be an object, but `{short}` is plain text"));
    match fields.first() {
        Some(first) => error.with_help(format!(
            "write `--input {}=…`; the inputs are {}",
            fields.iter().find(|f| f.default.is_none()).unwrap_or(first).name,
            names.join(", ")
        )),
        None => error.with_help("write `--input key=value`"),
    }
}

/// The error for a pair if the flow accepts plain text and reads no such name.
fn no_pairs(pair: &str, key: &str, read: &BTreeSet<Arc<str>>) -> InputError {
    let near = suggestions::nearest_name(key, read.iter().map(|name| &**name));
    let quoted = Value::from(pair).to_json().to_string();
    InputError::new(format!("the input is plain text, and nothing reads an input `{key}`")).with_help(match near {
        Some(near) => format!("did you mean `{near}`?"),
        None => {
            format!("if `{pair}` is the text, write `--input-json '{quoted}'`; declare named inputs in `inputSchema`")
        }
    })
}

fn unknown_input_error(key: &str, fields: &[FlowInputField]) -> InputError {
    let error = InputError::new(format!("unknown input `{key}`"));
    let names: Vec<&str> = fields.iter().map(|f| &*f.name).collect();
    match suggestions::nearest_name(key, names.iter().copied()) {
        Some(near) => error.with_help(format!("did you mean `{near}`?")),
        None if names.is_empty() => error.with_help("there are no named inputs"),
        None => error.with_help(format!("available: `{}`", names.join("`, `"))),
    }
}

fn by_schema(field: &FlowInputField, text: &str) -> Result<Value, InputError> {
    parse_by_schema(&field.name, &field.schema.to_json(), text)
}

/// Converts a typed text to the type in the schema of the property with this name. If several types match, text is the last choice.
///
/// # Errors
///
/// The text has none of these types.
pub fn parse_by_schema(name: &str, schema: &serde_json::Value, text: &str) -> Result<Value, InputError> {
    let types: Vec<&str> = match schema.get("type") {
        Some(serde_json::Value::String(one)) => vec![one],
        Some(serde_json::Value::Array(all)) => all.iter().filter_map(|t| t.as_str()).collect(),
        _ => Vec::new(),
    };
    if let Some(serde_json::Value::Array(choices)) = schema.get("enum") {
        let found = choices.iter().find(|choice| json_word(choice) == text);
        return match found {
            Some(choice) => Ok(Value::from_json(choice.clone())),
            None => {
                let all: Vec<String> = choices.iter().map(json_word).collect();
                let error = InputError::new(format!("the input `{name}` cannot be `{text}`"));
                Err(match suggestions::nearest_name(text, all.iter().map(String::as_str)) {
                    Some(near) => error.with_help(format!("did you mean `{near}`?")),
                    None => error.with_help(format!("it must be one of `{}`", all.join("`, `"))),
                })
            }
        };
    }
    if types.is_empty() || types == ["string"] {
        return Ok(Value::from(text));
    }
    let json: Option<serde_json::Value> = read_own_json(json_text(text)).ok();
    let fits = |json: &serde_json::Value| {
        types.iter().any(|t| match *t {
            // A word typed for a text property means the word.
            "null" => json.is_null() && !types.contains(&"string"),
            "boolean" => json.is_boolean(),
            "integer" => {
                json.is_i64() || json.is_u64() || matches!(json.as_f64(), Some(number) if number.fract() == 0.0)
            }
            "number" => json.is_number(),
            "array" => json.is_array(),
            "object" => json.is_object(),
            _ => false,
        })
    };
    match json {
        Some(json) if fits(&json) => Ok(Value::from_json(json)),
        _ if types.contains(&"string") => Ok(Value::from(text)),
        _ => {
            let wanted = types.join(" or ");
            let error = InputError::new(format!("the input `{name}` must be of type {wanted}, but `{text}` is not"));
            Err(match types.first() {
                Some(&"boolean") => error.with_help("write `true` or `false`"),
                Some(&"array") => error.with_help(format!("write JSON: `--input '{name}=[\"a\", \"b\"]'`")),
                Some(&"object") => error.with_help(format!("write JSON: `--input '{name}={{\"key\": 1}}'`")),
                _ => error,
            })
        }
    }
}

/// A value as a person types it: a text without quotes, anything else as JSON.
fn json_word(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// An input that a program expects and that was not passed.
#[derive(Debug, Clone)]
pub struct MissingInput {
    /// Its name.
    pub name: String,
    /// Its type, in words.
    pub kind: String,
    /// Its description in the manifest.
    pub description: Option<String>,
    /// The allowed values, if they are listed.
    pub choices: Vec<String>,
    /// Whether it is the whole input, a text without a name.
    whole: bool,
    field: FlowInputField,
}

impl MissingInput {
    /// Whether it is the whole input, a text without a name.
    pub fn is_whole(&self) -> bool {
        self.whole
    }
    /// The option to pass it.
    pub fn option_text(&self) -> String {
        if self.whole { "--input TEXT".to_owned() } else { format!("--input {}=...", self.name) }
    }
    /// Adds it to the input.
    pub fn add_to_input(&self, given: &mut Option<Value>, value: Value) {
        if self.whole {
            *given = Some(value);
        } else {
            put(given, &self.name, value);
        }
    }
    /// Converts typed text to the type of the input.
    pub fn value(&self, typed: &str) -> Result<Value, InputError> {
        by_schema(&self.field, typed)
    }
    /// Whether it may be empty.
    pub fn may_be_empty(&self) -> bool {
        self.field.nullable
    }
    /// The place of its declaration.
    pub fn declaration_location(&self) -> Location {
        self.field.origin
    }
}

/// The declared inputs of a program that are missing in an input.
pub fn find_missing_inputs(program: &Program, given: Option<&Value>) -> Vec<MissingInput> {
    let flow = program.entry_flow();
    // A text is wrapped as the one input.
    let text = match given {
        Some(Value::Object(_)) | None => None,
        // If an object is expected and the input is not one, listing missing members does not help.
        Some(_) if flow.intake.wrap.is_none() => return Vec::new(),
        Some(_) => Some(flow.intake.wrap.clone()),
    };
    let has = |name: &str| match (&text, given) {
        (Some(wrap), _) => wrap.as_deref() == Some(name),
        (None, Some(Value::Object(members))) => members.contains_key(name),
        (None, _) => false,
    };
    let intake = &flow.intake;
    let mut missing = Vec::new();
    for field in &intake.fields {
        if field.default.is_none() && !field.optional && !has(&field.name) {
            missing.push(describe_missing_input(field));
        }
    }
    // An undeclared text is missing if it is read.
    if let Some(key) = &intake.wrap
        && !intake.fields.iter().any(|field| field.name == *key)
        && !has(key)
        && members(program, flow, &|slot| slot == intake.slot, true).contains(key)
    {
        missing.push(undeclared_text(flow, key));
    }
    let plain = intake.fields.is_empty() && intake.wrap.is_none() && intake.schema.is_none() && !intake.closed;
    if plain && given.is_none() && reads_all(program, flow) {
        missing.push(MissingInput { whole: true, ..undeclared_text(flow, &Arc::from("input")) });
    }
    missing
}

/// Whether a flow reads its input as a whole.
fn reads_all(program: &Program, flow: &FlowDefinition) -> bool {
    let raw = raw_slot(flow);
    reads_slot(program, flow, &|slot| slot == flow.intake.slot || Some(slot) == raw)
}

/// Whether a flow reads one of these slots as a whole.
fn reads_slot(program: &Program, flow: &FlowDefinition, is_it: &dyn Fn(SlotId) -> bool) -> bool {
    let is_slot = |source: &Source| matches!(source, Source::Slot(slot) if is_it(*slot));
    let mut found = false;
    for evaluated in evaluated_parts(program, flow) {
        let mut whole = |sources: &[Source], references: &[Reference]| {
            found |= references.iter().any(|reference| {
                let source = sources.get(reference.binding.source as usize);
                matches!(source, Some(source) if is_slot(source))
                    && reference.path.len() == reference.binding.skip as usize
            });
        };
        match evaluated {
            EvaluatedPart::Expr(expr) => {
                walk::visit_templates(expr, &mut |text| whole(&text.sources, text.template.references()));
                walk::visit_expressions(expr, &mut |e| {
                    found |= matches!(e, ValueExpression::Read(source) if is_slot(source))
                });
            }
            EvaluatedPart::Text(text) => whole(&text.sources, text.template.references()),
            EvaluatedPart::Cond(cond) => whole(&cond.sources, cond.condition.references()),
            EvaluatedPart::Source(source) => found |= is_slot(source),
        }
    }
    found
}

/// The undeclared text input of a flow.
fn undeclared_text(flow: &FlowDefinition, key: &Arc<str>) -> MissingInput {
    let schema: Value = [(Arc::from("type"), Value::from("string"))].into_iter().collect();
    let (default, usual, origin) = (None, None, flow.origin);
    describe_missing_input(&FlowInputField {
        name: key.clone(),
        schema,
        default,
        usual,
        nullable: true,
        optional: false,
        origin,
    })
}

fn describe_missing_input(field: &FlowInputField) -> MissingInput {
    let schema = field.schema.to_json();
    let kind = match schema.get("type") {
        Some(serde_json::Value::Array(types)) => {
            let mut types: Vec<String> = types.iter().map(json_word).collect();
            types.retain(|name| name != "null");
            types.join(" or ")
        }
        Some(name) => json_word(name),
        None => "string".to_owned(),
    };
    let mut choices = Vec::new();
    if let Some(serde_json::Value::Array(values)) = schema.get("enum") {
        for value in values {
            if !value.is_null() {
                choices.push(json_word(value));
            }
        }
    }
    let description = match schema.get("description") {
        Some(serde_json::Value::String(text)) => Some(text.clone()),
        _ => None,
    };
    MissingInput { name: field.name.to_string(), kind, description, choices, whole: false, field: field.clone() }
}

fn put(given: &mut Option<Value>, name: &str, value: Value) {
    let mut members = match given.take() {
        Some(Value::Object(members)) => (*members).clone(),
        _ => ValueObject::default(),
    };
    members.insert(name.into(), value);
    *given = Some(Value::from(members));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_begin_like_names() {
        assert_eq!(split_pair("topic=tide tables"), Some(("topic", "tide tables")));
        assert_eq!(split_pair("a.b-c_9=x=y"), Some(("a.b-c_9", "x=y")));
        assert_eq!(split_pair("_x="), Some(("_x", "")));
        for text in ["is 1 = 1?", "9=a", "=a", "a b=c", "-a=b", "text"] {
            assert_eq!(split_pair(text), None, "{text}");
        }
    }
}
