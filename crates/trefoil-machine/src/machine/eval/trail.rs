//! The origins of the values of expressions. Evaluated in addition to [`Context::expr`], never instead of it, so that
//! it cannot affect what a run does; if the two disagree, the origin of a text is unknown.

use std::sync::Arc;

use trefoil_ir::{ComposedPart, Expr, Source, Text};
use trefoil_syntax::Location;
use trefoil_template::{HoleKind, Object, Produced, Value};

use super::Context;
use super::scope::{self, EvalScope};
use super::text;
use crate::machine::activation::member;
use crate::machine::trail::{self, Parts, Placeholder, Trail, TrailNode, collapse, object, whole};
use crate::provenance::{From, Origin, TextPart, covered};

/// A value and its origin.
type Traced = (Value, Trail);

impl Context<'_> {
    /// The parts of a message, which is an expression's value as text.
    pub fn parts(&self, expr: &Expr, shown: &Value) -> Vec<TextPart> {
        let len = shown.to_text().len();
        let mut parts = Parts::default();
        if let Some((value, trail)) = self.traced(expr) {
            push(&mut parts, &text::of(&value), &trail);
        }
        if covered(&parts.0) == len {
            return parts.0;
        }
        let mut unknown = Parts::default();
        unknown.push(len, Origin::of(From::Other));
        unknown.0
    }

    /// The parts of a message according to its own expression: the author's text, and the value of each placeholder.
    /// The same in every run, with or without provenance.
    pub fn placeholders(&self, expr: &Expr, shown: &Value) -> Vec<TextPart> {
        Context { trails: false, ..*self }.parts(expr, shown)
    }

    fn remembered(&self, slot: trefoil_ir::SlotId) -> Trail {
        if self.trails { self.activations.trail(self.activation, slot) } else { whole(From::Other) }
    }

    /// The origin of an expression's value.
    pub fn trail(&self, expr: &Expr) -> Trail {
        self.traced(expr)?.1
    }

    /// The origin of a source's value.
    pub fn source_trail(&self, source: &Source) -> Trail {
        self.look(source, &[])?.1
    }

    /// The origin of a template's text.
    pub fn text_trail(&self, text: &Text) -> Trail {
        self.template(text)?.1
    }

    fn traced(&self, expr: &Expr) -> Option<Traced> {
        Some(match expr {
            Expr::Const(value) => (value.clone(), whole(From::Const)),
            Expr::Template(text) => self.template(text)?,
            Expr::Typed(text) => self.typed(text)?,
            Expr::Read(source) => self.look(source, &[]).unwrap_or_default(),
            Expr::Object(members) => {
                let mut values = Object::default();
                let mut trails = Vec::new();
                for (key, inner) in members {
                    let (value, trail) = self.traced(inner)?;
                    values.insert(key.clone(), value);
                    trails.push((key.clone(), trail));
                }
                (values.into(), object(trails, None))
            }
            Expr::List(items) => {
                let all = items.iter().map(|e| self.traced(e)).collect::<Option<Vec<_>>>()?;
                let (values, trails): (Vec<Value>, Vec<Trail>) = all.into_iter().unzip();
                (values.into(), Some(Arc::new(TrailNode::List(trails))))
            }
            Expr::Concat(items) => {
                let mut all = Joining::default();
                for item in items {
                    all.push_unless_null(&self.traced(item)?);
                }
                all.end()
            }
            Expr::Join { parts, separator, otherwise } => {
                let found: Vec<Traced> = parts.iter().filter_map(|s| self.look(s, &[])).collect();
                let mut found = found.iter().filter(|(value, _)| !value.is_null());
                let Some(first) = found.next() else { return self.traced(otherwise) };
                let mut all = Joining::default();
                all.push_unless_null(first);
                for next in found {
                    all.fixed(separator);
                    all.push_unless_null(next);
                }
                all.end()
            }
            Expr::Merge(layers) => {
                let mut merged = Object::default();
                let mut trails = Vec::new();
                for layer in layers {
                    let (value, trail) = self.traced(layer)?;
                    if let Value::Object(members) = &value {
                        for (key, value) in members.iter() {
                            merged.insert(key.clone(), value.clone());
                            trails.push((key.clone(), trail::member(&trail, std::slice::from_ref(key))));
                        }
                    }
                }
                (merged.into(), object(trails, None))
            }
            Expr::Lines(inner) => self.lines(inner)?,
            Expr::AsText(inner) | Expr::AsMessage(inner) => {
                let (value, trail) = self.traced(inner)?;
                let shown = text::of(&value);
                let mut all = Parts::default();
                push(&mut all, &shown, &trail);
                (shown, all.into_trail())
            }
            Expr::If { source, then, otherwise } => {
                let truth = self.read(source).map_or(Ok(false), |value| self.truth(value)).ok()?;
                self.traced(if truth { then } else { otherwise })?
            }
            Expr::Structured(inner) | Expr::Verdict(inner) | Expr::Coerce(inner, _) => {
                let (before, trail) = self.traced(inner)?;
                let value = self.expr(expr).ok()?;
                // Parsed from a text, so its members have the origin of the text.
                let trail = if value == before { trail } else { trail::origin(collapse(&trail)) };
                (value, trail)
            }
            Expr::Consensus { verdicts, .. } => {
                let all = verdicts.iter().map(|b| self.trail(&b.value)).collect();
                (self.expr(expr).ok()?, trail::origin(collapse(&Some(Arc::new(TrailNode::List(all))))))
            }
        })
    }

    fn lines(&self, inner: &Expr) -> Option<Traced> {
        let (value, trail) = self.traced(inner)?;
        let mut all = Joining::default();
        match &value {
            Value::Object(members) => {
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        all.fixed("\n");
                    }
                    all.fixed(key);
                    all.fixed(": ");
                    all.push(value, &trail::member(&trail, std::slice::from_ref(key)));
                }
            }
            Value::List(items) => {
                let mut first = true;
                for (at, item) in items.iter().enumerate().filter(|(_, v)| !text::is_empty(v)) {
                    if !std::mem::take(&mut first) {
                        all.fixed("\n");
                    }
                    all.push(item, &trail::member(&trail, &[at.to_string().into()]));
                }
            }
            other => return Some((text::of(other), trail)),
        }
        Some(all.end())
    }

    /// A typed position, in which a lone placeholder keeps the origin of its value.
    fn typed(&self, text: &Text) -> Option<Traced> {
        if !text.template.is_single() {
            return self.template(text);
        }
        let value = text.template.value(&self.of(text)).ok()?;
        let (_, parts) = text.template.parts(&self.of(text)).ok()?;
        let trail = match parts.as_slice() {
            [one] => self.produced(text, &one.from),
            _ => None,
        };
        Some((value, trail))
    }

    fn template(&self, text: &Text) -> Option<Traced> {
        let (value, parts) = text.template.parts(&self.of(text)).ok()?;
        let mut all = Parts::default();
        for part in &parts {
            all.push_value(part.len as usize, &self.produced(text, &part.from));
        }
        Some((value, all.into_trail()))
    }

    /// The origin of a part of a rendered template.
    fn produced(&self, text: &Text, from: &Produced) -> Trail {
        let file = text.origin.file;
        let at = |span: Option<&trefoil_syntax::Span>| span.map_or(text.origin, |s| Location::new(file, *s));
        let placeholder = |index: u32, inside: &[Arc<str>]| {
            let reference = text.template.references().get(index as usize)?;
            let mut path = reference.dotted();
            for name in inside {
                path.push('.');
                path.push_str(name);
            }
            Some(Placeholder { path: path.into(), place: at(text.spans.get(index as usize)) })
        };
        match from {
            Produced::Literal(index) => {
                let span = text.literals.get(*index as usize);
                let from = if span.is_some() { From::Literal } else { From::Const };
                trail::origin(Origin { place: span.map(|s| Location::new(file, *s)), ..Origin::of(from) })
            }
            Produced::Reference(index) => placeholder(*index, &[])?.hand_on(&self.reference(text, *index, &[])),
            Produced::Inside { local, reference, path } => {
                let here =
                    Placeholder { place: at(text.locals.get(*local as usize)), ..placeholder(*reference, path)? };
                here.hand_on(&self.reference(text, *reference, path))
            }
            Produced::Default(index) => placeholder(*index, &[])?.hand_on(&whole(From::Const)),
            Produced::Computed(None) => None,
            Produced::Computed(Some(index)) => {
                let known = trail::origin(collapse(&self.reference(text, *index, &[])));
                placeholder(*index, &[])?.hand_on(&known)
            }
        }
    }

    fn reference(&self, text: &Text, index: u32, inside: &[Arc<str>]) -> Trail {
        let reference = text.template.references().get(index as usize)?;
        let source = text.sources.get(reference.binding.source as usize)?;
        let rest = reference.path.iter().skip(reference.binding.skip.into()).map(|s| s.name.clone());
        let rest: Vec<Arc<str>> = rest.chain(inside.iter().cloned()).collect();
        self.look(source, &rest)?.1
    }

    /// The value and the origin that a template's lookup finds, by source and rest of the path.
    fn look(&self, source: &Source, rest: &[Arc<str>]) -> Option<Traced> {
        let stored = |slot, path: &[Arc<str>]| {
            let value = self.activations.read(self.activation, slot)?;
            let trail = self.remembered(slot);
            Some((member(value, path)?.clone(), trail::member(&trail, path)))
        };
        let follow = |(value, trail): Traced, rest: &[Arc<str>]| {
            Some((member(&value, rest)?.clone(), trail::member(&trail, rest)))
        };
        let known = |from: From| {
            let value = scope::whole(scope::find(self, source, 0))?;
            follow((value, whole(from)), rest)
        };
        match source {
            Source::Slot(slot) => stored(*slot, rest),
            Source::Member(slot, path) => follow(stored(*slot, path)?, rest),
            Source::Layered { top, path, under } => {
                let mut top = stored(*top, path)?;
                let mut under = stored(*under, &[]).unwrap_or_default();
                let mut at = 0;
                while let Some(name) = rest.get(at) {
                    if top.0.get(name).is_some() {
                        break;
                    }
                    let Some(beneath) = follow(under, std::slice::from_ref(name)) else { break };
                    top = follow(beneath.clone(), &["out".into()]).unwrap_or_default();
                    under = follow(beneath, &["in".into()]).unwrap_or_default();
                    at += 1;
                }
                follow(top, rest.get(at..)?)
            }
            Source::Either(first, second) => self.look(first, rest).or_else(|| self.look(second, rest)),
            Source::Compose { seed, parts } => follow(self.compose(seed, parts), rest),
            Source::Const(_) => known(From::Const),
            Source::Environment | Source::Secrets => {
                let name = rest.first()?.clone();
                let kind = if *source == Source::Environment { HoleKind::Env } else { HoleKind::Secret };
                let from = match kind {
                    HoleKind::Env => From::Env(name),
                    HoleKind::Secret => From::Secret(name),
                };
                Some((Value::Null, whole(from)))
            }
            Source::RunId | Source::Spent(_) => known(From::Run),
            Source::Result => {
                let by = self.by.cloned();
                known(by.map_or(From::Other, From::Step))
            }
            Source::Failure => known(From::Failure(self.by.cloned())),
            Source::Missing(..) => None,
        }
    }

    /// An object composed of slots, in the order of the parts, so that later ones take precedence as in the value.
    fn compose(&self, seed: &Value, parts: &[ComposedPart]) -> Traced {
        let mut tree = TrailTree::Leaf(whole(From::Const));
        for part in parts {
            let value = self.activations.read(self.activation, part.slot).and_then(|v| member(v, &part.member));
            let Some(value) = value else { continue };
            let trail = trail::member(&self.remembered(part.slot), &part.member);
            match (part.at.as_slice(), value) {
                ([], Value::Object(members)) => {
                    for key in members.keys() {
                        tree.lay(std::slice::from_ref(key), trail::member(&trail, std::slice::from_ref(key)));
                    }
                }
                ([], _) => {}
                (at, _) => tree.lay(at, trail),
            }
        }
        let value = scope::composed(self, seed, parts);
        (value, tree.into_trail())
    }

    pub(super) fn of<'t>(&'t self, text: &'t Text) -> EvalScope<'t> {
        EvalScope::new(self, &text.sources, text.template.references())
    }
}

/// The origin of an object under construction.
enum TrailTree {
    Leaf(Trail),
    Object(Vec<(Arc<str>, TrailTree)>, Trail),
}

impl TrailTree {
    fn lay(&mut self, at: &[Arc<str>], trail: Trail) {
        let Some((name, rest)) = at.split_first() else {
            *self = Self::Leaf(trail);
            return;
        };
        if let Self::Leaf(known) = self {
            *self = Self::Object(Vec::new(), known.take());
        }
        let Self::Object(members, _) = self else { return };
        match members.iter_mut().find(|(known, _)| known == name) {
            Some((_, inner)) => inner.lay(rest, trail),
            None => {
                let mut inner = Self::Leaf(None);
                inner.lay(rest, trail);
                members.push((name.clone(), inner));
            }
        }
    }

    fn into_trail(self) -> Trail {
        match self {
            Self::Leaf(trail) => trail,
            Self::Object(members, rest) => {
                object(members.into_iter().map(|(name, inner)| (name, inner.into_trail())), rest)
            }
        }
    }
}

/// Concatenated texts with their origins: the counterpart of [`text::Joined`].
#[derive(Default)]
struct Joining {
    text: text::Joined,
    parts: Parts,
}

impl Joining {
    fn fixed(&mut self, fixed: &str) {
        self.text.push_text(fixed);
        self.parts.push(fixed.len(), Origin::of(From::Const));
    }

    fn push_unless_null(&mut self, (value, trail): &Traced) {
        if !value.is_null() {
            self.push(value, trail);
        }
    }

    fn push(&mut self, value: &Value, trail: &Trail) {
        self.text.push(value);
        push(&mut self.parts, value, trail);
    }

    fn end(self) -> Traced {
        (self.text.into_value(), self.parts.into_trail())
    }
}

/// Appends a value as text, with its origin.
fn push(parts: &mut Parts, value: &Value, trail: &Trail) {
    parts.push_value(value.to_text().len(), trail);
}
