//! `input` and `state`: what a run starts with.

use trefoil_syntax::yaml::{Node, Text};
use trefoil_template::{Object, Value};

use crate::Fields;
use crate::read::to_value;

/// A declared field of the run's input.
#[derive(Debug, Clone)]
pub struct InputField<'n> {
    /// Its name.
    pub name: &'n Text,
    /// What it is when the run does not say; none: the run has to.
    pub default: Option<Value>,
}

/// Values that are there before any node ran.
#[derive(Debug, Clone, Default)]
pub struct State {
    /// Under `working`.
    pub working: Object,
    /// Under `output`.
    pub output: Object,
}

/// `input`: `message` and further fields, with defaults that give the type (decision S4).
pub fn input<'n>(fields: &mut Fields<'n, '_>) -> Vec<InputField<'n>> {
    let Some(input) = fields.fields("input") else { return Vec::new() };
    input
        .entries()
        .iter()
        .map(|entry| {
            let null = entry.value.is_null();
            if &*entry.key.value == "message" && !null && entry.value.string().is_none() {
                input.reader.wrong_type(&entry.value, "message", "text");
            }
            InputField { name: &entry.key, default: (!null).then(|| to_value(&entry.value)) }
        })
        .collect()
}

/// `state`.
pub fn state(fields: &mut Fields<'_, '_>) -> State {
    let Some(mut state) = fields.fields("state") else { return State::default() };
    let result = State { working: tree(&mut state, "working"), output: tree(&mut state, "output") };
    state.finish();
    result
}

fn tree(state: &mut Fields<'_, '_>, key: &'static str) -> Object {
    let reader = state.reader;
    let Some(entry) = state.take(key) else { return Object::default() };
    let node: &Node = &entry.value;
    match node.mapping() {
        Some(mapping) => mapping.entries.iter().map(|e| (e.key.value.clone(), to_value(&e.value))).collect(),
        None => {
            reader.wrong_type(node, key, "a mapping");
            Object::default()
        }
    }
}
