//! Facts about names that front ends record for editors and the checker: declarations, mentions, and the names
//! available in each place. Derived from bound texts; reports no mistakes.

use std::sync::Arc;

use trefoil_ir::facts::{Declaration, DeclarationKind, Defined, Detail, Inside, Mention, Scope, Visible};
use trefoil_ir::types::Type;
use trefoil_syntax::yaml::{Entry, Node, Text};
use trefoil_syntax::{Location, Span};
use trefoil_template::{Segment, Start};

use crate::bound::{BoundText, Local};
use crate::names::{Bound, End, Members, items, members_of};
use crate::read::Reader;

/// Records the scope of a text, and what its paths name.
pub fn text(reader: &Reader<'_>, text: &BoundText) {
    if !reader.wants_facts() {
        return;
    }
    let mut mentions = Vec::new();
    for used in &text.uses {
        mentions.extend(mentioned(text, &used.reference.path, &used.bound, 0));
    }
    if reader.detail() == Detail::Scopes {
        let (at, policy, condition, position) = (text.at, text.policy, text.is_condition(), text.place.position());
        let root = text.root().clone();
        let names = Visible::lazily(move || root.offer());
        reader.facts(|facts| facts.scope(Scope { at, policy, condition, position, names }));
    }
    reader.facts(|facts| mentions.into_iter().for_each(|m| facts.mention(m)));
    text.locals().iter().for_each(|local| self::local(reader, text, local));
}

/// The mentions in the segments of a written path, starting from the binding at index `from`.
fn mentioned(text: &BoundText, path: &[Segment], bound: &Bound, from: usize) -> Vec<Mention> {
    let mut named: Vec<_> = bound.entries.iter().map(|e| (e.declared, e.defined, e.schema.clone())).collect();
    if let End::Nothing(_) = bound.end {
        named.push((None, Defined::Never, Type::Any));
    }
    let written = path.iter().zip(named.into_iter().skip(from));
    let mention = |(segment, (to, defined, schema)): (&Segment, _)| {
        let at = text.place_of(segment.span.clone());
        Mention { at, to, template: true, defined, schema }
    };
    written.map(mention).collect()
}

/// Records what a path names that starts at the item of a loop, or at the value of another block.
fn local(reader: &Reader<'_>, text: &BoundText, Local { local, bound, begin }: &Local<'_>) {
    if local.start != Start::This {
        return;
    }
    let start = bound.as_ref().and_then(|bound| bound.entries.get(begin.checked_sub(1)?));
    let inside = Inside {
        at: text.place_of(local.span.clone()),
        segments: local.path.iter().map(|segment| text.place_of(segment.span.clone())).collect(),
        start: start.map_or(Type::Any, |entry| entry.schema.clone()),
    };
    let mut mentions = bound.as_ref().map_or(Vec::new(), |bound| mentioned(text, &local.path, bound, *begin));
    // The block only runs if its value exists.
    for mention in mentions.iter_mut().filter(|m| m.defined != Defined::Never) {
        mention.defined = Defined::Always;
    }
    reader.facts(|facts| {
        facts.inside(inside);
        mentions.into_iter().for_each(|m| facts.mention(m));
    });
}

/// Notes a declaration: where its name is, all of it, and what it is a part of.
pub fn declare(
    reader: &Reader<'_>,
    kind: DeclarationKind,
    name: impl Into<Arc<str>>,
    (at, extent, parent): (Location, Span, Option<Location>),
    schema: Type,
    note: &str,
) {
    let note = (!note.is_empty()).then(|| note.into());
    reader.facts(|f| f.declare(Declaration { kind, name: name.into(), at, extent, parent, schema, note }));
}

/// Records that the text of a key names a declaration, or something that does not exist.
pub fn names(reader: &Reader<'_>, text: &Text, to: Option<Location>) {
    names_at(reader, reader.at(text.content()), to);
}

/// The same for a part of a text.
pub fn names_at(reader: &Reader<'_>, at: Location, to: Option<Location>) {
    let defined = if to.is_some() { Defined::Always } else { Defined::Never };
    reader.facts(|f| f.mention(Mention { at, to, template: false, defined, schema: Type::Any }));
}

/// Declares the properties of a schema, including nested ones, and returns their places. `root`: the entries of the
/// node are properties themselves (the shorthand of a dialect) instead of being under `properties`.
pub fn properties(
    reader: &Reader<'_>,
    node: &Node,
    of: &Type,
    shorthand: bool,
    kind: DeclarationKind,
    parent: Location,
) -> Members {
    if !reader.wants_facts() {
        return Members::default();
    }
    let entries = if shorthand { node.mapping() } else { members_of(node) };
    let Some(mapping) = entries else { return Members::default() };
    let members = mapping.entries.iter().map(|entry| {
        let schema = of.property(&entry.key.value);
        let at = reader.at(entry.key.content());
        let extent = whole(entry);
        let note = note_of(entry);
        let name = entry.key.value.clone();
        reader.facts(|f| {
            f.declare(Declaration { kind, name, at, extent, parent: Some(parent), schema: schema.clone(), note });
        });
        // The members of a list are those of its items.
        let inner = properties(reader, &entry.value, items(&schema), false, DeclarationKind::Property, at);
        (entry.key.value.clone(), Some(at), inner)
    });
    let members = Members::of(members.collect());
    if !shorthand {
        written_again(reader, node, &members);
    }
    members
}

/// Records the places in a schema that repeat names of its properties: `required`, and the keys of defaults and
/// examples.
fn written_again(reader: &Reader<'_>, node: &Node, members: &Members) {
    let Some(mapping) = node.mapping() else { return };
    let of = |key: &str| mapping.get(key).map(|e| &e.value);
    if of("properties").is_none() {
        return of("items").map_or((), |items| written_again(reader, items, members));
    }
    let named = |text: &Text| {
        if let Some(to) = members.place(&text.value) {
            names(reader, text, Some(to));
        }
    };
    of("required").and_then(Node::sequence).into_iter().flatten().filter_map(Node::string).for_each(named);
    let examples = of("examples").and_then(Node::sequence).into_iter().flatten();
    for value in examples.chain(of("default")).chain(of("example")).filter_map(Node::mapping) {
        value.entries.iter().for_each(|e| named(&e.key));
    }
}

/// The first line of a property's description.
fn note_of(entry: &Entry) -> Option<Arc<str>> {
    let text = entry.value.mapping()?.get("description")?.value.string()?;
    text.value.lines().next().map(Arc::from)
}

/// A key and its value.
pub fn whole(entry: &Entry) -> Span {
    Span::new(entry.key.span.start, entry.value.span.end.max(entry.key.span.end))
}

/// `1 step`, `2 steps`.
pub fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
