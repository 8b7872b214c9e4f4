//! The input of a workflow: the available `inputs.*`, and which of them a run must pass.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{FlowInputField, Intake, SlotId};
use trefoil_syntax::Location;
use trefoil_template::{Value, ValueNumber, ValueObject};

use super::callee::CalleeInputs;
use crate::sirenspec::manifest::{DeclaredInputField, SirenManifest};

/// The input of a workflow.
pub struct SirenInputs {
    /// The slot of the whole input.
    pub slot: SlotId,
    /// Its fields.
    pub fields: Vec<WorkflowInputField>,
}

/// A field of the input.
pub struct WorkflowInputField {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub schema: ValueType,
    /// Its name in `input:`.
    pub declared: Option<Location>,
    origin: InputOrigin,
    /// The type of a default that a caller can override.
    usual: Option<ValueType>,
}

/// The origin of a field.
enum InputOrigin {
    /// `input:` of the file, with its default.
    Declared(Location, Option<Value>),
    /// Passed by the workflow node that calls this file; overrides the declarations.
    Given,
    /// Passed by a workflow node of another file of the project, but here the file is run directly.
    Offered,
}

/// Which fields a workflow reads.
#[derive(Debug, Default)]
pub struct InputReads {
    fields: BTreeMap<Arc<str>, InputRead>,
    /// The fields read without a default that are neither declared nor passed.
    lacking: Vec<Arc<str>>,
}

#[derive(Debug, Clone, Copy)]
struct InputRead {
    at: Location,
    /// Whether it is read without a default.
    needed: bool,
}

impl SirenInputs {
    /// The input fields of a manifest: `given` by its caller, or, without one, `offered` by other files.
    pub fn new(
        manifest: &SirenManifest<'_>,
        at: impl Fn(trefoil_syntax::Span) -> Location,
        slot: SlotId,
        given: &[Arc<str>],
        offered: &[Arc<str>],
    ) -> Self {
        let mut fields = Vec::with_capacity(manifest.input.len() + 1);
        for DeclaredInputField { name, default, .. } in &manifest.input {
            fields.push(WorkflowInputField {
                name: name.value.clone(),
                schema: match default {
                    Some(default) => ValueType::from_schema(&schema_of(default)),
                    None if &*name.value == "message" => ValueType::TEXT,
                    None => ValueType::Any,
                },
                origin: InputOrigin::Declared(at(name.span), default.clone()),
                declared: Some(at(name.content_span())),
                usual: None,
            });
        }
        let other = |name: &Arc<str>, origin| WorkflowInputField {
            name: name.clone(),
            schema: ValueType::Any,
            origin,
            declared: None,
            usual: None,
        };
        if !fields.iter().any(|f| &*f.name == "message") {
            let origin = InputOrigin::Declared(at(manifest.first_node_span()), None);
            let message = other(&"message".into(), origin);
            fields.insert(0, WorkflowInputField { schema: ValueType::TEXT, ..message });
        }
        for name in given {
            match fields.iter_mut().find(|f| f.name == *name) {
                Some(field) => {
                    field.schema = ValueType::Any;
                    if let InputOrigin::Declared(_, Some(default)) = &field.origin {
                        field.usual = Some(ValueType::from_schema(&schema_of(default)));
                    }
                    field.origin = InputOrigin::Given;
                }
                None => fields.push(other(name, InputOrigin::Given)),
            }
        }
        for name in offered {
            if !fields.iter().any(|f| f.name == *name) {
                fields.push(other(name, InputOrigin::Offered));
            }
        }
        Self { slot, fields }
    }

    /// The field with this name.
    pub fn find_field(&self, name: &str) -> Option<&WorkflowInputField> {
        self.fields.iter().find(|f| &*f.name == name)
    }

    /// All field names.
    pub fn field_names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|f| &*f.name)
    }

    /// What callers need to know.
    pub fn callee_inputs(&self, reads: &InputReads) -> CalleeInputs {
        let mut wanted = CalleeInputs { lacking: reads.lacking.clone(), ..CalleeInputs::default() };
        for field in &self.fields {
            if let Some(at) = field.declared {
                wanted.places.push((field.name.clone(), at));
            }
            let read = reads.fields.get(&field.name);
            let declared = matches!(field.origin, InputOrigin::Declared(..)) && &*field.name != "message";
            if read.is_some() || declared {
                wanted.known.push(field.name.clone());
            }
            let open = matches!(field.origin, InputOrigin::Declared(_, None));
            let is_needed = matches!(read, Some(read) if read.needed);
            if open && (is_needed || declared) {
                wanted.needed.push(field.name.clone());
            }
        }
        wanted
    }

    /// How a call's input is processed; `entry`: a run can start here.
    pub fn build_intake(&self, reads: &InputReads, entry: bool) -> Intake {
        let others = self.fields.iter().any(|f| &*f.name != "message");
        let fields = self.fields.iter().map(|field| self.taken(field, reads, others || !entry)).collect();
        Intake { wrap: Some("message".into()), fields, closed: true, ..Intake::for_any_input(self.slot) }
    }

    fn taken(&self, field: &WorkflowInputField, reads: &InputReads, lenient: bool) -> FlowInputField {
        let read = reads.fields.get(&field.name).copied();
        let needed = matches!(read, Some(read) if read.needed);
        let message = &*field.name == "message";
        // If it is optional, an empty text triggers the `default(...)` of the reader.
        let unneeded = || Some(Value::from(""));
        let (origin, default) = match &field.origin {
            InputOrigin::Declared(at, Some(default)) => (*at, Some(default.clone())),
            InputOrigin::Declared(at, None) if message && !needed && lenient => (*at, unneeded()),
            InputOrigin::Declared(at, None) => (*at, None),
            InputOrigin::Given => (self.read_location(read), None),
            InputOrigin::Offered if needed => (self.read_location(read), None),
            InputOrigin::Offered => (self.undeclared_location(), unneeded()),
        };
        let schema = match &field.origin {
            InputOrigin::Declared(_, Some(default)) if !message => schema_of(default),
            InputOrigin::Declared(..) if message => schema_of(&Value::from("")),
            _ => Value::Object(Arc::new(ValueObject::default())),
        };
        let nullable = matches!(field.origin, InputOrigin::Given);
        let usual = match (&field.usual, field.declared) {
            (Some(usual), Some(declared)) => Some((usual.clone(), declared)),
            _ => None,
        };
        FlowInputField { name: field.name.clone(), schema, default, usual, nullable, optional: false, origin }
    }

    fn read_location(&self, read: Option<InputRead>) -> Location {
        match read {
            Some(read) => read.at,
            None => self.undeclared_location(),
        }
    }

    /// A place in the file for fields that it does not mention.
    fn undeclared_location(&self) -> Location {
        for field in &self.fields {
            if let InputOrigin::Declared(at, _) = field.origin {
                return at;
            }
        }
        Location::new(trefoil_syntax::FileId(0), Default::default())
    }
}

impl WorkflowInputField {
    /// The default value, if a run starts here.
    pub fn default_value(&self) -> Option<&Value> {
        match &self.origin {
            InputOrigin::Declared(_, default) => default.as_ref(),
            InputOrigin::Given | InputOrigin::Offered => None,
        }
    }

    /// A one-line description.
    pub fn field_note(&self) -> Arc<str> {
        match &self.origin {
            InputOrigin::Declared(_, Some(default)) => {
                format!("an input with the default `{}`", default.to_text()).into()
            }
            InputOrigin::Declared(..) if &*self.name == "message" => "the message that starts the run".into(),
            InputOrigin::Declared(..) => "an input".into(),
            InputOrigin::Given | InputOrigin::Offered => "passed by the calling workflow".into(),
        }
    }
}

impl InputReads {
    /// Records that an unknown field is read.
    pub fn note_missing(&mut self, name: &Arc<str>) {
        if !self.lacking.contains(name) {
            self.lacking.push(name.clone());
        }
    }

    /// Records that a field is read at this place; `needed`: a value must be passed.
    pub fn note_field(&mut self, name: &str, at: Location, needed: bool) {
        self.fields.entry(name.into()).or_insert(InputRead { at, needed }).needed |= needed;
    }
}

/// The schema that a default value stands for.
fn schema_of(default: &Value) -> Value {
    let kind = match default {
        Value::Bool(_) => "boolean",
        Value::Number(ValueNumber::Float(_)) => "number",
        Value::Number(_) => "integer",
        Value::List(_) => "array",
        Value::Object(_) => "object",
        Value::Str(_) | Value::Masked(_) => "string",
        Value::Null => return Value::Object(Arc::new(ValueObject::default())),
    };
    Value::from_iter([("type", kind)])
}
