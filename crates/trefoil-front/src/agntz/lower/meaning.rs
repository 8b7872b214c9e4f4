//! What the segments of a path name, and which names there are in a place: the side of [`Scope`] that editors ask.
//! Reports nothing; the rules are those of `order` and `path`.

use std::sync::Arc;

use trefoil_ir::{Defined, Name, Position, Source, Visible};
use trefoil_syntax::Location;
use trefoil_template::{Reference, Segment, Value};

use super::namespace::NAMESPACES;
use super::scope::{At, Order, Resolver, Scope};
use super::shape::{Member, Shape};
use super::signature::Exported;
use super::there::{self, TAGS};
use crate::learn::{Meaning, Members, Resolve, object_type, text_type};
use crate::lookalike::Tags;

impl Resolve for Resolver<'_, '_> {
    fn bind(&mut self, reference: &Reference, place: Location) -> (Source, u16) {
        self.resolve(reference, place)
    }

    fn position(&self) -> Position {
        self.position
    }

    fn visible(&self) -> Visible {
        let offer = self.scope.offer.get_or_init(|| Arc::new(Offer::of(self.scope))).clone();
        let at = self.at;
        Visible::lazily(move || offer.at(at))
    }

    fn meanings(&self, reference: &Reference) -> Vec<Meaning> {
        self.scope.meanings(reference, self.at)
    }

    fn is_there(&self, path: &str, _alone: bool) -> bool {
        there::is_there(self.scope, path, self.at)
    }

    fn tags(&self) -> Option<&'static Tags> {
        // In an address single braces are placeholders of its own.
        (self.position != Position::Url).then_some(&TAGS)
    }
}

/// Everything that an agent's templates can name, without borrows: what is visible in a place is worked out from it when
/// somebody asks.
pub struct Offer {
    inputs: Vec<Name>,
    steps: Vec<(Name, Option<Arc<str>>)>,
    order: Order,
}

impl Offer {
    fn of(scope: &Scope<'_>) -> Self {
        let mut inputs = Vec::new();
        for property in &scope.inputs.properties {
            let mut name = Name::new(property.name.clone(), Defined::Always).schema(property.json.clone());
            name.declared = scope.inputs.members.place(&property.name);
            inputs.push(name.note("an input"));
        }
        let given = scope.outside.filter(|_| !scope.inputs.declared).and_then(|o| o.given.as_ref());
        inputs.extend(given.into_iter().flatten().map(|text| {
            let at = Location::new(scope.file, text.content());
            Name::new(text.value.clone(), Defined::Always).declared(at).note("given by the step")
        }));
        if scope.query.is_some() && scope.outside.is_none_or(|o| o.given.is_some()) {
            inputs.push(Name::new("userQuery", Defined::Always).note("the input, as it was given"));
        }
        let steps = scope.steps.iter().map(|step| {
            let schema = step.callee.as_ref().map_or(Value::Bool(true), |c| c.output.schema());
            let name = Name::new(step.key.clone(), Defined::Always).declared(step.at).schema(schema);
            (name.note(format!("the output of `{}`", step.id)), step.when.clone())
        });
        Self { inputs, steps: steps.collect(), order: scope.order }
    }

    fn at(&self, at: At) -> Vec<Name> {
        let mut names = self.inputs.clone();
        let here = match at {
            At::Step(i) => i,
            At::End => self.steps.len(),
        };
        let own = self.steps.get(here).and_then(|(_, when)| when.as_ref());
        for (i, (name, when)) in self.steps.iter().enumerate() {
            let defined = match self.order {
                Order::Parallel if at != At::End => continue,
                Order::Once if i >= here => break,
                Order::Loop if i >= here => Defined::Sometimes,
                // A reader with the same `when` is skipped with it.
                _ if when.is_some() && when.as_ref() != own => Defined::Sometimes,
                _ => Defined::Always,
            };
            names.push(Name { defined, ..name.clone() });
        }
        // `secrets` is a namespace too; as long as there is no secret store it is nothing to offer.
        names.push(Name::new("env", Defined::Always).schema(object_type()).note("environment variables: `env.NAME`"));
        names
    }
}

impl Scope<'_> {
    fn meanings(&self, reference: &Reference, at: At) -> Vec<Meaning> {
        let path = reference.path.as_slice();
        let Some((root, rest)) = path.split_first() else { return Vec::new() };
        let name = &*root.name;
        if NAMESPACES.contains(&name) {
            let store = Meaning::built_in(Defined::Always, object_type());
            let entry = rest.first().map(|_| Meaning::built_in(Defined::Sometimes, text_type()));
            return std::iter::once(store).chain(entry).collect();
        }
        let property = self.inputs.get(name);
        if let Some((step, defined)) = self.standing(name, at)
            && (property.is_none() || defined != Defined::Never)
            && let Some(step) = self.steps.get(step)
        {
            let callee = step.callee.as_deref();
            let shape = callee.filter(|_| self.named(name).len() == 1).map_or(Shape::Any, |s| s.output.clone());
            let mut all = vec![Meaning { to: Some(step.at), defined, schema: shape.schema() }];
            let members = callee.map(|s| s.members.clone()).unwrap_or_default();
            inside(&mut all, rest, shape, members, callee.map(|s| s.exports.as_slice()).unwrap_or_default());
            return all;
        }
        if let Some(property) = property {
            let (to, members) = self.inputs.members.get(name).unwrap_or_default();
            let mut all = vec![Meaning { to, defined: Defined::Always, schema: property.json.clone() }];
            inside(&mut all, rest, Shape::Schema(property.json.clone()), members, &[]);
            return all;
        }
        let outside = self.outside.filter(|_| !self.inputs.declared);
        let first = if self.query.is_some() && name == "userQuery" {
            let null = outside.is_some_and(|o| o.given.is_none());
            Meaning::built_in(if null { Defined::Never } else { Defined::Always }, Value::Bool(true))
        } else if let Some(given) = outside.and_then(|o| o.given.as_ref()?.iter().find(|t| &*t.value == name)) {
            let to = Some(Location::new(self.file, given.content()));
            Meaning { to, defined: Defined::Always, schema: Value::Bool(true) }
        } else if self.inputs.closed || outside.is_some() {
            Meaning::nothing()
        } else {
            // Whoever calls may give it.
            Meaning::built_in(Defined::Sometimes, Value::Bool(true))
        };
        let mut all = vec![first];
        inside(&mut all, rest, Shape::Any, Members::default(), &[]);
        all
    }

    /// The step that a name means in a place, and whether its output is there.
    fn standing(&self, name: &str, at: At) -> Option<(usize, Defined)> {
        let hits = self.named(name);
        let here = match at {
            At::Step(i) => i,
            At::End => self.steps.len(),
        };
        let before = hits.iter().rev().find(|i| **i < here).copied();
        let step = before.or(hits.first().copied())?;
        let when = |i: usize| self.steps.get(i).and_then(|s| s.when.as_ref());
        let defined = match before {
            _ if self.order == Order::Parallel && at != At::End => Defined::Never,
            None if self.order == Order::Loop => Defined::Sometimes,
            None => Defined::Never,
            Some(step) if hits.len() == 1 && when(step).is_some() && when(step) != when(here) => Defined::Sometimes,
            Some(_) => Defined::Always,
        };
        Some((step, defined))
    }
}

/// The rest of a path inside of a value, and of the inner results beneath it (decision A10).
fn inside(all: &mut Vec<Meaning>, rest: &[Segment], mut shape: Shape, mut members: Members, mut beneath: &[Exported]) {
    for segment in rest {
        let defined = all.last().map_or(Defined::Always, |m| m.defined);
        let found = members.get(&segment.name);
        let export = beneath.iter().find(|e| e.is(&segment.name));
        match (shape.member(&segment.name), export) {
            (Member::Is(next), _) => {
                let (to, inner) = found.unwrap_or_default();
                all.push(Meaning { to, defined, schema: next.schema() });
                (shape, members, beneath) = (next, inner, &[]);
            }
            (Member::Maybe, None) => {
                let (to, inner) = found.unwrap_or_default();
                all.push(Meaning { to, defined, schema: Value::Bool(true) });
                (shape, members, beneath) = (Shape::Any, inner, &[]);
            }
            (Member::Maybe | Member::Never { .. }, Some(export)) => {
                all.push(Meaning { to: export.at, defined, schema: export.shape.schema() });
                shape = export.shape.clone();
                members = export.members.clone();
                beneath = export.inner.as_deref().map(|s| s.exports.as_slice()).unwrap_or_default();
            }
            (Member::Never { .. }, None) => {
                all.push(Meaning::nothing());
                return;
            }
        }
    }
}
