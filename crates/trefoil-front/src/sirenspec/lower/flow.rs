//! One workflow while it is lowered: what it says, what it can name, and what has been made of it so far.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::{Expr, Guard, ModelCall, ModelChoice, ModelParameters, Schema, SchemaId, Slot, SlotId};
use trefoil_syntax::yaml::{Node, Text};
use trefoil_syntax::{Location, Span};
use trefoil_template::Value;

use super::body::Body;
use crate::read::to_value;
use crate::sirenspec::manifest::{GuardList, Guardrail, Manifest, Model};
use crate::sirenspec::names::binding::Texts;
use crate::sirenspec::names::child::Child;
use crate::sirenspec::names::known::Known;
use crate::sirenspec::names::links::Links;
use crate::sirenspec::names::stand::{Reading, Stand};
use crate::{Builder, build};

/// A workflow to lower.
#[derive(Clone, Copy)]
pub struct Workflow<'m> {
    /// What the file says.
    pub manifest: &'m Manifest<'m>,
    /// What it can name.
    pub known: &'m Known,
    /// How its nodes hang together.
    pub links: &'m Links,
    /// Its texts.
    pub texts: &'m Texts,
    /// The workflows that its nodes call, by node.
    pub children: &'m [Option<Child>],
}

/// The places of the texts of a node.
pub struct Scope<'b> {
    /// The node.
    pub node: usize,
    /// Where in it.
    pub stand: Stand,
    /// Inside of a factory's instance: its flow.
    pub body: Option<&'b mut Body>,
}

/// What has been made so far.
pub struct FlowBuilder<'b> {
    /// The program's arenas.
    pub builder: &'b mut Builder,
    /// The flow's slots.
    pub slots: Vec<Slot>,
    /// Where the message of the run is needed first.
    pub message: Option<Location>,
    schemas: BTreeMap<Location, SchemaId>,
}

impl<'b> FlowBuilder<'b> {
    /// Nothing yet, but for the slots.
    pub fn new(builder: &'b mut Builder, slots: Vec<Slot>) -> Self {
        Self { builder, slots, message: None, schemas: BTreeMap::new() }
    }
    /// Another slot.
    pub fn slot(&mut self, name: impl Into<Arc<str>>) -> SlotId {
        self.slots.push(Slot::new(name));
        SlotId(self.slots.len() as u32 - 1)
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

/// What stands in for an expression whose mistake has been reported.
pub fn broken() -> Expr {
    Expr::Const(Value::Null)
}

impl Workflow<'_> {
    /// A place of the file.
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

    /// A template that may be absent.
    pub fn text_or(&self, scope: &mut Scope<'_>, text: Option<&Text>) -> Expr {
        text.map_or_else(broken, |t| self.text(scope, t))
    }

    /// A system message. Plain text, too, keeps its place: a trace shows where each part of a prompt is written.
    pub fn prompt(&self, scope: &mut Scope<'_>, text: &Text) -> Expr {
        self.bound(scope, text).map_or_else(broken, Expr::Template)
    }

    /// A template as a value: a lone placeholder keeps its type.
    pub fn typed(&self, scope: &mut Scope<'_>, text: &Text) -> Expr {
        self.bound(scope, text).map_or_else(broken, build::as_typed)
    }

    /// A value of `inputs`: a template, or a number or boolean as it is.
    pub fn input(&self, scope: &mut Scope<'_>, node: &Node) -> Expr {
        match node.string() {
            Some(text) => self.typed(scope, text),
            None => Expr::Const(to_value(node)),
        }
    }

    /// The guardrails that hold for a call: its own, else the workflow's, else the default.
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
            // Reported; the program is thrown away.
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
