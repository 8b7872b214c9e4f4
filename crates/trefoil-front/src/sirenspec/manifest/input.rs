//! `input` and `state`: what a run starts with.

use trefoil_syntax::Span;
use trefoil_syntax::yaml::{Node, Text};
use trefoil_template::{Object, Value};

use super::write::Root;
use crate::Fields;
use crate::learn::whole;
use crate::read::to_value;

/// A declared field of the run's input.
#[derive(Debug, Clone)]
pub struct InputField<'n> {
    /// Its name.
    pub name: &'n Text,
    /// All of it.
    pub span: Span,
    /// What it is when the run does not say; none: the run has to.
    pub default: Option<Value>,
}

/// Values that are there before any node ran.
#[derive(Debug, Clone, Default)]
pub struct State<'n> {
    /// Under `working`.
    pub working: Object,
    /// Under `output`.
    pub output: Object,
    /// The same as they are written, by tree.
    pub written: Vec<(Root, &'n Node)>,
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
            InputField { name: &entry.key, span: whole(entry), default: (!null).then(|| to_value(&entry.value)) }
        })
        .collect()
}

/// `state`.
pub fn state<'n>(fields: &mut Fields<'n, '_>) -> State<'n> {
    let Some(mut state) = fields.fields("state") else { return State::default() };
    let mut written = Vec::new();
    let working = tree(&mut state, Root::Working, &mut written);
    let output = tree(&mut state, Root::Output, &mut written);
    let result = State { working, output, written };
    state.finish();
    result
}

fn tree<'n>(state: &mut Fields<'n, '_>, root: Root, written: &mut Vec<(Root, &'n Node)>) -> Object {
    let key = root.word();
    let reader = state.reader;
    let Some(entry) = state.take(key) else { return Object::default() };
    let node = &entry.value;
    written.push((root, node));
    match node.mapping() {
        Some(mapping) => mapping.entries.iter().map(|e| (e.key.value.clone(), to_value(&e.value))).collect(),
        None => {
            reader.wrong_type(node, key, "a mapping");
            Object::default()
        }
    }
}
