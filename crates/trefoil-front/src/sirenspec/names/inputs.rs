//! The input of a workflow: the available `inputs.*`, and which of them a run must pass.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_ir::{InputField, Intake, SlotId};
use trefoil_syntax::Location;
use trefoil_template::{Number, Object, Value};

use super::child::Wanted;
use crate::sirenspec::manifest::Manifest;

/// The input of a workflow.
pub struct Inputs {
    /// The slot of the whole input.
    pub slot: SlotId,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// A field of the input.
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub schema: Type,
    /// Its name in `input:`.
    pub declared: Option<Location>,
    origin: Origin,
    /// The type of a default that a caller can override.
    usual: Option<Type>,
}

/// The origin of a field.
enum Origin {
    /// `input:` of the file, with its default.
    Declared(Location, Option<Value>),
    /// Passed by the workflow node that calls this file; overrides the declarations.
    Given,
    /// Passed by a workflow node of another file of the project, but here the file is run directly.
    Offered,
}

/// Which fields a workflow reads.
#[derive(Debug, Default)]
pub struct Reads {
    fields: BTreeMap<Arc<str>, ReadOf>,
    /// The fields read without a default that are neither declared nor passed.
    lacking: Vec<Arc<str>>,
}

#[derive(Debug, Clone, Copy)]
struct ReadOf {
    at: Location,
    /// Whether it is read without a default.
    needed: bool,
}

impl Inputs {
    /// The input fields of a manifest: `given` by its caller, or, without one, `offered` by other files.
    pub fn new(
        manifest: &Manifest<'_>,
        at: impl Fn(trefoil_syntax::Span) -> Location,
        slot: SlotId,
        given: &[Arc<str>],
        offered: &[Arc<str>],
    ) -> Self {
        let declared = |f: &crate::sirenspec::manifest::InputField<'_>| Field {
            name: f.name.value.clone(),
            schema: match &f.default {
                Some(default) => Type::declared(&schema_of(default)),
                None if &*f.name.value == "message" => Type::TEXT,
                None => Type::Any,
            },
            origin: Origin::Declared(at(f.name.span), f.default.clone()),
            declared: Some(at(f.name.content())),
            usual: None,
        };
        let mut fields: Vec<Field> = manifest.input.iter().map(declared).collect();
        let other = |name: &Arc<str>, origin| Field {
            name: name.clone(),
            schema: Type::Any,
            origin,
            declared: None,
            usual: None,
        };
        if !fields.iter().any(|f| &*f.name == "message") {
            let first = manifest.nodes.first().map_or_else(Default::default, |n| n.id.span);
            let message = other(&"message".into(), Origin::Declared(at(first), None));
            fields.insert(0, Field { schema: Type::TEXT, ..message });
        }
        for name in given {
            match fields.iter_mut().find(|f| f.name == *name) {
                Some(field) => {
                    field.schema = Type::Any;
                    if let Origin::Declared(_, Some(default)) = &field.origin {
                        field.usual = Some(Type::declared(&schema_of(default)));
                    }
                    field.origin = Origin::Given;
                }
                None => fields.push(other(name, Origin::Given)),
            }
        }
        for name in offered {
            if !fields.iter().any(|f| f.name == *name) {
                fields.push(other(name, Origin::Offered));
            }
        }
        Self { slot, fields }
    }

    /// The field with this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| &*f.name == name)
    }

    /// All field names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|f| &*f.name)
    }

    /// What callers need to know.
    pub fn wanted(&self, reads: &Reads) -> Wanted {
        let mut wanted = Wanted { lacking: reads.lacking.clone(), ..Wanted::default() };
        for field in &self.fields {
            wanted.places.extend(field.declared.map(|at| (field.name.clone(), at)));
            let read = reads.fields.get(&field.name);
            let declared = matches!(field.origin, Origin::Declared(..)) && &*field.name != "message";
            if read.is_some() || declared {
                wanted.known.push(field.name.clone());
            }
            let open = matches!(field.origin, Origin::Declared(_, None));
            if open && (read.is_some_and(|r| r.needed) || declared) {
                wanted.needed.push(field.name.clone());
            }
        }
        wanted
    }

    /// How a call's input is processed; `entry`: a run can start here.
    pub fn intake(&self, reads: &Reads, entry: bool) -> Intake {
        let others = self.fields.iter().any(|f| &*f.name != "message");
        let fields = self.fields.iter().map(|field| self.taken(field, reads, others || !entry)).collect();
        Intake { wrap: Some("message".into()), fields, closed: true, ..Intake::plain(self.slot) }
    }

    fn taken(&self, field: &Field, reads: &Reads, lenient: bool) -> InputField {
        let read = reads.fields.get(&field.name).copied();
        let needed = read.is_some_and(|r| r.needed);
        let message = &*field.name == "message";
        // If it is optional, an empty text triggers the `default(...)` of the reader.
        let unneeded = || Some(Value::from(""));
        let (origin, default) = match &field.origin {
            Origin::Declared(at, Some(default)) => (*at, Some(default.clone())),
            Origin::Declared(at, None) if message && !needed && lenient => (*at, unneeded()),
            Origin::Declared(at, None) => (*at, None),
            Origin::Given => (read.map_or_else(|| self.place(), |r| r.at), None),
            Origin::Offered if needed => (read.map_or_else(|| self.place(), |r| r.at), None),
            Origin::Offered => (self.place(), unneeded()),
        };
        let schema = match &field.origin {
            Origin::Declared(_, Some(default)) if !message => schema_of(default),
            Origin::Declared(..) if message => schema_of(&Value::from("")),
            _ => Value::Object(Arc::new(Object::default())),
        };
        let nullable = matches!(field.origin, Origin::Given);
        let usual = field.usual.clone().zip(field.declared);
        InputField { name: field.name.clone(), schema, default, usual, nullable, optional: false, origin }
    }

    /// A place in the file for fields that it does not mention.
    fn place(&self) -> Location {
        let declared = self.fields.iter().find_map(|f| match &f.origin {
            Origin::Declared(at, _) => Some(*at),
            _ => None,
        });
        declared.unwrap_or(Location::new(trefoil_syntax::FileId(0), Default::default()))
    }
}

impl Field {
    /// The default value, if a run starts here.
    pub fn default(&self) -> Option<&Value> {
        match &self.origin {
            Origin::Declared(_, default) => default.as_ref(),
            Origin::Given | Origin::Offered => None,
        }
    }

    /// A one-line description.
    pub fn note(&self) -> Arc<str> {
        match &self.origin {
            Origin::Declared(_, Some(default)) => format!("an input with the default `{}`", default.to_text()).into(),
            Origin::Declared(..) if &*self.name == "message" => "the message that starts the run".into(),
            Origin::Declared(..) => "an input".into(),
            Origin::Given | Origin::Offered => "passed by the calling workflow".into(),
        }
    }
}

impl Reads {
    /// Records that an unknown field is read.
    pub fn lack(&mut self, name: &Arc<str>) {
        if !self.lacking.contains(name) {
            self.lacking.push(name.clone());
        }
    }

    /// Records that a field is read at this place; `needed`: a value must be passed.
    pub fn field(&mut self, name: &str, at: Location, needed: bool) {
        self.fields.entry(name.into()).or_insert(ReadOf { at, needed }).needed |= needed;
    }
}

/// The schema that a default value stands for.
fn schema_of(default: &Value) -> Value {
    let kind = match default {
        Value::Bool(_) => "boolean",
        Value::Number(Number::Float(_)) => "number",
        Value::Number(_) => "integer",
        Value::List(_) => "array",
        Value::Object(_) => "object",
        Value::Str(_) | Value::Masked(_) => "string",
        Value::Null => return Value::Object(Arc::new(Object::default())),
    };
    Value::from_iter([("type", kind)])
}
