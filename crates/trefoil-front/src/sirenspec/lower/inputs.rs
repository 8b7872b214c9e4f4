//! The input of a workflow: which `inputs.*` there are, which of them a run has to give (decision S4).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::{Defined, InputField, Intake, Name, SlotId};
use trefoil_syntax::Location;
use trefoil_template::{Object, Reference, Value};

use super::shape::Shape;
use crate::Reader;
use crate::learn;
use crate::sirenspec::manifest::Manifest;

/// What a run gives a workflow, and what of it is read.
pub struct Inputs {
    /// The slot of the whole input.
    pub slot: SlotId,
    fields: Vec<Field>,
    reads: RefCell<BTreeMap<Arc<str>, ReadOf>>,
    /// Read without a default, and neither declared nor given.
    lacking: RefCell<Vec<Arc<str>>>,
}

/// A field of the input.
struct Field {
    name: Arc<str>,
    shape: Shape,
    origin: Origin,
    /// Its name in `input:`.
    declared: Option<Location>,
    /// The type of the default that a caller overrides.
    usual: Option<Value>,
}

/// Where a field comes from.
enum Origin {
    /// `input:` of the file, with its default.
    Declared(Location, Option<Value>),
    /// The workflow node that calls this file; overrides what is declared.
    Given,
    /// A workflow node of another file of the project gives it; here the file is run by itself.
    Offered,
}

#[derive(Clone, Copy)]
struct ReadOf {
    at: Location,
    /// Somebody reads it without a default.
    needed: bool,
}

/// What callers have to know about a sub-workflow's input.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// Fields that are declared or read.
    pub known: Vec<Arc<str>>,
    /// Fields that have no default and somebody reads.
    pub needed: Vec<Arc<str>>,
    /// Fields that somebody reads although nobody declares or gives them.
    pub lacking: Vec<Arc<str>>,
    /// Where fields are declared.
    pub places: Vec<(Arc<str>, Location)>,
}

impl Inputs {
    /// The input fields of a manifest; `given` by its caller, or `offered` by others when it has none.
    pub fn new(
        reader: &Reader<'_>,
        manifest: &Manifest<'_>,
        slot: SlotId,
        given: &[Arc<str>],
        offered: &[Arc<str>],
    ) -> Self {
        let mut fields: Vec<Field> = manifest
            .input
            .iter()
            .map(|f| Field {
                name: f.name.value.clone(),
                shape: f.default.as_ref().map_or(Shape::Any, Shape::of_default),
                origin: Origin::Declared(reader.at(f.name.span), f.default.clone()),
                declared: Some(reader.at(f.name.content())),
                usual: None,
            })
            .collect();
        if !fields.iter().any(|f| &*f.name == "message") {
            let at = manifest.nodes.first().map_or_else(Default::default, |n| n.id.span);
            let origin = Origin::Declared(reader.at(at), None);
            fields.insert(0, Field { name: "message".into(), shape: Shape::Leaf, origin, declared: None, usual: None });
        }
        for (names, make) in [(given, (|| Origin::Given) as fn() -> Origin), (offered, || Origin::Offered)] {
            for name in names {
                match fields.iter_mut().find(|f| f.name == *name) {
                    Some(field) if matches!(make(), Origin::Given) => {
                        field.shape = Shape::Any;
                        if let Origin::Declared(_, Some(default)) = &field.origin {
                            field.usual = Some(type_of(default));
                        }
                        field.origin = Origin::Given;
                    }
                    Some(_) => {}
                    None => {
                        fields.push(Field {
                            name: name.clone(),
                            shape: Shape::Any,
                            origin: make(),
                            declared: None,
                            usual: None,
                        });
                    }
                }
            }
        }
        Self { slot, fields, reads: RefCell::default(), lacking: RefCell::default() }
    }

    /// The shape of a field; none: there is no such field.
    pub fn shape(&self, name: &str) -> Option<&Shape> {
        self.fields.iter().find(|f| &*f.name == name).map(|f| &f.shape)
    }

    /// All field names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|f| &*f.name)
    }

    /// The fields as names, for editors.
    pub fn known(&self) -> Vec<Name> {
        let known = |field: &Field| {
            let mut name = Name::new(format!("inputs.{}", field.name), Defined::Always);
            name.declared = field.declared;
            name.schema = match &field.origin {
                _ if &*field.name == "message" => learn::text_type(),
                Origin::Declared(_, Some(default)) => type_of(default),
                _ => Value::Bool(true),
            };
            let note: Arc<str> = match &field.origin {
                Origin::Declared(_, Some(default)) => format!("an input, `{}` unless given", default.to_text()).into(),
                Origin::Declared(..) if &*field.name == "message" => "the message that the run starts with".into(),
                Origin::Declared(..) => "an input".into(),
                Origin::Given | Origin::Offered => "given by the workflow that calls this one".into(),
            };
            name.note(note)
        };
        self.fields.iter().map(known).collect()
    }

    /// Notes that a template reads a field.
    pub fn read(&self, reference: &Reference, at: Location) {
        if let Some(segment) = reference.path.get(1) {
            self.note(&segment.name, at, reference.default.is_none());
        }
    }

    /// Notes that a template reads a field that there is not.
    pub fn lack(&self, reference: &Reference) {
        if let Some(segment) = reference.path.get(1).filter(|_| reference.default.is_none()) {
            let mut lacking = self.lacking.borrow_mut();
            if !lacking.contains(&segment.name) {
                lacking.push(segment.name.clone());
            }
        }
    }

    /// Notes that the message is needed (a first node's user message, or a sub-workflow's).
    pub fn read_message(&self, at: Location) {
        self.note("message", at, true);
    }

    fn note(&self, name: &str, at: Location, needed: bool) {
        let mut reads = self.reads.borrow_mut();
        reads.entry(name.into()).or_insert(ReadOf { at, needed }).needed |= needed;
    }

    /// What a field is unless given, where a run starts here.
    pub fn default(&self, name: &str) -> Option<&Value> {
        match &self.fields.iter().find(|f| &*f.name == name)?.origin {
            Origin::Declared(_, default) => default.as_ref(),
            Origin::Given | Origin::Offered => None,
        }
    }

    /// What callers have to know.
    pub fn wanted(&self) -> Wanted {
        let reads = self.reads.borrow();
        let mut wanted = Wanted { lacking: self.lacking.borrow().clone(), ..Wanted::default() };
        for field in &self.fields {
            wanted.places.extend(field.declared.map(|at| (field.name.clone(), at)));
            let read = reads.get(&field.name);
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

    /// How a call's input gets in; `entry`: a run starts here.
    pub fn intake(&self, entry: bool) -> Intake {
        let reads = self.reads.borrow();
        let others = self.fields.iter().any(|f| &*f.name != "message");
        let fields = self
            .fields
            .iter()
            .map(|field| {
                let read = reads.get(&field.name).copied();
                let needed = read.is_some_and(|r| r.needed);
                let message = &*field.name == "message";
                // Where nobody needs it, empty text lets the reader's own `default(...)` fire.
                let unneeded = || Some(Value::from(""));
                let (origin, default) = match &field.origin {
                    Origin::Declared(at, Some(default)) => (*at, Some(default.clone())),
                    Origin::Declared(at, None) if message && !needed && (others || !entry) => (*at, unneeded()),
                    Origin::Declared(at, None) => (*at, None),
                    Origin::Given => (read.map_or_else(|| self.place(), |r| r.at), None),
                    Origin::Offered if needed => (read.map_or_else(|| self.place(), |r| r.at), None),
                    Origin::Offered => (self.place(), unneeded()),
                };
                let schema = match &field.origin {
                    Origin::Declared(_, Some(default)) if !message => type_of(default),
                    Origin::Declared(..) if message => object("string"),
                    _ => Value::Object(Arc::new(Object::default())),
                };
                let nullable = matches!(field.origin, Origin::Given);
                let usual = field.usual.clone().zip(field.declared);
                InputField { name: field.name.clone(), schema, default, usual, nullable, optional: false, origin }
            })
            .collect();
        Intake {
            slot: self.slot,
            wrap: Some("message".into()),
            fields,
            closed: true,
            tolerated: &[],
            schema: None,
            raw: None,
        }
    }

    /// Some place in the file, for fields that it does not mention.
    fn place(&self) -> Location {
        let declared = self.fields.iter().find_map(|f| match &f.origin {
            Origin::Declared(at, _) => Some(*at),
            _ => None,
        });
        declared.unwrap_or(Location::new(trefoil_syntax::FileId(0), Default::default()))
    }
}

fn object(name: &str) -> Value {
    let mut schema = Object::default();
    schema.insert("type".into(), Value::from(name));
    Value::Object(Arc::new(schema))
}

/// The schema that a default stands for.
fn type_of(default: &Value) -> Value {
    match default {
        Value::Bool(_) => object("boolean"),
        Value::Number(trefoil_template::Number::Float(_)) => object("number"),
        Value::Number(_) => object("integer"),
        Value::List(_) => object("array"),
        Value::Object(_) => object("object"),
        Value::Str(_) | Value::Masked(_) => object("string"),
        Value::Null => Value::Object(Arc::new(Object::default())),
    }
}
