//! What front ends tell about names while they bind texts: for editors and the checker, beside the program.
//!
//! Each dialect says what its names mean ([`Resolve`]); which facts that makes is decided here, once.

use std::sync::{Arc, LazyLock};

use trefoil_ir::Source;
use trefoil_ir::facts::{Declaration, DeclarationKind, Defined, Detail, Inside, Mention, Position, Scope, Visible};
use trefoil_syntax::yaml::{Entry, Node, Text};
use trefoil_syntax::{Diagnostic, FileId, Location, Span};
use trefoil_template::{Local, Number, Object, Origin, Policy, Reference, Segment, Start, Template, Value};

use crate::lookalike::Tags;
use crate::names::{Bound, End};
use crate::read::Reader;

/// What the names of a text mean where it stands.
pub trait Resolve {
    /// The source of a reference (its place in the file is given), and the segments that it stands for. Reports unresolved
    /// names itself.
    fn bind(&mut self, reference: &Reference, at: Location) -> (Source, u16);
    /// What the text is for.
    fn position(&self) -> Position;
    /// The names that may begin a path. Asked only when facts are wanted; must not report.
    fn visible(&self) -> Visible;
    /// What the segments of a reference name, from the first one on. Asked only when facts are wanted; must not report.
    fn meanings(&self, reference: &Reference) -> Vec<Meaning>;
    /// Whether a path surely names a value here, so that it was meant to be read where it stands in other brackets than
    /// those of a placeholder. `alone`: nothing beside the brackets says that a placeholder was meant.
    fn is_there(&self, _path: &str, _alone: bool) -> bool {
        false
    }
    /// The path by which a value is read, where it was named by less than that.
    fn whole_path(&self, _path: &str) -> Option<String> {
        None
    }
    /// How tags are written, for who writes those of another language. None: nobody asks here.
    fn tags(&self) -> Option<&'static Tags> {
        None
    }
}

/// What one segment names.
#[derive(Debug, Clone)]
pub struct Meaning {
    /// The declaration, by the place of its name.
    pub to: Option<Location>,
    /// Whether it has a value there.
    pub defined: Defined,
    /// The type of the value.
    pub schema: Value,
}

impl Meaning {
    /// Nothing has this name.
    pub fn nothing() -> Self {
        Self { to: None, defined: Defined::Never, schema: Value::Bool(true) }
    }
    /// Of every segment of a path, as far as it leads.
    pub fn all(bound: Bound) -> Vec<Self> {
        let named = bound.entries.into_iter();
        let mut all: Vec<Self> = named.map(|e| Self { to: e.declared, defined: e.defined, schema: e.schema }).collect();
        if let End::Nothing(_) = bound.end {
            all.push(Self::nothing());
        }
        all
    }
    /// Something that no manifest declares.
    pub fn built_in(defined: Defined, schema: Value) -> Self {
        Self { to: None, defined, schema }
    }
}

/// Notes the scope of a text, and what its references name.
pub fn text(
    reader: &Reader<'_>,
    text: &Text,
    policy: &'static Policy,
    condition: bool,
    references: &[Reference],
    resolve: &dyn Resolve,
) {
    if !reader.wants_facts() {
        return;
    }
    let meant = references.iter().map(|reference| (reference, resolve.meanings(reference)));
    noted(reader, text, policy, condition, meant, resolve);
}

/// The same, where it is known what the references name.
pub fn noted<'r>(
    reader: &Reader<'_>,
    text: &Text,
    policy: &'static Policy,
    condition: bool,
    meant: impl Iterator<Item = (&'r Reference, Vec<Meaning>)>,
    resolve: &dyn Resolve,
) {
    let mut mentions = Vec::new();
    for (reference, meanings) in meant {
        for (segment, meaning) in reference.path.iter().zip(meanings) {
            let at = reader.at(text.source(segment.span.clone()));
            let Meaning { to, defined, schema } = meaning;
            mentions.push(Mention { at, to, template: true, defined, schema });
        }
    }
    if reader.detail() == Detail::Scopes {
        let (at, position, names) = (reader.at(text.span), resolve.position(), resolve.visible());
        reader.facts(|facts| facts.scope(Scope { at, policy, condition, position, names }));
    }
    reader.facts(|facts| mentions.into_iter().for_each(|m| facts.mention(m)));
}

/// Notes what the paths of a template name that start at the item of a loop, or at the value of another block.
pub fn locals(reader: &Reader<'_>, text: &Text, template: &Template, resolve: &dyn Resolve) {
    let locals = template.locals();
    if locals.is_empty() || !reader.wants_facts() {
        return;
    }
    // Each as a path from the root on: an item is what every list has at its beginning.
    let mut whole: Vec<Option<Reference>> = Vec::with_capacity(locals.len());
    for local in locals {
        let over = match local.origin {
            Origin::Reference(i) => template.references().get(i as usize).cloned(),
            Origin::Local(i) => whole.get(i as usize).cloned().flatten(),
            Origin::Computed => None,
        };
        let place = |segment: &Segment| reader.at(text.source(segment.span.clone()));
        let mut inside = Inside {
            at: reader.at(text.source(local.span.clone())),
            segments: local.path.iter().map(place).collect(),
            start: Value::Bool(true),
        };
        let Some(mut path) = over.filter(|_| local.start == Start::This) else {
            if local.start == Start::This {
                reader.facts(|facts| facts.inside(inside));
            }
            whole.push(None);
            continue;
        };
        if local.each {
            path.path.push(Segment { name: "0".into(), span: 0..0 });
        }
        let begin = path.path.len();
        let written = text.value.get(local.span.start as usize..).unwrap_or_default();
        let bare = local.path.first().is_some_and(|first| written.starts_with(&*first.name));
        path.path.extend(local.path.iter().cloned());
        let meanings = resolve.meanings(&path);
        if let Some(start) = begin.checked_sub(1).and_then(|i| meanings.get(i)) {
            inside.start = start.schema.clone();
            if bare {
                from_the_root(reader, text, local, &start.schema, resolve);
            }
        }
        let mentions: Vec<Mention> = local
            .path
            .iter()
            .zip(meanings.into_iter().skip(begin))
            .map(|(segment, Meaning { to, defined, schema })| {
                // The block runs where there is something to go over.
                let defined = if defined == Defined::Never { defined } else { Defined::Always };
                Mention { at: place(segment), to, template: true, defined, schema }
            })
            .collect();
        reader.facts(|facts| {
            facts.inside(inside);
            mentions.into_iter().for_each(|m| facts.mention(m));
        });
        whole.push(Some(path));
    }
}

/// Whether the first name of a path is, outside of blocks, one that is always there.
fn is_root(local: &Local, resolve: &dyn Resolve) -> bool {
    let reference = Reference::guarded(local.path.clone(), local.span.clone(), trefoil_template::Binding::default());
    resolve.meanings(&reference).first().is_some_and(|m| m.defined == Defined::Always)
}

/// A path in a block that is written as it would be outside of one: there it is looked up in the item.
fn from_the_root(reader: &Reader<'_>, text: &Text, local: &Local, item: &Value, resolve: &dyn Resolve) {
    let Some((first, rest)) = local.path.split_first() else { return };
    let Some(declared) = item.get("properties").and_then(Value::as_object).filter(|d| !d.is_empty()) else { return };
    if declared.contains_key(&first.name) {
        return;
    }
    let at = reader.at(text.source(local.span.clone()));
    let straight = at.span.end - at.span.start == local.span.end - local.span.start;
    let dotted = || local.path.iter().map(|s| &*s.name).collect::<Vec<_>>().join(".");
    let meant = match (&*first.name, rest) {
        (own @ ("index" | "key" | "first" | "last"), []) if local.each => format!("@{own}"),
        (_, [second, ..]) if declared.contains_key(&second.name) => {
            let inner: Vec<&str> = rest.iter().map(|s| &*s.name).collect();
            format!("this.{}", inner.join("."))
        }
        (_, [_, ..]) if is_root(local, resolve) || resolve.is_there(&dotted(), false) => format!("@root.{}", dotted()),
        _ => return,
    };
    let message = format!("in this block `{}` is looked up in the item, which does not have it", first.name);
    let d = Diagnostic::warning("unresolved-name", at, message);
    let help = format!("write `{meant}`");
    reader.report(if straight { d.suggestion(help, at, meant) } else { d.help(help) });
}

/// Notes that a key's text names a declaration, or something that is not there.
pub fn names(reader: &Reader<'_>, text: &Text, to: Option<Location>) {
    names_at(reader, reader.at(text.content()), to);
}

/// The same for a part of a text.
pub fn names_at(reader: &Reader<'_>, at: Location, to: Option<Location>) {
    let defined = if to.is_some() { Defined::Always } else { Defined::Never };
    reader.facts(|f| f.mention(Mention { at, to, template: false, defined, schema: Value::Bool(true) }));
}

/// Where the members of a value are declared, by name.
#[derive(Debug, Clone, Default)]
pub struct Members(Arc<[Member]>);

/// A member: its name, where it is declared (a format's own fields are nowhere), and its own members.
pub type Member = (Arc<str>, Option<Location>, Members);

impl Members {
    /// These.
    pub fn of(members: Vec<Member>) -> Self {
        Self(members.into())
    }
    /// Where a member is declared, and its own members. An item of a list has those of the list.
    pub fn get(&self, name: &str) -> Option<(Option<Location>, Members)> {
        let found = self.0.iter().find(|(n, ..)| &**n == name);
        match found {
            Some((_, at, inner)) => Some((*at, inner.clone())),
            None if name.bytes().all(|b| b.is_ascii_digit()) => Some((None, self.clone())),
            None => None,
        }
    }
    /// Every member.
    pub fn all(&self) -> impl Iterator<Item = Member> + '_ {
        self.0.iter().cloned()
    }
    /// Where a path has no member to go on to: the place of the first one that there is.
    pub fn where_it_ends<'a>(&self, path: impl Iterator<Item = &'a str>) -> Option<Location> {
        let mut here = self.clone();
        for name in path {
            match here.get(name) {
                Some((_, inner)) => here = inner,
                None => break,
            }
        }
        here.0.iter().find_map(|(_, at, _)| *at)
    }
    /// Where a member is declared.
    pub fn place(&self, name: &str) -> Option<Location> {
        self.get(name)?.0
    }
}

/// Declares the properties of a schema, those inside of them too, and says where they are. `root`: the node whose
/// entries are properties themselves (the shorthand of a dialect) instead of having them under `properties`.
pub fn properties(
    reader: &Reader<'_>,
    node: &Node,
    json: &Value,
    shorthand: bool,
    kind: DeclarationKind,
    parent: Location,
) -> Members {
    if !reader.wants_facts() {
        return Members::default();
    }
    let entries = if shorthand { node.mapping() } else { members_of(node) };
    let Some(mapping) = entries else { return Members::default() };
    let declared = json.get("properties");
    let members = mapping.entries.iter().map(|entry| {
        let schema = declared.and_then(|p| p.get(&entry.key.value)).cloned().unwrap_or(Value::Bool(true));
        let at = reader.at(entry.key.content());
        let extent = whole(entry);
        let note = note_of(entry);
        let name = entry.key.value.clone();
        reader.facts(|f| {
            f.declare(Declaration { kind, name, at, extent, parent: Some(parent), schema: schema.clone(), note });
        });
        // Inside, a list's members are those of its items.
        let inner = properties(reader, &entry.value, items(&schema), false, DeclarationKind::Property, at);
        (entry.key.value.clone(), Some(at), inner)
    });
    let members = Members::of(members.collect());
    if !shorthand {
        written_again(reader, node, &members);
    }
    members
}

/// Notes the places of a schema that name its properties again: `required`, and the keys of defaults and examples.
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

/// Where the properties of a schema of another file stand; that file's own lowering declares them.
pub fn places(file: FileId, node: &Node, json: &Value) -> Members {
    let Some(mapping) = members_of(node) else { return Members::default() };
    let declared = json.get("properties");
    let members = mapping.entries.iter().map(|entry| {
        let schema = declared.and_then(|p| p.get(&entry.key.value)).cloned().unwrap_or(Value::Bool(true));
        let inner = places(file, &entry.value, items(&schema));
        (entry.key.value.clone(), Some(Location::new(file, entry.key.content())), inner)
    });
    Members::of(members.collect())
}

fn members_of(node: &Node) -> Option<&trefoil_syntax::yaml::Mapping> {
    let mapping = node.mapping()?;
    match mapping.get("properties") {
        Some(properties) => properties.value.mapping(),
        None => members_of(&mapping.get("items")?.value),
    }
}

fn items(schema: &Value) -> &Value {
    match (schema.get("properties"), schema.get("items")) {
        (None, Some(inner)) => items(inner),
        _ => schema,
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

/// Type `string`.
pub fn text_type() -> Value {
    static TYPE: LazyLock<Value> = LazyLock::new(|| make("string"));
    TYPE.clone()
}

/// Type `integer`.
pub fn integer_type() -> Value {
    static TYPE: LazyLock<Value> = LazyLock::new(|| make("integer"));
    TYPE.clone()
}

/// Type `object`, with any members.
pub fn object_type() -> Value {
    static TYPE: LazyLock<Value> = LazyLock::new(|| make("object"));
    TYPE.clone()
}

fn make(name: &str) -> Value {
    object([("type".into(), Value::from(name))])
}

/// An object with these members and no others.
pub fn object_of(members: impl IntoIterator<Item = (Arc<str>, Value)>) -> Value {
    object([
        ("type".into(), Value::from("object")),
        ("properties".into(), object(members)),
        ("additionalProperties".into(), Value::Bool(false)),
    ])
}

/// A list of such items.
pub fn list_of(item: Value) -> Value {
    object([("type".into(), Value::from("array")), ("items".into(), item)])
}

fn object(members: impl IntoIterator<Item = (Arc<str>, Value)>) -> Value {
    Value::Object(Arc::new(members.into_iter().collect::<Object>()))
}

/// The type of a value: its objects are taken as complete, its lists hold anything.
pub fn type_of(value: &Value) -> Value {
    match value {
        Value::Null => Value::Bool(true),
        Value::Bool(_) => make("boolean"),
        Value::Number(Number::Float(_)) => make("number"),
        Value::Number(_) => integer_type(),
        Value::Str(_) | Value::Masked(_) => text_type(),
        Value::List(_) => make("array"),
        Value::Object(members) => object_of(members.iter().map(|(k, v)| (k.clone(), type_of(v)))),
    }
}

/// The type of a member of a value of a type, as far as the type says; `true` where it does not.
pub fn member_type(schema: &Value, name: &str) -> Value {
    let found = match schema.get("properties").and_then(|p| p.get(name)) {
        None if name.bytes().all(|b| b.is_ascii_digit()) => schema.get("items"),
        found => found,
    };
    found.cloned().unwrap_or(Value::Bool(true))
}

/// Whether a value of a type never has a member of this name.
pub fn is_closed(schema: &Value, name: &str) -> bool {
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            schema.get("additionalProperties") == Some(&Value::Bool(false))
                && schema.get("properties").and_then(|p| p.get(name)).is_none()
        }
        Some("array") => !name.bytes().all(|b| b.is_ascii_digit()),
        Some(_) => true,
        None => false,
    }
}

/// `1 step`, `2 steps`.
pub fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}
