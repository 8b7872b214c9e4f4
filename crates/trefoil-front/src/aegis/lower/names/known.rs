//! Where the names of a workflow are declared and what they hold: the side of [`Names`](super::Names) that editors ask.
//! Without borrows: what is visible in a place is worked out when somebody asks.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::{Declaration, DeclarationKind, Defined, Name};
use trefoil_syntax::Location;
use trefoil_syntax::yaml::Text;
use trefoil_template::Value;

use super::answer::Answer;
use super::{Place, Shape};
use crate::Reader;
use crate::aegis::lower::Lowering;
use crate::aegis::lower::paths::{Before, Paths};
use crate::aegis::manifest::schema::JsonSchema;
use crate::aegis::manifest::state::StateKind;
use crate::aegis::manifest::states::system::Action;
use crate::aegis::manifest::workflow::Workflow;
use crate::learn::{self, Members, integer_type, list_of, object_of, text_type, type_of};

/// The names of a workflow with their declarations.
#[derive(Default)]
pub(in crate::aegis::lower) struct Known {
    /// States, in order.
    pub states: Vec<KnownState>,
    /// Keys of the Blackboard.
    pub keys: BTreeMap<Arc<str>, Key>,
    /// The fields of the start input.
    pub inputs: Vec<Name>,
    /// Where they are declared.
    pub members: Members,
    /// The type of the start input.
    pub input: Value,
    /// Which states run before which.
    pub paths: Option<Arc<Paths>>,
}

/// A state.
pub(in crate::aegis::lower) struct KnownState {
    /// Its name.
    pub name: Arc<str>,
    /// Where it is declared.
    pub at: Location,
    /// The type of its result.
    pub schema: Value,
    /// Where its members are declared.
    pub members: Members,
    /// A person answers it.
    pub human: bool,
    /// One line about it.
    note: &'static str,
}

/// A key of the Blackboard.
pub(in crate::aegis::lower) struct Key {
    /// Where it is written first.
    pub at: Location,
    /// The type of its value.
    pub schema: Value,
    /// Where its members are declared.
    pub members: Members,
    /// There from the start.
    pub seeded: bool,
    /// The states that write it.
    pub writers: Vec<usize>,
}

impl Known {
    /// Of a workflow; declares its names. `shapes` are the results of its states.
    pub fn new<'s>(
        reader: &Reader<'_>,
        lowering: &Lowering<'_>,
        workflow: &Workflow,
        shapes: impl Iterator<Item = &'s Shape>,
        paths: &Arc<Paths>,
    ) -> Self {
        let mut known = Self { input: Value::Bool(true), paths: Some(paths.clone()), ..Self::default() };
        if !reader.wants_facts() {
            return known;
        }
        let whole = reader.at(workflow.identity.at);
        let add = |kind, name: &Arc<str>, at, extent, parent, schema, note: &str| {
            let (name, note) = (name.clone(), Some(note.into()));
            reader.facts(|f| f.declare(Declaration { kind, name, at, extent, parent, schema, note }));
        };
        let output = workflow.output_schema.as_ref().map_or(Value::Bool(true), |s| s.json.clone());
        if !workflow.identity.name.is_empty() {
            let note = format!("a workflow of {}", crate::learn::counted(workflow.states.len(), "state"));
            add(DeclarationKind::Workflow, &workflow.identity.name, whole, workflow.whole, None, output, &note);
        }
        if let Some(schema) = &workflow.input_schema {
            known.input = schema.json.clone();
            known.members = declare_inputs(reader, schema, whole);
            known.inputs = input_names(schema, &known.members);
        }
        if let Some(schema) = &workflow.output_schema {
            learn::properties(reader, &schema.node, &schema.json, false, DeclarationKind::Property, whole);
        }
        for entry in workflow.output_template.iter().filter_map(|n| n.mapping()).flat_map(|m| &m.entries) {
            let (key, at) = (&entry.key, reader.at(entry.key.content()));
            let schema = workflow.output_schema.as_ref().filter(|s| s.properties().any(|(p, _)| *p == key.value));
            match schema.and_then(|s| learn::places(at.file, &s.node, &s.json).place(&key.value)) {
                Some(declared) => learn::names_at(reader, at, Some(declared)),
                None => {
                    let extent = learn::whole(entry);
                    add(
                        DeclarationKind::Property,
                        &key.value,
                        at,
                        extent,
                        Some(whole),
                        Value::Bool(true),
                        "in the output",
                    );
                }
            }
        }
        for (key, value) in &workflow.context {
            let at = reader.at(key.content());
            let schema = type_of(value);
            add(DeclarationKind::Key, &key.value, at, key.span, Some(whole), schema.clone(), "in the context");
            known.keys.insert(
                key.value.clone(),
                Key { at, schema, members: Members::default(), seeded: true, writers: Vec::new() },
            );
        }
        for (at, (state, shape)) in workflow.states.iter().zip(shapes).enumerate() {
            let place = reader.at(state.at);
            let answers = lowering.answers(state.kind.as_ref());
            let schema = result_type(shape, &answers);
            let members = result_members(shape, &answers);
            let note = note_of(shape);
            if !state.name.is_empty() {
                add(DeclarationKind::State, &state.name, place, state.whole, Some(whole), schema.clone(), note);
            }
            let (name, human) = (state.name.clone(), *shape == Shape::Human);
            known.states.push(KnownState { name, at: place, schema, members, human, note });
            match &state.kind {
                Some(StateKind::System(system)) => {
                    if let Some(Action::Update(entries)) = &system.action {
                        entries.iter().for_each(|(key, _)| known.write(reader, key, at, place, Answer::default()));
                    }
                }
                Some(StateKind::Subworkflow(sub)) => {
                    let answer = || answers.first().cloned().unwrap_or_default();
                    sub.result_key.iter().for_each(|key| known.write(reader, key, at, place, answer()));
                }
                _ => {}
            }
        }
        known
    }

    fn write(&mut self, reader: &Reader<'_>, key: &Text, state: usize, parent: Location, of: Answer) {
        let at = reader.at(key.content());
        if let Some(known) = self.keys.get_mut(&key.value) {
            known.writers.push(state);
            (known.schema, known.members) = (Value::Bool(true), Members::default());
            return learn::names_at(reader, at, Some(known.at));
        }
        let (kind, name, extent) = (DeclarationKind::Key, key.value.clone(), key.span);
        let note = Some("written to the Blackboard".into());
        let Answer { schema, members } = of;
        let declared = schema.clone();
        let parent = Some(parent);
        reader.facts(|f| f.declare(Declaration { kind, name, at, extent, parent, schema: declared, note }));
        let key_of = Key { at, schema, members, seeded: false, writers: vec![state] };
        self.keys.insert(key.value.clone(), key_of);
    }

    /// Whether a state has run when a place is reached.
    pub fn defined(&self, state: usize, place: Place) -> Defined {
        let Some(paths) = &self.paths else { return Defined::Sometimes };
        let before = match place {
            Place::Leaving(this) | Place::Deciding(this) if this == state => Before::Always,
            Place::Entering(this) | Place::Leaving(this) | Place::Deciding(this) => {
                if !paths.reachable(this) {
                    return Defined::Sometimes;
                }
                paths.before(state, this)
            }
            Place::End => paths.at_end(state),
        };
        match before {
            Before::Always => Defined::Always,
            Before::Sometimes => Defined::Sometimes,
            Before::Never => Defined::Never,
        }
    }

    /// Whether a key is on the Blackboard when a place is reached; it may always come with the start input.
    pub fn key_defined(&self, key: &Key, place: Place) -> Defined {
        let sure = key.seeded || key.writers.iter().any(|w| self.defined(*w, place) == Defined::Always);
        if sure { Defined::Always } else { Defined::Sometimes }
    }

    /// What may be named in a place.
    pub fn visible(&self, place: Place) -> Vec<Name> {
        let built_in =
            |name: &str, schema: Value, note: &str| Name::new(name, Defined::Always).schema(schema).note(note);
        let mut names = Vec::new();
        for (at, state) in self.states.iter().enumerate() {
            let defined = self.defined(at, place);
            if defined != Defined::Never && !state.name.is_empty() {
                let name = Name::new(state.name.clone(), defined).declared(state.at).schema(state.schema.clone());
                names.push(name.note(state.note));
            }
        }
        if let Place::Leaving(this) | Place::Deciding(this) = place
            && let Some(state) = self.states.get(this)
        {
            names.push(built_in("state_output", state.schema.clone(), "the result of this state"));
        }
        let keys: Vec<(&Arc<str>, Name)> = self
            .keys
            .iter()
            .map(|(name, key)| {
                let note = if key.seeded { "in the context" } else { "written to the Blackboard" };
                let named = Name::new(name.clone(), self.key_defined(key, place)).declared(key.at);
                (name, named.schema(key.schema.clone()).note(note))
            })
            .collect();
        names.extend(keys.iter().map(|(_, n)| n.clone()));
        names.push(built_in("input", self.input.clone(), "the start input"));
        names.extend(self.inputs.iter().cloned());
        let context = object(keys.iter().map(|(name, n)| ((*name).clone(), n.schema.clone())));
        names.push(built_in(
            "workflow.context",
            context.clone(),
            "the context, overlaid by the start input and updates",
        ));
        names.push(built_in("blackboard", context, "the context, the start input and updates"));
        names.push(built_in("workflow.name", text_type(), "the name of this workflow"));
        names.push(built_in("workflow.task", Value::Bool(true), "the task that the run was started with"));
        names.push(Name::new("state.feedback", Defined::Sometimes).note("what the transition that led here said"));
        if self.states.iter().any(|s| s.human) {
            names.push(Name::new("human.feedback", Defined::Sometimes).note("what came with a person's answer"));
        }
        names.push(built_in("iteration_number", integer_type(), "which visit, or round of judges, this is: from 1"));
        names.push(Name::new("previous_error", Defined::Sometimes).schema(text_type()).note("why the last one failed"));
        names.push(built_in("execution.id", text_type(), "the id of the run"));
        names.push(Name::new("intent", Defined::Sometimes).note("the intent that the run was started with"));
        names
    }
}

/// Declares the properties of an input schema.
pub(in crate::aegis::lower) fn declare_inputs(reader: &Reader<'_>, schema: &JsonSchema, parent: Location) -> Members {
    learn::properties(reader, &schema.node, &schema.json, false, DeclarationKind::Input, parent)
}

/// `input.x` for every declared property.
pub(in crate::aegis::lower) fn input_names(schema: &JsonSchema, members: &Members) -> Vec<Name> {
    let name = |(property, json): (&Arc<str>, &Value)| {
        let sure = schema.requires(property) || json.get("default").is_some();
        let defined = if sure { Defined::Always } else { Defined::Sometimes };
        let mut name = Name::new(format!("input.{property}"), defined).schema(json.clone()).note("an input");
        name.declared = members.place(property);
        name
    };
    schema.properties().map(name).collect()
}

/// An object that has these members and may have others.
fn object(members: impl IntoIterator<Item = (Arc<str>, Value)>) -> Value {
    let closed = object_of(members);
    let open = closed.as_object().into_iter().flatten().filter(|(k, _)| &***k != "additionalProperties");
    Value::from_iter(open.map(|(k, v)| (k.clone(), v.clone())))
}

fn note_of(shape: &Shape) -> &'static str {
    match shape {
        Shape::Agent => "the answer of an agent",
        Shape::Command | Shape::Echo => "what a command printed",
        Shape::Update => "an update of the Blackboard",
        Shape::Human => "what a person answered",
        Shape::Parallel { .. } => "the answers of several agents, and their consensus",
        Shape::Container | Shape::Containers(_) => "what a container printed",
        Shape::Open => "the result of this state",
    }
}

/// Where the fields of a state's result are declared: those of what it calls are in other files.
fn result_members(shape: &Shape, answers: &[Answer]) -> Members {
    let list = |of: &dyn Fn(&Answer) -> Members| {
        let each = answers.iter().enumerate().map(|(i, a)| (Arc::from(i.to_string()), None, of(a)));
        Members::of(each.collect())
    };
    let output = |answer: &Answer| (Arc::from("output"), None, answer.members.clone());
    match (shape, answers) {
        (Shape::Agent, [answer]) => Members::of(vec![output(answer)]),
        (Shape::Open, [answer]) => Members::of(std::iter::once(output(answer)).chain(answer.members.all()).collect()),
        (Shape::Parallel { .. }, _) => Members::of(vec![
            (Arc::from("agents"), None, list(&|a| Members::of(vec![output(a)]))),
            (Arc::from("output"), None, list(&|a| a.members.clone())),
        ]),
        _ => Members::default(),
    }
}

/// The fields of a state's result (decisions E6, E7).
fn result_type(shape: &Shape, answers: &[Answer]) -> Value {
    let any = || Value::Bool(true);
    // Of several agents, where all answer alike.
    let answer = match answers {
        [first, rest @ ..] if rest.iter().all(|a| a.schema == first.schema) => first.schema.clone(),
        _ => any(),
    };
    let number = || Value::from_iter([("type", Value::from("number"))]);
    let own: Vec<(&str, Value)> = match shape {
        Shape::Open => {
            let Some(fields) = answer.get("properties").and_then(Value::as_object) else { return any() };
            let own = [("status", text_type()), ("error", text_type()), ("output", answer.clone())];
            let own = own.into_iter().map(|(k, v)| (Arc::from(k), v));
            return object_of(own.chain(fields.iter().map(|(k, v)| (k.clone(), v.clone()))));
        }
        Shape::Container => {
            let own = || [("stdout", text_type()), ("stderr", text_type()), ("exit_code", integer_type())];
            let of = |own: [(&str, Value); 3]| object(own.into_iter().map(|(k, v)| (Arc::from(k), v)));
            own().into_iter().chain([("output", of(own()))]).collect()
        }
        Shape::Containers(_) => vec![("output", any()), ("results", any())],
        Shape::Agent => vec![("output", answer), ("score", number()), ("confidence", number())],
        Shape::Command | Shape::Echo => vec![
            // Text when it is printed whole; its members are those of the JSON that the command printed.
            ("output", any()),
            ("stdout", text_type()),
            ("stderr", text_type()),
            ("exit_code", integer_type()),
        ],
        Shape::Update => vec![
            ("updated", list_of(text_type())),
            ("output", any()),
            ("stdout", text_type()),
            ("stderr", text_type()),
            ("exit_code", integer_type()),
        ],
        Shape::Human => vec![("response", any()), ("feedback", any()), ("output", any())],
        Shape::Parallel { .. } => vec![
            ("consensus", object(["score", "confidence"].map(|k| (Arc::from(k), number())))),
            (
                "agents",
                list_of(object([
                    (Arc::from("output"), answer.clone()),
                    (Arc::from("score"), number()),
                    (Arc::from("confidence"), number()),
                ])),
            ),
            ("score", number()),
            ("confidence", number()),
            ("output", list_of(answer)),
        ],
    };
    let common = [("status", text_type()), ("error", text_type()), ("execution_id", text_type())];
    object_of(own.into_iter().chain(common).map(|(k, v)| (Arc::from(k), v)))
}
