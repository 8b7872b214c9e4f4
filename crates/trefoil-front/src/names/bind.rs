//! Binds paths to what they name. One function for all dialects.

use trefoil_ir::types::{Member, Type};
use trefoil_ir::{Beyond, Defined, Lost, Source};
use trefoil_template::{Missing, Segment};

use super::{Entry, Found, Inside, Members, Nothing, Read};

/// What a path names.
#[derive(Debug, Clone)]
pub struct Bound {
    /// The source of its value; [`Source::Missing`] if there is none.
    pub source: Source,
    /// The number of segments that the source covers.
    pub skip: u16,
    /// What each segment names, as far as the path resolves.
    pub entries: Vec<Entry>,
    /// How far the path resolves.
    pub end: End,
}

/// Where a path ends.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The whole path resolves.
    There,
    /// From this segment on, nothing is known.
    Open(usize),
    /// This segment does not exist in the value before it.
    Nothing(Stop),
}

/// Why a path does not resolve further.
#[derive(Debug, Clone, PartialEq)]
pub struct Stop {
    /// The segment that does not exist.
    pub segment: usize,
    /// The value before it.
    pub before: Nothing,
}

impl Bound {
    /// What the whole path names.
    pub fn last(&self) -> Option<&Entry> {
        self.entries.last().filter(|_| !matches!(self.end, End::Nothing(_)))
    }
    /// Its type; any type if it is unknown or missing.
    pub fn schema(&self) -> Type {
        self.last().map_or(Type::Any, |e| e.schema.clone())
    }
    /// Whether it names something that a manifest or the format defines.
    pub fn is_known(&self) -> bool {
        self.end == End::There
    }
}

/// Resolves a path, starting from the names of a place.
pub fn bind(root: &Entry, path: &[Segment]) -> Bound {
    let mut read = root.read.clone();
    let mut entries: Vec<Entry> = Vec::with_capacity(path.len());
    let mut end = End::There;
    for (segment, name) in path.iter().enumerate() {
        let from = entries.last().unwrap_or(root);
        let mut entry = match from.get(&name.name) {
            Found::Is(entry) => entry,
            Found::Maybe(entry) => {
                if end == End::There {
                    end = End::Open(segment);
                }
                entry
            }
            Found::Never(before) => {
                end = End::Nothing(Stop { segment, before });
                break;
            }
        };
        // A member exists at most as often as its value.
        entry.defined = match (from.defined, entry.defined) {
            (Defined::Never, _) | (_, Defined::Never) => Defined::Never,
            (Defined::Sometimes, _) | (_, Defined::Sometimes) => Defined::Sometimes,
            _ => Defined::Always,
        };
        if entry.read.is_some() {
            read.clone_from(&entry.read);
        }
        entries.push(entry);
    }
    if let Inside::Names(names) = &entries.last().unwrap_or(root).inside
        && let Some(whole) = names.read()
    {
        read = Some(whole);
    }
    let Read { source, skip } = match &end {
        End::Nothing(stop) => {
            let lost = beyond(stop, read, entries.last(), root.refuses);
            Read { source: Source::Missing(Missing::Key(stop.segment as u16), lost), skip: 0 }
        }
        _ => read.unwrap_or(Read { source: Source::missing(0), skip: 0 }),
    };
    Bound { source, skip, entries, end }
}

/// What the checker needs to know about a path that continues after a value. In a namespace, the name itself is wrong.
fn beyond(stop: &Stop, read: Option<Read>, before: Option<&Entry>, refuses: bool) -> Lost {
    let Some((what, of)) = stop.before.what.zip(before) else { return Lost::Unsaid };
    // The type of a model's answer is not declared by the manifest.
    let refused = refuses && !of.schema.is_answer();
    let (segment, members) = (stop.segment as u16, stop.before.names.clone());
    Lost::Beyond(Box::new(Beyond { segment, of: read.map(|r| r.source), what, members, refused }))
}

/// A member of a value, read as a part of it.
pub fn member(of: &Entry, places: &Members, name: &str) -> Found {
    let (declared, inner) = places.get(name).unwrap_or_default();
    let entry = |schema, defined| Entry {
        doubt: of.doubt.clone(),
        ..Entry::new(schema).defined(defined).declared(declared).members(inner.clone())
    };
    match of.schema.member(name) {
        Member::Is { of: inner, optional } => {
            // A type without a list of required members says nothing about which may be missing.
            let optional = optional && of.schema.as_object().is_some_and(|object| object.required.is_some());
            let defined = if optional && of.defined == Defined::Always { Defined::Sometimes } else { of.defined };
            Found::Is(entry(inner, defined))
        }
        Member::Maybe => Found::Maybe(entry(Type::Any, of.defined)),
        Member::Never { what, members } => Found::Never(Nothing { what: Some(what), names: members }),
        // The length of a list is unknown here.
        Member::Beyond { .. } => Found::Maybe(entry(Type::Any, of.defined)),
    }
}
