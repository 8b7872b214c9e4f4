//! The origins of the values of expressions. Evaluated in addition to [`EvalContext::eval_expr`], never instead of it, so that
//! it cannot affect what a run does; if the two disagree, the origin of a text is unknown.

use std::sync::Arc;

use trefoil_ir::{BoundTemplate, ComposedPart, Source, ValueExpression};
use trefoil_syntax::Location;
use trefoil_template::{HoleKind, PartOrigin, Value, ValueObject};

use super::EvalContext;
use super::scope::{self, EvalScope};
use super::text;
use crate::machine::activation::value_member;
use crate::machine::trail::{
    self, OriginTrail, TextPartsBuilder, TrailNode, TrailPlaceholder, collapse_origins, from_origin_kind, object_trail,
};
use crate::provenance::{Origin, OriginKind, TextPart, covered_len};

/// A value and its origin.
type TracedValue = (Value, OriginTrail);

impl EvalContext<'_> {
    /// The parts of a message, which is an expression's value as text.
    pub fn message_parts(&self, expr: &ValueExpression, shown: &Value) -> Vec<TextPart> {
        let len = shown.to_text().len();
        let mut parts = TextPartsBuilder::default();
        if let Some((value, trail)) = self.trace_expr(expr) {
            push(&mut parts, &text::text_of(&value), &trail);
        }
        if covered_len(&parts.0) == len {
            return parts.0;
        }
        let mut unknown = TextPartsBuilder::default();
        unknown.push(len, Origin::from_kind(OriginKind::Other));
        unknown.0
    }

    /// The parts of a message according to its own expression: the author's text, and the value of each placeholder.
    /// The same in every run, with or without provenance.
    pub fn placeholder_parts(&self, expr: &ValueExpression, shown: &Value) -> Vec<TextPart> {
        EvalContext { trails: false, ..*self }.message_parts(expr, shown)
    }

    fn remembered_trail(&self, slot: trefoil_ir::SlotId) -> OriginTrail {
        if self.trails {
            self.activations.slot_trail(self.activation, slot)
        } else {
            from_origin_kind(OriginKind::Other)
        }
    }

    /// The origin of an expression's value.
    pub fn expr_trail(&self, expr: &ValueExpression) -> OriginTrail {
        self.trace_expr(expr)?.1
    }

    /// The origin of a source's value.
    pub fn source_trail(&self, source: &Source) -> OriginTrail {
        self.trace_source(source, &[])?.1
    }

    /// The origin of a template's text.
    pub fn text_trail(&self, text: &BoundTemplate) -> OriginTrail {
        self.template(text)?.1
    }

    fn trace_expr(&self, expr: &ValueExpression) -> Option<TracedValue> {
        Some(match expr {
            ValueExpression::Const(value) => (value.clone(), from_origin_kind(OriginKind::Const)),
            ValueExpression::Template(text) => self.template(text)?,
            ValueExpression::Typed(text) => self.typed(text)?,
            ValueExpression::Read(source) => self.trace_source(source, &[]).unwrap_or_default(),
            ValueExpression::Object(members) => {
                let mut values = ValueObject::default();
                let mut trails = Vec::new();
                for (key, inner) in members {
                    let (value, trail) = self.trace_expr(inner)?;
                    values.insert(key.clone(), value);
                    trails.push((key.clone(), trail));
                }
                (values.into(), object_trail(trails, None))
            }
            ValueExpression::List(items) => {
                let all = items.iter().map(|e| self.trace_expr(e)).collect::<Option<Vec<_>>>()?;
                let (values, trails): (Vec<Value>, Vec<OriginTrail>) = all.into_iter().unzip();
                (values.into(), Some(Arc::new(TrailNode::List(trails))))
            }
            ValueExpression::Concat(items) => {
                let mut all = TracedTextBuilder::default();
                for item in items {
                    all.push_unless_null(&self.trace_expr(item)?);
                }
                all.end()
            }
            ValueExpression::Join { parts, separator, otherwise } => {
                let found: Vec<TracedValue> = parts.iter().filter_map(|s| self.trace_source(s, &[])).collect();
                let mut found = found.iter().filter(|(value, _)| !value.is_null());
                let Some(first) = found.next() else { return self.trace_expr(otherwise) };
                let mut all = TracedTextBuilder::default();
                all.push_unless_null(first);
                for next in found {
                    all.push_fixed(separator);
                    all.push_unless_null(next);
                }
                all.end()
            }
            ValueExpression::Merge(layers) => self.trace_merge(layers)?,
            ValueExpression::Lines(inner) => self.lines(inner)?,
            ValueExpression::AsText(inner) | ValueExpression::AsMessage(inner) => {
                let (value, trail) = self.trace_expr(inner)?;
                let shown = text::text_of(&value);
                let mut all = TextPartsBuilder::default();
                push(&mut all, &shown, &trail);
                (shown, all.into_trail())
            }
            ValueExpression::If { source, then, otherwise } => {
                let truth = self.read_source(source).map_or(Ok(false), |value| self.truth(value)).ok()?;
                self.trace_expr(if truth { then } else { otherwise })?
            }
            ValueExpression::Structured(inner)
            | ValueExpression::Verdict(inner)
            | ValueExpression::Coerce(inner, _) => {
                let (before, trail) = self.trace_expr(inner)?;
                let value = self.eval_expr(expr).ok()?;
                // Parsed from a text, so its members have the origin of the text.
                let trail = if value == before { trail } else { trail::from_origin(collapse_origins(&trail)) };
                (value, trail)
            }
            ValueExpression::Consensus { verdicts, .. } => {
                let all = verdicts.iter().map(|b| self.expr_trail(&b.value)).collect();
                (
                    self.eval_expr(expr).ok()?,
                    trail::from_origin(collapse_origins(&Some(Arc::new(TrailNode::List(all))))),
                )
            }
        })
    }

    fn trace_merge(&self, layers: &[ValueExpression]) -> Option<TracedValue> {
        let mut merged = ValueObject::default();
        let mut trails = Vec::new();
        for layer in layers {
            let (value, trail) = self.trace_expr(layer)?;
            if let Value::Object(members) = &value {
                for (key, value) in members.iter() {
                    merged.insert(key.clone(), value.clone());
                    trails.push((key.clone(), trail::trail_member(&trail, std::slice::from_ref(key))));
                }
            }
        }
        Some((merged.into(), object_trail(trails, None)))
    }

    fn lines(&self, inner: &ValueExpression) -> Option<TracedValue> {
        let (value, trail) = self.trace_expr(inner)?;
        let mut all = TracedTextBuilder::default();
        match &value {
            Value::Object(members) => {
                for (at, (key, value)) in members.iter().enumerate() {
                    if at > 0 {
                        all.push_fixed("\n");
                    }
                    all.push_fixed(key);
                    all.push_fixed(": ");
                    all.push(value, &trail::trail_member(&trail, std::slice::from_ref(key)));
                }
            }
            Value::List(items) => {
                let mut first = true;
                for (at, item) in items.iter().enumerate().filter(|(_, v)| !text::is_empty(v)) {
                    if !std::mem::take(&mut first) {
                        all.push_fixed("\n");
                    }
                    all.push(item, &trail::trail_member(&trail, &[at.to_string().into()]));
                }
            }
            other => return Some((text::text_of(other), trail)),
        }
        Some(all.end())
    }

    /// A typed position, in which a lone placeholder keeps the origin of its value.
    fn typed(&self, text: &BoundTemplate) -> Option<TracedValue> {
        if !text.template.is_single() {
            return self.template(text);
        }
        let value = text.template.render_value(&self.text_scope(text)).ok()?;
        let (_, parts) = text.template.render_parts(&self.text_scope(text)).ok()?;
        let trail = match parts.as_slice() {
            [one] => self.part_trail(text, &one.from),
            _ => None,
        };
        Some((value, trail))
    }

    fn template(&self, text: &BoundTemplate) -> Option<TracedValue> {
        let (value, parts) = text.template.render_parts(&self.text_scope(text)).ok()?;
        let mut all = TextPartsBuilder::default();
        for part in &parts {
            all.push_value(part.len as usize, &self.part_trail(text, &part.from));
        }
        Some((value, all.into_trail()))
    }

    /// The origin of a part of a rendered template.
    fn part_trail(&self, text: &BoundTemplate, from: &PartOrigin) -> OriginTrail {
        let file = text.origin.file;
        let at = |span: Option<&trefoil_syntax::Span>| span.map_or(text.origin, |s| Location::new(file, *s));
        let placeholder = |index: u32, inside: &[Arc<str>]| {
            let reference = text.template.references().get(index as usize)?;
            let mut path = reference.dotted_path();
            for name in inside {
                path.push('.');
                path.push_str(name);
            }
            Some(TrailPlaceholder { path: path.into(), place: at(text.spans.get(index as usize)) })
        };
        match from {
            PartOrigin::Literal(index) => {
                let span = text.literals.get(*index as usize);
                let from = if span.is_some() { OriginKind::Literal } else { OriginKind::Const };
                trail::from_origin(Origin { place: span.map(|s| Location::new(file, *s)), ..Origin::from_kind(from) })
            }
            PartOrigin::Reference(index) => placeholder(*index, &[])?.hand_on(&self.reference(text, *index, &[])),
            PartOrigin::Inside { local, reference, path } => {
                let here =
                    TrailPlaceholder { place: at(text.locals.get(*local as usize)), ..placeholder(*reference, path)? };
                here.hand_on(&self.reference(text, *reference, path))
            }
            PartOrigin::Default(index) => placeholder(*index, &[])?.hand_on(&from_origin_kind(OriginKind::Const)),
            PartOrigin::Computed(None) => None,
            PartOrigin::Computed(Some(index)) => {
                let known = trail::from_origin(collapse_origins(&self.reference(text, *index, &[])));
                placeholder(*index, &[])?.hand_on(&known)
            }
        }
    }

    fn reference(&self, text: &BoundTemplate, index: u32, inside: &[Arc<str>]) -> OriginTrail {
        let reference = text.template.references().get(index as usize)?;
        let source = text.sources.get(reference.binding.source as usize)?;
        let rest = reference.path.iter().skip(reference.binding.skip.into()).map(|s| s.name.clone());
        let rest: Vec<Arc<str>> = rest.chain(inside.iter().cloned()).collect();
        self.trace_source(source, &rest)?.1
    }

    /// The value and the origin that a template's lookup finds, by source and rest of the path.
    fn trace_source(&self, source: &Source, rest: &[Arc<str>]) -> Option<TracedValue> {
        let stored = |slot, path: &[Arc<str>]| {
            let value = self.activations.read_slot(self.activation, slot)?;
            let trail = self.remembered_trail(slot);
            Some((value_member(value, path)?.clone(), trail::trail_member(&trail, path)))
        };
        let follow = |(value, trail): TracedValue, rest: &[Arc<str>]| {
            Some((value_member(&value, rest)?.clone(), trail::trail_member(&trail, rest)))
        };
        let known = |from: OriginKind| {
            let value = scope::found_value(scope::find_source(self, source, 0))?;
            follow((value, from_origin_kind(from)), rest)
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
            Source::Either(first, second) => self.trace_source(first, rest).or_else(|| self.trace_source(second, rest)),
            Source::Compose { seed, parts } => follow(self.compose(seed, parts), rest),
            Source::Const(_) => known(OriginKind::Const),
            Source::Environment | Source::Secrets => {
                let name = rest.first()?.clone();
                let kind = if *source == Source::Environment { HoleKind::Env } else { HoleKind::Secret };
                let from = match kind {
                    HoleKind::Env => OriginKind::Env(name),
                    HoleKind::Secret => OriginKind::Secret(name),
                };
                Some((Value::Null, from_origin_kind(from)))
            }
            Source::RunId | Source::Spent(_) => known(OriginKind::Run),
            Source::Result => {
                let by = self.by.cloned();
                known(by.map_or(OriginKind::Other, OriginKind::Step))
            }
            Source::Failure => known(OriginKind::Failure(self.by.cloned())),
            Source::Missing(..) => None,
        }
    }

    /// An object composed of slots, in the order of the parts, so that later ones take precedence as in the value.
    fn compose(&self, seed: &Value, parts: &[ComposedPart]) -> TracedValue {
        let mut tree = TrailTree::Leaf(from_origin_kind(OriginKind::Const));
        for part in parts {
            let value =
                self.activations.read_slot(self.activation, part.slot).and_then(|v| value_member(v, &part.member));
            let Some(value) = value else { continue };
            let trail = trail::trail_member(&self.remembered_trail(part.slot), &part.member);
            match (part.at.as_slice(), value) {
                ([], Value::Object(members)) => {
                    for key in members.keys() {
                        tree.lay(std::slice::from_ref(key), trail::trail_member(&trail, std::slice::from_ref(key)));
                    }
                }
                ([], _) => {}
                (at, _) => tree.lay(at, trail),
            }
        }
        let value = scope::compose_slots(self, seed, parts);
        (value, tree.into_trail())
    }

    pub(super) fn text_scope<'t>(&'t self, text: &'t BoundTemplate) -> EvalScope<'t> {
        EvalScope::new(self, &text.sources, text.template.references())
    }
}

/// The origin of an object under construction.
enum TrailTree {
    Leaf(OriginTrail),
    Object(Vec<(Arc<str>, TrailTree)>, OriginTrail),
}

impl TrailTree {
    fn lay(&mut self, at: &[Arc<str>], trail: OriginTrail) {
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

    fn into_trail(self) -> OriginTrail {
        match self {
            Self::Leaf(trail) => trail,
            Self::Object(members, rest) => {
                object_trail(members.into_iter().map(|(name, inner)| (name, inner.into_trail())), rest)
            }
        }
    }
}

/// Concatenated texts with their origins: the counterpart of [`text::MaskedTextBuilder`].
#[derive(Default)]
struct TracedTextBuilder {
    text: text::MaskedTextBuilder,
    parts: TextPartsBuilder,
}

impl TracedTextBuilder {
    fn push_fixed(&mut self, fixed: &str) {
        self.text.push_text(fixed);
        self.parts.push(fixed.len(), Origin::from_kind(OriginKind::Const));
    }

    fn push_unless_null(&mut self, (value, trail): &TracedValue) {
        if !value.is_null() {
            self.push(value, trail);
        }
    }

    fn push(&mut self, value: &Value, trail: &OriginTrail) {
        self.text.push(value);
        push(&mut self.parts, value, trail);
    }

    fn end(self) -> TracedValue {
        (self.text.into_value(), self.parts.into_trail())
    }
}

/// Appends a value as text, with its origin.
fn push(parts: &mut TextPartsBuilder, value: &Value, trail: &OriginTrail) {
    parts.push_value(value.to_text().len(), trail);
}
