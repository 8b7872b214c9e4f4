//! Texts of a manifest as bound expressions, with the names of an agent.

use std::sync::Arc;
use trefoil_syntax::hash::HashSet;

use trefoil_ir::{Cond, Expr, Position, Source, types};
use trefoil_syntax::Location;
use trefoil_syntax::yaml::Text;
use trefoil_template::{Policy, Value};

use crate::agntz::lint::{compare, unresolved};
use crate::agntz::names::{AgentNames, At, Here, Purpose};
use crate::agntz::signature::Prompted;
use crate::build;
use crate::learn::text_type;
use crate::names::{Binder, Use};
use crate::read::Reader;

/// An agent while its texts are bound: its names, and what its texts turned out to read.
pub struct Scope {
    /// Its names.
    pub names: Arc<AgentNames>,
    /// Whether a text reads the input.
    pub reads_input: bool,
    /// What of the input reaches a model.
    pub prompted: Prompted,
    /// Where a text first reads the secret store, which this version does not have.
    pub secret: Option<Location>,
    said: HashSet<String>,
}

impl Scope {
    /// Before any text.
    pub fn new(names: AgentNames) -> Self {
        let (prompted, said) = (Prompted::default(), HashSet::default());
        Self { names: Arc::new(names), reads_input: false, prompted, secret: None, said }
    }

    fn here(&self, at: At, purpose: Purpose, position: Position) -> Here {
        Here { names: self.names.clone(), at, purpose, position }
    }

    /// Notes what a text reads, and reports what is wrong with it.
    fn read(&mut self, reader: &Reader<'_>, here: &Here, uses: &[Use]) {
        for Use { reference, at, bound } in uses {
            let slot = match bound.source {
                Source::Slot(slot) => Some(slot).filter(|s| *s == self.names.input || Some(*s) == self.names.query),
                _ => None,
            };
            self.reads_input |= slot.is_some();
            if slot.is_some() && here.purpose == Purpose::Prompt {
                self.prompted.add(reference.path.first().map_or("userQuery", |s| &s.name));
            }
            if bound.source == Source::Secrets && here.purpose != Purpose::Unused && self.secret.is_none() {
                self.secret = Some(*at);
            }
        }
        unresolved::check(reader, here, uses, &mut self.said);
    }
}

/// Text position. A text with a mistake (reported) becomes null.
pub fn text(
    reader: &Reader<'_>,
    scope: &mut Scope,
    source: &Text,
    at: At,
    purpose: Purpose,
    position: Position,
) -> Expr {
    let here = scope.here(at, purpose, position);
    let mut binder = Binder::new(&here);
    let expr = match purpose {
        Purpose::Prompt => build::prompt_expr(reader, source, &Policy::AGNTZ, &mut binder),
        _ => build::text_expr(reader, source, &Policy::AGNTZ, &mut binder),
    };
    let uses = binder.uses;
    scope.read(reader, &here, &uses);
    if let Some(Expr::Template(text)) = &expr {
        compare::check_tests(reader, &here, source, &text.template, &uses);
    }
    expr.unwrap_or(Expr::Const(Value::Null))
}

/// Typed position (decision A1), and the type of the value. A text with a mistake (reported) becomes null.
pub fn typed(
    reader: &Reader<'_>,
    scope: &mut Scope,
    source: &Text,
    at: At,
    purpose: Purpose,
    position: Position,
) -> (Expr, Value) {
    let here = scope.here(at, purpose, position);
    let mut binder = Binder::new(&here);
    let expr = build::typed_expr(reader, source, &Policy::AGNTZ, &mut binder);
    let uses = binder.uses;
    scope.read(reader, &here, &uses);
    let Some(expr) = expr else { return (Expr::Const(Value::Null), types::any()) };
    if let Expr::Typed(text) = &expr {
        compare::check_tests(reader, &here, source, &text.template, &uses);
    }
    if matches!(purpose, Purpose::Data | Purpose::Request) && position == Position::Data {
        compare::not_computed(reader, source, &expr, purpose == Purpose::Request);
    }
    let schema = match &expr {
        Expr::Typed(text) if text.template.is_single() => {
            uses.first().map_or_else(types::any, |one| one.bound.schema())
        }
        _ => text_type(),
    };
    (expr, schema)
}

/// A condition. One with a mistake (reported) is none.
pub fn condition(reader: &Reader<'_>, scope: &mut Scope, source: &Text, at: At) -> Option<Cond> {
    let here = scope.here(at, Purpose::Condition, Position::Condition);
    let mut binder = Binder::new(&here);
    let condition = build::condition(reader, source, &Policy::AGNTZ, &mut binder);
    let uses = binder.uses;
    scope.read(reader, &here, &uses);
    let condition = condition?;
    compare::check(reader, &here, source, &condition, &uses);
    Some(condition)
}
