//! One workflow during lowering: its manifest, its names, and the parts made so far.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::{Expr, Guard, ModelCall, ModelChoice, ModelParameters, Schema, SchemaId};
use trefoil_syntax::yaml::{Node, Text};
use trefoil_syntax::{Location, Span};
use trefoil_template::Value;

use super::body::Body;
use crate::build::{self, Builder, FlowSlots};
use crate::read::to_value;
use crate::sirenspec::manifest::{GuardList, Guardrail, Manifest, Model};
use crate::sirenspec::names::binding::Texts;
use crate::sirenspec::names::child::Child;
use crate::sirenspec::names::known::Known;
use crate::sirenspec::names::links::Links;
use crate::sirenspec::names::stand::{Reading, Stand};

/// A workflow to lower.
#[derive(Clone, Copy)]
pub struct Workflow<'m> {
    /// Its manifest.
    pub manifest: &'m Manifest<'m>,
    /// The names available in it.
    pub known: &'m Known,
    /// The links between its nodes.
    pub links: &'m Links,
    /// Its texts.
    pub texts: &'m Texts,
    /// The workflows that its nodes call, by node.
    pub children: &'m [Option<Child>],
}

/// The place of a text of a node.
pub struct Scope<'b> {
    /// The node.
    pub node: usize,
    /// The part of the node.
    pub stand: Stand,
    /// The flow of the factory instance that contains it, if any.
    pub body: Option<&'b mut Body>,
}

/// The parts made so far.
pub struct FlowBuilder<'b> {
    /// The program's arenas.
    pub builder: &'b mut Builder,
    /// The flow's slots.
    pub slots: FlowSlots,
    /// The first place that needs the message of the run.
    pub message: Option<Location>,
    schemas: BTreeMap<Location, SchemaId>,
}

impl<'b> FlowBuilder<'b> {
    /// Empty, except for the slots.
    pub fn new(builder: &'b mut Builder, slots: FlowSlots) -> Self {
        Self { builder, slots, message: None, schemas: BTreeMap::new() }
    }
    fn schema(&mut self, json: &Value, origin: Location) -> SchemaId {
        let builder = &mut *self.builder;
        let new = || builder.schema(Schema { name: "answer".into(), json: json.clone(), origin });
        *self.schemas.entry(origin).or_insert_with(new)
    }
}

impl Scope<'_> {
    /// Anywhere in a node.
    pub fn plain(node: usize) -> Self {
        Self { node, stand: Stand::Plain, body: None }
    }
}

/// A placeholder for an expression with a reported mistake.
pub fn broken() -> Expr {
    Expr::Const(Value::Null)
}

impl Workflow<'_> {
    /// The location of a span in the file.
    pub fn at(&self, span: Span) -> Location {
        self.known.at(span)
    }

    fn bound(&self, scope: &mut Scope<'_>, text: &Text) -> Option<trefoil_ir::Text> {
        let mut bound = self.texts.get(Reading::Node(scope.node), scope.stand, text)?.text.text()?;
        if let Some(body) = &mut scope.body {
            bound.sources = bound.sources.into_iter().map(|source| body.close(self.known, source)).collect();
        }
        Some(bound)
    }

    /// A template as text.
    pub fn text(&self, scope: &mut Scope<'_>, text: &Text) -> Expr {
        self.bound(scope, text).map_or_else(broken, build::as_text)
    }

    /// An optional template as text.
    pub fn text_or(&self, scope: &mut Scope<'_>, text: Option<&Text>) -> Expr {
        text.map_or_else(broken, |t| self.text(scope, t))
    }

    /// A system message. Literal text also keeps its place, because a trace shows where each part of a prompt is
    /// written.
    pub fn prompt(&self, scope: &mut Scope<'_>, text: &Text) -> Expr {
        self.bound(scope, text).map_or_else(broken, Expr::Template)
    }

    /// A template as a value: a lone placeholder keeps its type.
    pub fn typed(&self, scope: &mut Scope<'_>, text: &Text) -> Expr {
        self.bound(scope, text).map_or_else(broken, build::as_typed)
    }

    /// A value of `inputs`: a template, or a literal number or boolean.
    pub fn input(&self, scope: &mut Scope<'_>, node: &Node) -> Expr {
        match node.string() {
            Some(text) => self.typed(scope, text),
            None => Expr::Const(to_value(node)),
        }
    }

    /// The guardrails of a call: its own, otherwise the workflow's, otherwise the default.
    pub fn guards(&self, made: &mut FlowBuilder<'_>, own: Option<&GuardList>) -> Vec<Guard> {
        let Some(list) = own.or(self.manifest.guardrails.as_ref()) else { return vec![Guard::Injection] };
        list.guards
            .iter()
            .map(|guard| match guard {
                Guardrail::Ready(guard) => guard.clone(),
                Guardrail::Schema(json, span) => Guard::Schema(made.schema(json, self.at(*span))),
            })
            .collect()
    }

    /// A model call without parameters, streaming or retries.
    pub fn call(&self, speaker: Arc<str>, model: Option<&Model<'_>>, user: Expr, guards: Vec<Guard>) -> ModelCall {
        let model = match model {
            Some(model) => ModelChoice {
                provider: Some(model.provider.clone()),
                name: model.name.clone(),
                origin: self.at(model.text.span),
            },
            // The mistake was reported, so the program does not run.
            None => ModelChoice { provider: None, name: "".into(), origin: self.at(Default::default()) },
        };
        ModelCall {
            speaker,
            model,
            system: None,
            examples: Vec::new(),
            user,
            parameters: ModelParameters::default(),
            places: Vec::new(),
            format: trefoil_ir::AnswerFormat::Text,
            guards,
            stream: true,
        }
    }
}
