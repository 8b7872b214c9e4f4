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
    record_mentions(reader, mentions);
    for local in text.local_paths() {
        self::local(reader, text, local);
    }
}

fn record_mentions(reader: &ManifestReader<'_>, mentions: Vec<Mention>) {
    reader.record_facts(|facts| {
        for mention in mentions {
            facts.add_mention(mention);
        }
    });
}

/// The mentions in the segments of a written path, starting from the binding at index `from`.
fn path_mentions(text: &BoundText, path: &[PathSegment], bound: &BoundPath, from: usize) -> Vec<Mention> {
    let mut mentions = Vec::new();
    for (segment, index) in path.iter().zip(from..) {
        let (to, defined, schema) = match bound.entries.get(index) {
            Some(entry) => (entry.declared, entry.defined, entry.schema.clone()),
            None if index == bound.entries.len() && matches!(bound.end, PathResolution::Nothing(_)) => {
                (None, ValuePresence::Never, ValueType::Any)
            }
            None => break,
        };
        let at = text.place_of(segment.span.clone());
        mentions.push(Mention { at, to, template: true, defined, schema });
    }
    mentions
}

/// Records what a path names that starts at the item of a loop, or at the value of another block.
fn local(reader: &ManifestReader<'_>, text: &BoundText, BoundLocal { local, bound, begin }: BoundLocal<'_>) {
    if local.start != LocalStart::This {
        return;
    }
    let mut start = ValueType::Any;
    let mut mentions = Vec::new();
    if let Some(bound) = bound {
        if let Some(last) = begin.checked_sub(1)
            && let Some(entry) = bound.entries.get(last)
        {
            start = entry.schema.clone();
        }
        mentions = path_mentions(text, &local.path, &bound, begin);
    }
    let inside = BlockPath {
        at: text.place_of(local.span.clone()),
        segments: local.path.iter().map(|segment| text.place_of(segment.span.clone())).collect(),
        start,
    };
    // The block only runs if its value exists.
    for mention in &mut mentions {
        if mention.defined != ValuePresence::Never {
            mention.defined = ValuePresence::Always;
        }
    }
    reader.record_facts(|facts| facts.add_block_path(inside));
    record_mentions(reader, mentions);
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
    let note = if note.is_empty() { None } else { Some(note.into()) };
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
    let mut members = Vec::with_capacity(mapping.entries.len());
    for entry in &mapping.entries {
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
        members.push((entry.key.value.clone(), Some(at), inner));
    }
    let members = MemberDeclarations::from_members(members);
    if !shorthand {
        written_again(reader, node, &members);
    }
    members
}

/// Records the places in a schema that repeat names of its properties: `required`, and the keys of defaults and
/// examples.
fn written_again(reader: &ManifestReader<'_>, node: &YamlNode, members: &MemberDeclarations) {
    let Some(mapping) = node.as_mapping() else { return };
    let value_of = |key: &str| Some(&mapping.get(key)?.value);
    if value_of("properties").is_none() {
        if let Some(items) = value_of("items") {
            written_again(reader, items, members);
        }
        return;
    }
    let named = |text: &YamlText| {
        if let Some(to) = members.declaration_of(&text.value) {
            record_mention(reader, text, Some(to));
        }
    };
    let items_of = |key: &str| value_of(key).and_then(YamlNode::as_sequence).unwrap_or_default();
    for name in items_of("required") {
        if let Some(text) = name.as_string() {
            named(text);
        }
    }
    let defaults = [value_of("default"), value_of("example")];
    for value in items_of("examples").iter().chain(defaults.into_iter().flatten()) {
        let Some(example) = value.as_mapping() else { continue };
        for entry in &example.entries {
            named(&entry.key);
        }
    }
}

/// The first line of a property's description.
fn note_of(entry: &YamlEntry) -> Option<Arc<str>> {
    let text = entry.value.as_mapping()?.get("description")?.value.as_string()?;
    let line = text.value.lines().next()?;
    Some(line.into())
}

/// A key and its value.
pub fn key_value_span(entry: &YamlEntry) -> Span {
    Span::new(entry.key.span.start, entry.value.span.end.max(entry.key.span.end))
}

/// `1 step`, `2 steps`.
pub fn count_phrase(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
