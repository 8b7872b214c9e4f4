//! Evaluates one template or condition with a given state, without a workflow: for `trefoil render`.
//!
//! In agntz and AEGIS the state is the root object. In SirenSpec it is an object that may contain `inputs`, `nodes`
//! (node id to its context), `env`, `item`, `index`, `total`, `working`, `output`, `_budget`.

use crate::condition::Condition;
use crate::error::{EvalError, NodeThroughWorking, SyntaxError, SyntaxMistakes};
use crate::policy::{Policy, StateLayout};
use crate::scope::{MissingCause, Reference, ReferenceBinding, SourceValue, ValueScope};
use crate::template::{ReferenceProvenance, Template};
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
pub enum RenderFailure {
    /// The text has at least one mistake.
    Load(Vec<LoadError>),
    /// The text is valid, but the state lacks something.
    Run(EvalError),
}

/// Evaluates a text with a state.
pub fn evaluate_text(policy: &Policy, kind: TextKind, text: &str, state: &Value) -> Result<Value, RenderFailure> {
    if kind == TextKind::Condition {
        let mut condition = Condition::parse(text, policy).map_err(|errors| load(text, errors))?;
        let mut names = BoundState::new(policy, state, true);
        condition.bind_references(|reference| names.bind(reference));
        return condition.evaluate_in(&names).map(Value::from).map_err(RenderFailure::Run);
    }
    let (template, names) = parse_and_bind(policy, text, state)?;
    let result = match kind {
        TextKind::Value => template.render_value(&names),
        TextKind::Address => template.render_url(&names),
        TextKind::Template | TextKind::Condition => template.render_text(&names),
    };
    result.map_err(RenderFailure::Run)
}

/// Rendered text and the origin of each part.
#[derive(Debug, Clone, PartialEq)]
pub struct TracedText {
    /// The text.
    pub text: Value,
    /// The references of the template.
    pub references: Vec<Reference>,
    /// The origins of parts of the text, as indexes into the references.
    pub provenance: Vec<ReferenceProvenance>,
}

/// Renders a template with a state, with provenance.
pub fn trace_text(policy: &Policy, text: &str, state: &Value) -> Result<TracedText, RenderFailure> {
    let (template, names) = parse_and_bind(policy, text, state)?;
    let (text, provenance) = template.render_with_provenance(&names).map_err(RenderFailure::Run)?;
    Ok(TracedText { text, references: template.references().to_vec(), provenance })
}

/// Line and column, both from 1, of a byte offset. Columns count characters.
pub fn line_and_column(text: &str, offset: usize) -> (u32, u32) {
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

fn parse_and_bind<'s>(
    policy: &Policy,
    text: &str,
    state: &'s Value,
) -> Result<(Template, BoundState<'s>), RenderFailure> {
    let mut template = Template::parse(text, policy).map_err(|errors| load(text, errors))?;
    let mut names = BoundState::new(policy, state, false);
    let mut mistakes = SyntaxMistakes::default();
    for reference in template.references() {
        names.lint(reference, &mut mistakes);
    }
    if !mistakes.is_empty() {
        return Err(load(text, mistakes.into_errors()));
    }
    template.bind_references(|reference| names.bind(reference));
    Ok((template, names))
}

fn load(text: &str, errors: Vec<SyntaxError>) -> RenderFailure {
    let place = |error: SyntaxError| {
        let (line, column) = line_and_column(text, error.span.start as usize);
        LoadError { error, line, column }
    };
    RenderFailure::Load(errors.into_iter().map(place).collect())
}

/// A state, and the sources of one text's references in it.
struct BoundState<'s> {
    state: &'s Value,
    names: StateLayout,
    condition: bool,
    sources: Vec<SourceValue<'s>>,
}

impl<'s> BoundState<'s> {
    fn new(policy: &Policy, state: &'s Value, condition: bool) -> Self {
        BoundState { state, names: policy.names, condition, sources: Vec::new() }
    }

    fn bind(&mut self, reference: &Reference) -> ReferenceBinding {
        if self.names == StateLayout::Root {
            return ReferenceBinding::default();
        }
        let (found, skip) = self.resolve(reference);
        self.sources.push(found);
        ReferenceBinding { source: self.sources.len() as u32 - 1, skip }
    }

    /// The source of a root name in SirenSpec, and how many segments it covers.
    fn resolve(&self, reference: &Reference) -> (SourceValue<'s>, u16) {
        let segment = |at: usize| reference.path.get(at).map(|s| &*s.name);
        let Some(root) = segment(0) else { return (SourceValue::Borrowed(self.state), 0) };
        match root {
            "inputs" if reference.path.len() == 1 => (SourceValue::Missing(MissingCause::NoField(root.into())), 1),
            "inputs" => (self.part(root, MissingCause::Key(1)), 1),
            "env" => match reference.path.get(1) {
                None => (SourceValue::Missing(MissingCause::NoField(root.into())), 1),
                Some(name) => match self.state.get(root).and_then(|env| env.get(&name.name)) {
                    Some(value) => (SourceValue::Borrowed(value), 2),
                    None => (SourceValue::Missing(MissingCause::Unset(name.name.clone())), 2),
                },
            },
            "item" | "index" | "total" => (self.part(root, MissingCause::OutsideLoop), 1),
            "output" => match self.state.get(root) {
                Some(written) => (SourceValue::Borrowed(written), 1),
                None => self.written_or_node(root, 0),
            },
            // In conditions, `working.x` means the same as `x`.
            "working" if reference.path.len() == 1 => (self.part(root, MissingCause::Key(0)), 1),
            "working" => {
                let name = segment(1).unwrap_or_default();
                let (found, skip) = self.written_or_node(name, 1);
                // A node whose id is `working`.
                let node = self.node(root).map_or(SourceValue::Missing(MissingCause::Key(1)), SourceValue::Borrowed);
                match found {
                    SourceValue::Missing(_) => (node, 1),
                    found => (found, skip),
                }
            }
            "_budget" => match self.state.get(root) {
                Some(budget) => (SourceValue::Borrowed(budget), 1),
                None => self.written_or_node(root, 0),
            },
            name => self.written_or_node(name, 0),
        }
    }

    /// The value written at a root of `working`, otherwise the node with that id. `at` is the segment of the name.
    fn written_or_node(&self, name: &str, at: u16) -> (SourceValue<'s>, u16) {
        let written = self.state.get("working").and_then(|working| working.get(name));
        let found = match (written, self.node(name)) {
            (Some(written), Some(node)) => {
                SourceValue::Either(Box::new(SourceValue::Borrowed(written)), Box::new(SourceValue::Borrowed(node)))
            }
            (Some(value), None) | (None, Some(value)) => SourceValue::Borrowed(value),
            (None, None) => SourceValue::Missing(MissingCause::Key(at)),
        };
        (found, at + 1)
    }

    fn node(&self, id: &str) -> Option<&'s Value> {
        self.state.get("nodes").and_then(|nodes| nodes.get(id))
    }

    fn part(&self, root: &str, otherwise: MissingCause) -> SourceValue<'s> {
        self.state.get(root).map_or(SourceValue::Missing(otherwise), SourceValue::Borrowed)
    }

    /// Reports `working.<node id>` in a template if nothing is written under that name.
    fn lint(&self, reference: &Reference, mistakes: &mut SyntaxMistakes) {
        let [root, id, ..] = reference.path.as_slice() else { return };
        if self.names == StateLayout::Root || self.condition || &*root.name != "working" {
            return;
        }
        let written = self.state.get("working").is_some_and(|working| working.get(&id.name).is_some());
        if !written && self.node(&id.name).is_some() {
            let span = reference.span.start as usize..reference.span.end as usize;
            let rest = reference.dotted_path();
            let rest = rest.strip_prefix("working.").unwrap_or_default();
            let mistake = NodeThroughWorking::new(&reference.dotted_path(), &id.name, rest);
            mistakes.add_mistake(mistake.rule, span, mistake.message).set_help(mistake.help);
        }
    }
}

impl ValueScope for BoundState<'_> {
    fn source_value(&self, source: u32) -> SourceValue<'_> {
        if self.names == StateLayout::Root {
            return SourceValue::Borrowed(self.state);
        }
        self.sources.get(source as usize).cloned().unwrap_or(SourceValue::Missing(MissingCause::Key(0)))
    }
}
