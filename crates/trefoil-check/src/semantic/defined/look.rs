//! Visits one expression in one place: its reads, and what is known about each.

use trefoil_ir::solve::TestTree;
use trefoil_ir::types::{Member, Type};
use trefoil_ir::{Cond, Expr, FlowId, Lost, Position, SlotId, Source, StepId, Text};
use trefoil_syntax::Location;
use trefoil_template::{Reference, Words};

use super::Walk;
use super::asked::asks_for;
use super::lacks::is_lost;
use crate::semantic::reads::{Defined, Read, Why};
use crate::semantic::slots::{Slots, State};
use trefoil_ir::walk::children;

/// The place of an expression, and whether missing values are handled there.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadPlace {
    pub step: Option<StepId>,
    pub at: Location,
    pub position: Position,
    pub guarded: bool,
    pub strict: bool,
    pub words: Option<&'static Words>,
}

impl ReadPlace {
    /// A place in a step.
    pub fn new(step: Option<StepId>, at: Location, position: Position) -> Self {
        Self { step, at, position, guarded: false, strict: false, words: None }
    }
    /// Marks missing values as handled.
    pub fn guarded(self) -> Self {
        Self { guarded: true, ..self }
    }
}

impl<'p> Walk<'_, 'p> {
    pub(super) fn expr(&mut self, expr: &'p Expr, state: &State, place: ReadPlace) {
        match expr {
            Expr::Const(_) => {}
            Expr::Template(text) => self.text(text, state, place, false),
            Expr::Typed(text) => self.text(text, state, place, true),
            Expr::Read(source) => self.read((source, None, &[]), state, place, true),
            Expr::Object(members) => members.iter().for_each(|(_, e)| self.expr(e, state, place)),
            Expr::List(items) | Expr::Concat(items) => items.iter().for_each(|e| self.expr(e, state, place)),
            // Values that are not objects are skipped.
            Expr::Merge(layers) => layers.iter().for_each(|e| self.expr(e, state, place.guarded())),
            Expr::Join { parts, otherwise, .. } => {
                parts.iter().for_each(|s| self.read((s, None, &[]), state, place.guarded(), false));
                self.expr(otherwise, state, place);
            }
            Expr::Lines(inner)
            | Expr::AsText(inner)
            | Expr::AsMessage(inner)
            | Expr::Structured(inner)
            | Expr::Verdict(inner)
            | Expr::Coerce(inner, _) => {
                self.expr(inner, state, place);
            }
            Expr::If { source, then, otherwise } => {
                self.read((source, None, &[]), state, place.guarded(), false);
                let inside = if matches!(&**then, Expr::Read(_)) { place.guarded() } else { place };
                self.expr(then, state, inside);
                self.expr(otherwise, state, place);
            }
            Expr::Consensus { verdicts, .. } => verdicts.iter().for_each(|b| self.expr(&b.value, state, place)),
        }
    }

    /// The arguments of a tool that makes requests.
    pub(super) fn request(&mut self, arguments: &'p Expr, state: &State, place: ReadPlace) {
        let Expr::Object(members) = arguments else { return self.expr(arguments, state, place) };
        for (key, value) in members {
            let position = match &**key {
                "url" => Position::Url,
                "headers" => Position::Header,
                _ => Position::Data,
            };
            self.expr(value, state, ReadPlace { position, ..place });
        }
    }

    pub(super) fn text(&mut self, text: &'p Text, state: &State, place: ReadPlace, typed: bool) {
        let lone = typed && text.template.is_single() && text.template.expressions().is_empty();
        for (i, reference) in text.template.references().iter().enumerate() {
            let Some(source) = text.sources.get(reference.binding.source as usize) else { continue };
            let span = text.spans.get(i).copied().unwrap_or(text.origin.span);
            let words = Some(text.template.words());
            let strict = text.template.is_strict();
            let place = ReadPlace { at: Location::new(text.origin.file, span), strict, words, ..place };
            match self.answered(text, source, reference) {
                Some(bit) if !state.must.has(bit) => {
                    let mut here = state.clone();
                    here.set(bit);
                    self.written(source, reference, &here, place, lone);
                }
                _ => self.written(source, reference, state, place, lone),
            }
        }
    }

    pub(super) fn cond(&mut self, cond: &'p Cond, state: &State, step: Option<StepId>) {
        for (i, reference) in cond.condition.references().iter().enumerate() {
            let Some(source) = cond.sources.get(reference.binding.source as usize) else { continue };
            let span = cond.spans.get(i).copied().unwrap_or(cond.origin.span);
            let at = Location::new(cond.origin.file, span);
            // A condition may test for missing values.
            let place = ReadPlace {
                words: Some(cond.condition.words()),
                ..ReadPlace::new(step, at, Position::Condition).guarded()
            };
            self.written(source, reference, state, place, false);
        }
    }

    fn written(&mut self, source: &'p Source, reference: &'p Reference, state: &State, place: ReadPlace, lone: bool) {
        let path: Vec<&str> =
            reference.path.iter().skip(usize::from(reference.binding.skip)).map(|s| &*s.name).collect();
        // The block tests another member of the slot's own value. Members that are written separately imply nothing
        // about each other.
        let whole = |slot: &SlotId| !self.keys.keys().any(|(of, _)| of == slot);
        let beside = reference.beside()
            && match source {
                Source::Slot(slot) => reference.binding.skip == 1 && whole(slot),
                Source::Member(slot, _) => whole(slot),
                _ => false,
            };
        let guarded = place.guarded || reference.guarded || beside || reference.default.is_some();
        self.read((source, Some(reference), &path), state, ReadPlace { guarded, ..place }, lone);
    }

    fn read(
        &mut self,
        (source, reference, path): (&'p Source, Option<&'p Reference>, &[&str]),
        state: &State,
        place: ReadPlace,
        lone: bool,
    ) {
        if self.silent > 0 {
            return;
        }
        let walk = self.types.source(self.id, source, path, None);
        let skip = reference.map_or(0, |r| usize::from(r.binding.skip));
        let read = Read {
            flow: self.id,
            step: place.step,
            at: place.at,
            reference,
            source,
            defined: self.defined(source, path, state),
            schema: walk.schema,
            optional: walk.optional,
            stop: beyond(source).or_else(|| walk.stop.map(|(at, why)| (at + skip, why))),
            undeclared: walk.undeclared.map(|(at, all)| (at + skip, all)),
            guarded: place.guarded || self.is_asked(source),
            lone,
            position: place.position,
            strict: place.strict,
            words: place.words,
        };
        self.known.reads.push(read);
    }

    /// Whether this runs only if a source has a value.
    fn is_asked(&self, source: &Source) -> bool {
        let by_edges = !self.edges.is_empty() && self.edges.iter().all(|cond| asks_for(cond, source));
        by_edges || self.holds.iter().any(|cond| asks_for(cond, source))
    }

    /// Whether a source has a value here. If one of several slots is set on each path to this node, it always has.
    pub(super) fn defined(&self, source: &Source, path: &[&str], state: &State) -> Defined {
        match self.defined_at(source, path, state) {
            Defined::Sometimes(why) => {
                let with = |way: &Slots| {
                    let mut here = state.clone();
                    here.must.unite(way);
                    self.defined_at(source, path, &here) == Defined::Always
                };
                match !self.ways.is_empty() && self.ways.iter().all(with) {
                    true => Defined::Always,
                    false => Defined::Sometimes(why),
                }
            }
            known => known,
        }
    }

    fn defined_at(&self, source: &Source, path: &[&str], state: &State) -> Defined {
        match source {
            Source::Slot(slot) => match path.first().and_then(|key| self.keys.get(&(*slot, (*key).into()))) {
                Some(key) => self.key(*key, state),
                None => match self.bit(slot.index(), state) {
                    Defined::Always => self.inside_of(*slot, path.iter().copied(), state),
                    other => other,
                },
            },
            Source::Member(slot, member) => match self.bit(slot.index(), state) {
                Defined::Always => {
                    self.inside_of(*slot, member.iter().map(|m| &**m).chain(path.iter().copied()), state)
                }
                other => other,
            },
            Source::Layered { top, path: to, under } => {
                let here = self.bit(top.index(), state);
                if here != Defined::Always {
                    return here;
                }
                let member: Vec<&str> = to.iter().map(|m| &**m).collect();
                let of = self.types.source(self.id, &Source::Slot(*top), &member, None).schema;
                self.beneath(&of, self.types.exporters(self.id, *under), path)
            }
            Source::Either(first, second) => {
                let [first, second] = [first, second].map(|s| self.defined_at(s, path, state));
                match (first, second) {
                    (Defined::Always, _) | (_, Defined::Always) => Defined::Always,
                    (Defined::Never, other) => other,
                    (first, _) => first,
                }
            }
            Source::Compose { seed, parts } => {
                if path.iter().try_fold(seed, |value, name| value.get(name)).is_some() {
                    return Defined::Always;
                }
                let mut known = Defined::Never;
                for part in parts {
                    let shared = part.at.iter().zip(path).take_while(|(a, b)| &***a == **b).count();
                    if shared < part.at.len() && shared < path.len() {
                        continue;
                    }
                    let bit = match self.bit(part.slot.index(), state) {
                        Defined::Always if shared == part.at.len() => {
                            let rest = path.iter().skip(shared).copied();
                            self.inside(part.slot, part.member.iter().map(|m| &**m).chain(rest))
                        }
                        bit => bit,
                    };
                    match (bit, &known) {
                        (Defined::Always, _) => return Defined::Always,
                        (some, Defined::Never) => known = some,
                        _ => {}
                    }
                }
                known
            }
            Source::Missing(..) => Defined::Never,
            Source::Const(_)
            | Source::Environment
            | Source::Secrets
            | Source::RunId
            | Source::Spent(_)
            | Source::Result
            | Source::Failure => Defined::Always,
        }
    }

    /// A path into a slot with a value, which may be the result of a state that has failed.
    fn inside_of<'n>(&self, slot: SlotId, path: impl Iterator<Item = &'n str> + Clone, state: &State) -> Defined {
        match self.succeeded.get(&slot) {
            Some(bit) if !state.must.has(*bit) && is_lost(path.clone()) => Defined::Sometimes(Why::Failed),
            _ => self.inside(slot, path),
        }
    }

    fn bit(&self, i: usize, state: &State) -> Defined {
        if state.must.has(i) {
            return Defined::Always;
        }
        if !state.may.has(i) {
            return Defined::Never;
        }
        let why = self.why.get(i).cloned().flatten().unwrap_or(Why::NotWritten);
        match &why {
            // The reader has the same condition, so both are skipped.
            Why::Skipped { when, .. } if self.holds.iter().any(|c| c.text == *when) => Defined::Always,
            Why::Skipped { when, at } => match self.excluding(i, *at) {
                Some(own) => Defined::Sometimes(Why::Excluded { when: when.clone(), own: own.text.clone() }),
                None => Defined::Sometimes(why),
            },
            _ => Defined::Sometimes(why),
        }
    }

    /// The condition that holds here and excludes the one at `when`, on which the only step that fills a slot depends.
    /// Both must read only the flow's input, which does not change.
    fn excluding(&self, slot: usize, when: Location) -> Option<&'p Cond> {
        let of_input = |cond: &Cond| {
            let input = self.flow.intake.slot;
            cond.sources.iter().all(|source| matches!(source, Source::Slot(s) | Source::Member(s, _) if *s == input))
        };
        let mut own = self.holds.iter().copied().filter(|cond| of_input(cond)).peekable();
        own.peek()?;
        let mut writers = Vec::new();
        let mut stack = vec![self.flow.body];
        while let Some(id) = stack.pop() {
            let step = &self.program.steps[id];
            writers.extend((step.out.map(SlotId::index) == Some(slot)).then_some(step));
            stack.extend(children(step));
        }
        let [writer] = writers.as_slice() else { return None };
        let when = writer.when.as_ref().filter(|cond| cond.origin == when && of_input(cond))?;
        let claim = TestTree::of_cond(when);
        own.find(|own| claim.excludes(&TestTree::of_cond(own)))
    }

    /// A key of an object that is written key by key. If it may come from outside, it is never known to be missing.
    fn key(&self, i: usize, state: &State) -> Defined {
        match self.bit(i, state) {
            Defined::Never if !self.own.has(i) => Defined::Sometimes(Why::NotWritten),
            known => known,
        }
    }

    /// A path into the inner results of the flow that made a value.
    fn beneath(&self, top: &Type, flows: &[FlowId], path: &[&str]) -> Defined {
        let ([callee], Some((name, rest))) = (flows, path.split_first()) else { return Defined::Always };
        if !top.never_has(name) {
            return Defined::Always;
        }
        let Some(end) = self.known.ends.get(callee) else { return Defined::Always };
        let exports = &self.program.flows[*callee].exports;
        let Some(export) = exports.iter().find(|e| &*e.key == *name) else { return Defined::Always };
        let slot = export.slot.index();
        if !end.state.must.has(slot) {
            return match end.state.may.has(slot) {
                true => Defined::Sometimes(end.why.get(slot).cloned().flatten().unwrap_or(Why::NotWritten)),
                false => Defined::Never,
            };
        }
        let value = self.types.slot(*callee, export.slot);
        self.beneath(&value, export.inner.map(|s| self.types.exporters(*callee, s)).unwrap_or_default(), rest)
    }
}

/// Where a path that continues after a value ends, judging by its names.
fn beyond(source: &Source) -> Option<(usize, Member)> {
    let Source::Missing(_, Lost::Beyond(beyond)) = source else { return None };
    let never = Member::Never { what: beyond.what, members: beyond.members.clone() };
    Some((usize::from(beyond.segment), never))
}
