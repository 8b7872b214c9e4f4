//! One workflow while it is lowered: what it says, what it can name, and what has been made of it so far.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::{
    Cond, Expr, Guard, ModelCall, ModelChoice, ModelParameters, Position, Schema, SchemaId, Slot, SlotId,
};
use trefoil_syntax::Location;
use trefoil_syntax::yaml::{Node, Text};
use trefoil_template::{Policy, Value};

use super::inputs::Inputs;
use super::known::Known;
use super::links::Links;
use super::meaning::Here;
use super::names::Names;
use super::scope::Scope;
use super::when;
use crate::build;
use crate::read::to_value;
use crate::sirenspec::manifest::{GuardList, Guardrail, Manifest, Model, Refusal};
use crate::{Builder, Reader};

/// A workflow being lowered.
pub struct Workflow<'m, 'd> {
    /// The file's reader.
    pub reader: &'m Reader<'d>,
    /// What the file says.
    pub manifest: &'m Manifest<'m>,
    /// What it can name.
    pub names: &'m Names<'m>,
    /// How its nodes hang together.
    pub links: &'m Links<'m>,
    /// What a run gives it.
    pub inputs: &'m Inputs,
    /// Where names are declared, for editors.
    pub known: &'m Arc<Known>,
}

/// What has been made so far.
pub struct Made<'b> {
    /// The program's arenas.
    pub builder: &'b mut Builder,
    /// The flow's slots.
    pub slots: Slots,
    /// What keeps a run from starting.
    pub refusals: Vec<Refusal>,
    schemas: RefCell<BTreeMap<Location, SchemaId>>,
}

/// The slots of a flow.
#[derive(Debug, Clone, Default)]
pub struct Slots(pub Vec<Slot>);

impl Slots {
    /// Another slot.
    pub fn add(&mut self, name: impl Into<Arc<str>>) -> SlotId {
        self.0.push(Slot::new(name));
        SlotId(self.0.len() as u32 - 1)
    }
    /// Notes where else the manifest puts a slot's value.
    pub fn also_at(&mut self, slot: SlotId, path: String) {
        if let Some(slot) = self.0.get_mut(slot.index()) {
            slot.writes.push(path.into());
        }
    }
}

impl<'b> Made<'b> {
    /// Nothing yet, but for the slots.
    pub fn new(builder: &'b mut Builder, slots: Slots) -> Self {
        Self { builder, slots, refusals: Vec::new(), schemas: RefCell::default() }
    }
    /// A run cannot start because of this.
    pub fn refuse(&mut self, refusal: &Refusal) {
        if !self.refusals.contains(refusal) {
            self.refusals.push(refusal.clone());
        }
    }
}

/// What stands in for an expression whose mistake has been reported.
pub fn broken() -> Expr {
    Expr::Const(Value::Null)
}

impl Workflow<'_, '_> {
    /// A template as text.
    pub fn text(&self, scope: &Scope<'_, '_, '_>, position: Position, text: &Text) -> Expr {
        let mut resolve = Here { scope, position, condition: false };
        let expr = match position {
            Position::System => build::prompt_expr(self.reader, text, &Policy::SIRENSPEC, &mut resolve),
            _ => build::text_expr(self.reader, text, &Policy::SIRENSPEC, &mut resolve),
        };
        expr.unwrap_or_else(broken)
    }

    /// A template that may be absent.
    pub fn text_or(&self, scope: &Scope<'_, '_, '_>, position: Position, text: Option<&Text>) -> Expr {
        text.map_or_else(broken, |t| self.text(scope, position, t))
    }

    /// A template as a value: a lone placeholder keeps its type.
    pub fn typed(&self, scope: &Scope<'_, '_, '_>, text: &Text) -> Expr {
        let mut resolve = Here { scope, position: Position::Data, condition: false };
        build::typed_expr(self.reader, text, &Policy::SIRENSPEC, &mut resolve).unwrap_or_else(broken)
    }

    /// A value of `inputs`: a template, or a number or boolean as it is.
    pub fn input(&self, scope: &Scope<'_, '_, '_>, node: &Node) -> Expr {
        match node.string() {
            Some(text) => self.typed(scope, text),
            None => Expr::Const(to_value(node)),
        }
    }

    /// An edge's condition.
    pub fn condition(&self, scope: &Scope<'_, '_, '_>, text: &Text) -> Option<Cond> {
        let mut resolve = Here { scope, position: Position::Condition, condition: true };
        let cond = build::condition(self.reader, text, &Policy::SIRENSPEC, &mut resolve)?;
        when::check(self.reader, text, &cond);
        Some(cond)
    }

    /// The guardrails that hold for a call: its own, else the workflow's, else the default.
    pub fn guards(&self, made: &mut Made<'_>, own: Option<&GuardList<'_>>) -> Vec<Guard> {
        let Some(list) = own.or(self.manifest.guardrails.as_ref()) else { return vec![Guard::Injection] };
        list.refusals.iter().for_each(|refusal| made.refuse(refusal));
        list.guards
            .iter()
            .map(|guard| match guard {
                Guardrail::Ready(guard) => guard.clone(),
                Guardrail::Schema(node) => Guard::Schema(self.schema(made, node)),
            })
            .collect()
    }

    fn schema(&self, made: &mut Made<'_>, node: &Node) -> SchemaId {
        let origin = self.reader.at(node.span);
        if let Some(id) = made.schemas.borrow().get(&origin) {
            return *id;
        }
        // A broken one is reported; the program is thrown away.
        let json = crate::schema::read(self.reader, node, "schema").unwrap_or(Value::Bool(true));
        let id = made.builder.schema(Schema { name: "answer".into(), json, origin });
        made.schemas.borrow_mut().insert(origin, id);
        id
    }

    /// A model call without parameters, streaming or retries.
    pub fn call(&self, speaker: Arc<str>, model: Option<&Model<'_>>, user: Expr, guards: Vec<Guard>) -> ModelCall {
        let model = match model {
            Some(model) => ModelChoice {
                provider: Some(model.provider.clone()),
                name: model.name.clone(),
                origin: self.reader.at(model.text.span),
            },
            // Reported; the program is thrown away.
            None => ModelChoice { provider: None, name: "".into(), origin: self.reader.at(Default::default()) },
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
