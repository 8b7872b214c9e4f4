//! Facts about names that front ends record for editors and the checker: declarations, mentions, and the names
//! available in each place. Derived from bound texts; reports no mistakes.

use std::sync::Arc;

use trefoil_ir::facts::{
    BlockPath, DeclarationKind, FactDetail, Mention, NameDeclaration, Scope, ValuePresence, VisibleNames,
};
use trefoil_ir::types::ValueType;
use trefoil_syntax::yaml::{YamlEntry, YamlNode, YamlText};
use trefoil_syntax::{Location, Span};
use trefoil_template::{LocalStart, PathSegment};

use crate::bound_text::{BoundLocal, BoundText};
use crate::names::{BoundPath, MemberDeclarations, PathResolution, item_type, members_of};
use crate::yaml_reader::ManifestReader;

/// Records the scope of a text, and what its paths name.
pub fn record_text(reader: &ManifestReader<'_>, text: &BoundText) {
    if !reader.wants_facts() {
        return;
    }
    let mut mentions = Vec::new();
    for used in &text.uses {
        mentions.extend(path_mentions(text, &used.reference.path, &used.bound, 0));
    }
    if reader.fact_detail() == FactDetail::Scopes {
        let (at, policy, condition, position) = (text.at, text.policy, text.is_condition(), text.place.text_position());
        let root = text.root_entry().clone();
        let names = VisibleNames::from_lazy(move || root.suggested_names());
        reader.record_facts(|facts| facts.add_scope(Scope { at, policy, condition, position, names }));
    }
    reader.record_facts(|facts| mentions.into_iter().for_each(|m| facts.add_mention(m)));
    text.local_paths().iter().for_each(|local| self::local(reader, text, local));
}

/// The mentions in the segments of a written path, starting from the binding at index `from`.
fn path_mentions(text: &BoundText, path: &[PathSegment], bound: &BoundPath, from: usize) -> Vec<Mention> {
    let mut named: Vec<_> = bound.entries.iter().map(|e| (e.declared, e.defined, e.schema.clone())).collect();
    if let PathResolution::Nothing(_) = bound.end {
        named.push((None, ValuePresence::Never, ValueType::Any));
    }
    let written = path.iter().zip(named.into_iter().skip(from));
    let mention = |(segment, (to, defined, schema)): (&PathSegment, _)| {
        let at = text.place_of(segment.span.clone());
        Mention { at, to, template: true, defined, schema }
    };
    written.map(mention).collect()
}

/// Records what a path names that starts at the item of a loop, or at the value of another block.
fn local(reader: &ManifestReader<'_>, text: &BoundText, BoundLocal { local, bound, begin }: &BoundLocal<'_>) {
    if local.start != LocalStart::This {
        return;
    }
    let start = bound.as_ref().and_then(|bound| bound.entries.get(begin.checked_sub(1)?));
    let inside = BlockPath {
        at: text.place_of(local.span.clone()),
        segments: local.path.iter().map(|segment| text.place_of(segment.span.clone())).collect(),
        start: start.map_or(ValueType::Any, |entry| entry.schema.clone()),
    };
    let mut mentions = bound.as_ref().map_or(Vec::new(), |bound| path_mentions(text, &local.path, bound, *begin));
    // The block only runs if its value exists.
    for mention in mentions.iter_mut().filter(|m| m.defined != ValuePresence::Never) {
        mention.defined = ValuePresence::Always;
    }
    reader.record_facts(|facts| {
        facts.add_block_path(inside);
        mentions.into_iter().for_each(|m| facts.add_mention(m));
    });
}

/// Notes a declaration: where its name is, all of it, and what it is a part of.
pub fn record_declaration(
    reader: &ManifestReader<'_>,
    kind: DeclarationKind,
    name: impl Into<Arc<str>>,
    (at, extent, parent): (Location, Span, Option<Location>),
    schema: ValueType,
    note: &str,
) {
    let note = (!note.is_empty()).then(|| note.into());
    reader.record_facts(|f| {
        f.add_declaration(NameDeclaration { kind, name: name.into(), at, extent, parent, schema, note })
    });
}

/// Records that the text of a key names a declaration, or something that does not exist.
pub fn record_mention(reader: &ManifestReader<'_>, text: &YamlText, to: Option<Location>) {
    names_at(reader, reader.location_of(text.content_span()), to);
}

/// The same for a part of a text.
pub fn names_at(reader: &ManifestReader<'_>, at: Location, to: Option<Location>) {
    let defined = if to.is_some() { ValuePresence::Always } else { ValuePresence::Never };
    reader.record_facts(|f| f.add_mention(Mention { at, to, template: false, defined, schema: ValueType::Any }));
}

/// Declares the properties of a schema, including nested ones, and returns their places. `root`: the entries of the
/// node are properties themselves (the shorthand of a dialect) instead of being under `properties`.
pub fn declare_properties(
    reader: &ManifestReader<'_>,
    node: &YamlNode,
    of: &ValueType,
    shorthand: bool,
    kind: DeclarationKind,
    parent: Location,
) -> MemberDeclarations {
    if !reader.wants_facts() {
        return MemberDeclarations::default();
    }
    let entries = if shorthand { node.as_mapping() } else { members_of(node) };
    let Some(mapping) = entries else { return MemberDeclarations::default() };
    let members = mapping.entries.iter().map(|entry| {
        let schema = of.property_type(&entry.key.value);
        let at = reader.location_of(entry.key.content_span());
        let extent = key_value_span(entry);
        let note = note_of(entry);
        let name = entry.key.value.clone();
        reader.record_facts(|f| {
            f.add_declaration(NameDeclaration {
                kind,
                name,
                at,
                extent,
                parent: Some(parent),
                schema: schema.clone(),
                note,
            });
        });
        // The members of a list are those of its items.
        let inner = declare_properties(reader, &entry.value, item_type(&schema), false, DeclarationKind::Property, at);
        (entry.key.value.clone(), Some(at), inner)
    });
    let members = MemberDeclarations::from_members(members.collect());
    if !shorthand {
        written_again(reader, node, &members);
    }
    members
}

/// Records the places in a schema that repeat names of its properties: `required`, and the keys of defaults and
/// examples.
fn written_again(reader: &ManifestReader<'_>, node: &YamlNode, members: &MemberDeclarations) {
    let Some(mapping) = node.as_mapping() else { return };
    let of = |key: &str| mapping.get(key).map(|e| &e.value);
    if of("properties").is_none() {
        return of("items").map_or((), |items| written_again(reader, items, members));
    }
    let named = |text: &YamlText| {
        if let Some(to) = members.declaration_of(&text.value) {
            record_mention(reader, text, Some(to));
        }
    };
    of("required")
        .and_then(YamlNode::as_sequence)
        .into_iter()
        .flatten()
        .filter_map(YamlNode::as_string)
        .for_each(named);
    let examples = of("examples").and_then(YamlNode::as_sequence).into_iter().flatten();
    for value in examples.chain(of("default")).chain(of("example")).filter_map(YamlNode::as_mapping) {
        value.entries.iter().for_each(|e| named(&e.key));
    }
}

/// The first line of a property's description.
fn note_of(entry: &YamlEntry) -> Option<Arc<str>> {
    let text = entry.value.as_mapping()?.get("description")?.value.as_string()?;
    text.value.lines().next().map(Arc::from)
}

/// A key and its value.
pub fn key_value_span(entry: &YamlEntry) -> Span {
    Span::new(entry.key.span.start, entry.value.span.end.max(entry.key.span.end))
}

/// `1 step`, `2 steps`.
pub fn count_phrase(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
