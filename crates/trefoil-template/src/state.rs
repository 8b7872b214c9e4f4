//! Evaluates one template or condition with a given state, without a workflow: for `trefoil render`.
//!
//! In agntz and AEGIS the state is the root object. In SirenSpec it is an object that may contain `inputs`, `nodes`
//! (node id to its context), `env`, `item`, `index`, `total`, `working`, `output`, `_budget`.

use crate::condition::Condition;
use crate::error::{EvalError, Mistakes, NodeThroughWorking, SyntaxError};
use crate::policy::{Policy, StateNames};
use crate::scope::{Binding, Found, Missing, Reference, Scope};
use crate::template::{Provenance, Template};
use crate::value::Value;

/// The kind of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// Text position: the result is a string.
    Template,
    /// Typed position: a lone placeholder keeps its type.
    Value,
    /// A web address: values of placeholders after the host are percent-encoded.
    Address,
    /// A condition: the result is a boolean.
    Condition,
}

/// A mistake and its position in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError {
    /// The mistake.
    pub error: SyntaxError,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
}

/// Why there is no result.
#[derive(Debug, Clone, PartialEq)]
pub enum Failure {
    /// The text has at least one mistake.
    Load(Vec<LoadError>),
    /// The text is valid, but the state lacks something.
    Run(EvalError),
}

/// Evaluates a text with a state.
pub fn evaluate(policy: &Policy, kind: TextKind, text: &str, state: &Value) -> Result<Value, Failure> {
    if kind == TextKind::Condition {
        let mut condition = Condition::parse(text, policy).map_err(|errors| load(text, errors))?;
        let mut names = BoundState::new(policy, state, true);
        condition.bind(|reference| names.bind(reference));
        return condition.evaluate(&names).map(Value::from).map_err(Failure::Run);
    }
    let (template, names) = bound(policy, text, state)?;
    let result = match kind {
        TextKind::Value => template.value(&names),
        TextKind::Address => template.address(&names),
        TextKind::Template | TextKind::Condition => template.render(&names),
    };
    result.map_err(Failure::Run)
}

/// Rendered text and the origin of each part.
#[derive(Debug, Clone, PartialEq)]
pub struct Traced {
    /// The text.
    pub text: Value,
    /// The references of the template.
    pub references: Vec<Reference>,
    /// The origins of parts of the text, as indexes into the references.
    pub provenance: Vec<Provenance>,
}

/// Renders a template with a state, with provenance.
pub fn trace(policy: &Policy, text: &str, state: &Value) -> Result<Traced, Failure> {
    let (template, names) = bound(policy, text, state)?;
    let (text, provenance) = template.trace(&names).map_err(Failure::Run)?;
    Ok(Traced { text, references: template.references().to_vec(), provenance })
}

/// Line and column, both from 1, of a byte offset. Columns count characters.
pub fn position(text: &str, offset: usize) -> (u32, u32) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = text.get(..offset).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count() as u32 + 1;
    let column = before.get(line_start..).unwrap_or_default().chars().count() as u32 + 1;
    (line, column)
}

fn bound<'s>(policy: &Policy, text: &str, state: &'s Value) -> Result<(Template, BoundState<'s>), Failure> {
    let mut template = Template::parse(text, policy).map_err(|errors| load(text, errors))?;
    let mut names = BoundState::new(policy, state, false);
    let mut mistakes = Mistakes::default();
    for reference in template.references() {
        names.lint(reference, &mut mistakes);
    }
    if !mistakes.is_empty() {
        return Err(load(text, mistakes.into_errors()));
    }
    template.bind(|reference| names.bind(reference));
    Ok((template, names))
}

fn load(text: &str, errors: Vec<SyntaxError>) -> Failure {
    let place = |error: SyntaxError| {
        let (line, column) = position(text, error.span.start as usize);
        LoadError { error, line, column }
    };
    Failure::Load(errors.into_iter().map(place).collect())
}

/// A state, and the sources of one text's references in it.
struct BoundState<'s> {
    state: &'s Value,
    names: StateNames,
    condition: bool,
    sources: Vec<Found<'s>>,
}

impl<'s> BoundState<'s> {
    fn new(policy: &Policy, state: &'s Value, condition: bool) -> Self {
        BoundState { state, names: policy.names, condition, sources: Vec::new() }
    }

    fn bind(&mut self, reference: &Reference) -> Binding {
        if self.names == StateNames::Root {
            return Binding::default();
        }
        let (found, skip) = self.resolve(reference);
        self.sources.push(found);
        Binding { source: self.sources.len() as u32 - 1, skip }
    }

    /// The source of a root name in SirenSpec, and how many segments it covers.
    fn resolve(&self, reference: &Reference) -> (Found<'s>, u16) {
        let segment = |at: usize| reference.path.get(at).map(|s| &*s.name);
        let Some(root) = segment(0) else { return (Found::Borrowed(self.state), 0) };
        match root {
            "inputs" if reference.path.len() == 1 => (Found::Missing(Missing::NoField(root.into())), 1),
            "inputs" => (self.part(root, Missing::Key(1)), 1),
            "env" => match reference.path.get(1) {
                None => (Found::Missing(Missing::NoField(root.into())), 1),
                Some(name) => match self.state.get(root).and_then(|env| env.get(&name.name)) {
                    Some(value) => (Found::Borrowed(value), 2),
                    None => (Found::Missing(Missing::Unset(name.name.clone())), 2),
                },
            },
            "item" | "index" | "total" => (self.part(root, Missing::OutsideLoop), 1),
            "output" => match self.state.get(root) {
                Some(written) => (Found::Borrowed(written), 1),
                None => self.written_or_node(root, 0),
            },
            // In conditions, `working.x` means the same as `x`.
            "working" if reference.path.len() == 1 => (self.part(root, Missing::Key(0)), 1),
            "working" => {
                let name = segment(1).unwrap_or_default();
                let (found, skip) = self.written_or_node(name, 1);
                // A node whose id is `working`.
                let node = self.node(root).map_or(Found::Missing(Missing::Key(1)), Found::Borrowed);
                match found {
                    Found::Missing(_) => (node, 1),
                    found => (found, skip),
                }
            }
            "_budget" => match self.state.get(root) {
                Some(budget) => (Found::Borrowed(budget), 1),
                None => self.written_or_node(root, 0),
            },
            name => self.written_or_node(name, 0),
        }
    }

    /// The value written at a root of `working`, otherwise the node with that id. `at` is the segment of the name.
    fn written_or_node(&self, name: &str, at: u16) -> (Found<'s>, u16) {
        let written = self.state.get("working").and_then(|working| working.get(name));
        let found = match (written, self.node(name)) {
            (Some(written), Some(node)) => {
                Found::Either(Box::new(Found::Borrowed(written)), Box::new(Found::Borrowed(node)))
            }
            (Some(value), None) | (None, Some(value)) => Found::Borrowed(value),
            (None, None) => Found::Missing(Missing::Key(at)),
        };
        (found, at + 1)
    }

    fn node(&self, id: &str) -> Option<&'s Value> {
        self.state.get("nodes").and_then(|nodes| nodes.get(id))
    }

    fn part(&self, root: &str, otherwise: Missing) -> Found<'s> {
        self.state.get(root).map_or(Found::Missing(otherwise), Found::Borrowed)
    }

    /// Reports `working.<node id>` in a template if nothing is written under that name.
    fn lint(&self, reference: &Reference, mistakes: &mut Mistakes) {
        let [root, id, ..] = reference.path.as_slice() else { return };
        if self.names == StateNames::Root || self.condition || &*root.name != "working" {
            return;
        }
        let written = self.state.get("working").is_some_and(|working| working.get(&id.name).is_some());
        if !written && self.node(&id.name).is_some() {
            let span = reference.span.start as usize..reference.span.end as usize;
            let rest = reference.dotted();
            let rest = rest.strip_prefix("working.").unwrap_or_default();
            let said = NodeThroughWorking::new(&reference.dotted(), &id.name, rest);
            mistakes.add(said.rule, span, said.message).help(said.help);
        }
    }
}

impl Scope for BoundState<'_> {
    fn source(&self, source: u32) -> Found<'_> {
        if self.names == StateNames::Root {
            return Found::Borrowed(self.state);
        }
        self.sources.get(source as usize).cloned().unwrap_or(Found::Missing(Missing::Key(0)))
    }
}
