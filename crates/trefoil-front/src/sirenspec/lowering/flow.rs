//! One workflow during lowering: its manifest, its names, and the parts made so far.

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::{Guard, ModelCall, ModelChoice, ModelParameters, ProgramSchema, SchemaId, ValueExpression};
use trefoil_syntax::yaml::{YamlNode, YamlText};
use trefoil_syntax::{Location, Span};
use trefoil_template::Value;

use super::body::FactoryBody;
use crate::program_builder::{self, FlowSlots, ProgramBuilder};
use crate::sirenspec::manifest::{GuardList, SirenGuardrail, SirenManifest, SirenModel};
use crate::sirenspec::names::binding::SirenTexts;
use crate::sirenspec::names::callee::SirenCallee;
use crate::sirenspec::names::links::NodeLinks;
use crate::sirenspec::names::node_part::{NodePart, ReadingPoint};
use crate::sirenspec::names::workflow_names::SirenNames;
use crate::yaml_reader::to_value;

/// A workflow to lower.
#[derive(Clone, Copy)]
pub struct WorkflowLowering<'m> {
    /// Its manifest.
    pub manifest: &'m SirenManifest<'m>,
    /// The names available in it.
    pub known: &'m SirenNames,
    /// The links between its nodes.
    pub links: &'m NodeLinks,
    /// Its texts.
    pub texts: &'m SirenTexts,
    /// The workflows that its nodes call, by node.
    pub children: &'m [Option<SirenCallee>],
}

/// The place of a text of a node.
pub struct NodeTextSite<'b> {
    /// The node.
    pub node: usize,
    /// The part of the node.
    pub stand: NodePart,
    /// The flow of the factory instance that contains it, if any.
    pub body: Option<&'b mut FactoryBody>,
}

/// The parts made so far.
pub struct FlowBuilder<'b> {
    /// The program's arenas.
    pub builder: &'b mut ProgramBuilder,
    /// The flow's slots.
    pub slots: FlowSlots,
    /// The first place that needs the message of the run.
    pub message: Option<Location>,
    schemas: BTreeMap<Location, SchemaId>,
}

impl<'b> FlowBuilder<'b> {
    /// Empty, except for the slots.
    pub fn new(builder: &'b mut ProgramBuilder, slots: FlowSlots) -> Self {
        Self { builder, slots, message: None, schemas: BTreeMap::new() }
    }
    fn schema(&mut self, json: &Value, origin: Location) -> SchemaId {
        let builder = &mut *self.builder;
        let new = || builder.add_schema(ProgramSchema { name: "answer".into(), json: json.clone(), origin });
        *self.schemas.entry(origin).or_insert_with(new)
    }
}

impl NodeTextSite<'_> {
    /// Anywhere in a node.
    pub fn for_node(node: usize) -> Self {
        Self { node, stand: NodePart::Plain, body: None }
    }
}

/// A placeholder for an expression with a reported mistake.
pub fn broken_expression() -> ValueExpression {
    ValueExpression::Const(Value::Null)
}

impl WorkflowLowering<'_> {
    /// The location of a span in the file.
    pub fn location_of(&self, span: Span) -> Location {
        self.known.location_of(span)
    }

    fn bound(&self, scope: &mut NodeTextSite<'_>, text: &YamlText) -> Option<trefoil_ir::BoundTemplate> {
        let mut bound = self.texts.get(ReadingPoint::Node(scope.node), scope.stand, text)?.text.to_template()?;
        if let Some(body) = &mut scope.body {
            bound.sources = bound.sources.into_iter().map(|source| body.close_source(self.known, source)).collect();
        }
        Some(bound)
    }

    /// A template as text.
    pub fn text_expression(&self, scope: &mut NodeTextSite<'_>, text: &YamlText) -> ValueExpression {
        match self.bound(scope, text) {
            Some(bound) => program_builder::as_text(bound),
            None => broken_expression(),
        }
    }

    /// An optional template as text.
    pub fn text_or(&self, scope: &mut NodeTextSite<'_>, text: Option<&YamlText>) -> ValueExpression {
        match text {
            Some(text) => self.text_expression(scope, text),
            None => broken_expression(),
        }
    }

    /// A system message. Literal text also keeps its place, because a trace shows where each part of a prompt is
    /// written.
    pub fn prompt_expression(&self, scope: &mut NodeTextSite<'_>, text: &YamlText) -> ValueExpression {
        match self.bound(scope, text) {
            Some(bound) => ValueExpression::Template(bound),
            None => broken_expression(),
        }
    }

    /// A template as a value: a lone placeholder keeps its type.
    pub fn typed_expression(&self, scope: &mut NodeTextSite<'_>, text: &YamlText) -> ValueExpression {
        match self.bound(scope, text) {
            Some(bound) => program_builder::as_typed(bound),
            None => broken_expression(),
        }
    }

    /// A value of `inputs`: a template, or a literal number or boolean.
    pub fn input_expression(&self, scope: &mut NodeTextSite<'_>, node: &YamlNode) -> ValueExpression {
        match node.as_string() {
            Some(text) => self.typed_expression(scope, text),
            None => ValueExpression::Const(to_value(node)),
        }
    }

    /// The guardrails of a call: its own, otherwise the workflow's, otherwise the default.
    pub fn call_guards(&self, made: &mut FlowBuilder<'_>, own: Option<&GuardList>) -> Vec<Guard> {
        let Some(list) = own.or(self.manifest.guardrails.as_ref()) else { return vec![Guard::Injection] };
        let mut guards = Vec::with_capacity(list.guards.len());
        for guard in &list.guards {
            guards.push(match guard {
                SirenGuardrail::Ready(guard) => guard.clone(),
                SirenGuardrail::Schema(json, span) => Guard::Schema(made.schema(json, self.location_of(*span))),
            });
        }
        guards
    }

    /// A model call without parameters, streaming or retries.
    pub fn model_call(
        &self,
        speaker: Arc<str>,
        model: Option<&SirenModel<'_>>,
        user: ValueExpression,
        guards: Vec<Guard>,
    ) -> ModelCall {
        let model = match model {
            Some(model) => ModelChoice {
                provider: Some(model.provider.clone()),
                name: model.name.clone(),
                origin: self.location_of(model.text.span),
            },
            // The mistake was reported, so the program does not run.
            None => ModelChoice { provider: None, name: "".into(), origin: self.location_of(Default::default()) },
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
