//! Binds paths to what they name. One function for all dialects.

use trefoil_ir::types::{TypeMember, ValueType};
use trefoil_ir::{BindingFault, MissingMember, Source, ValuePresence};
use trefoil_template::{MissingCause, PathSegment};

use super::{InnerNames, MemberDeclarations, NameAbsence, NameEntry, NameMatch, PathSource};

/// What a path names.
#[derive(Debug, Clone)]
pub struct BoundPath {
    /// The source of its value; [`Source::Missing`] if there is none.
    pub source: Source,
    /// The number of segments that the source covers.
    pub skip: u16,
    /// What each segment names, as far as the path resolves.
    pub entries: Vec<NameEntry>,
    /// How far the path resolves.
    pub end: PathResolution,
}

/// Where a path ends.
#[derive(Debug, Clone, PartialEq)]
pub enum PathResolution {
    /// The whole path resolves.
    There,
    /// From this segment on, nothing is known.
    Open(usize),
    /// This segment does not exist in the value before it.
    Nothing(PathStop),
}

/// Why a path does not resolve further.
#[derive(Debug, Clone, PartialEq)]
pub struct PathStop {
    /// The segment that does not exist.
    pub segment: usize,
    /// The value before it.
    pub before: NameAbsence,
}

impl BoundPath {
    /// What the whole path names.
    pub fn last(&self) -> Option<&NameEntry> {
        match self.end {
            PathResolution::Nothing(_) => None,
            _ => self.entries.last(),
        }
    }
    /// Its type; any type if it is unknown or missing.
    pub fn value_type(&self) -> ValueType {
        match self.last() {
            Some(entry) => entry.schema.clone(),
            None => ValueType::Any,
        }
    }
    /// Whether it names something that a manifest or the format defines.
    pub fn is_known(&self) -> bool {
        self.end == PathResolution::There
    }
}

/// Resolves a path, starting from the names of a place.
pub fn bind_path(root: &NameEntry, path: &[PathSegment]) -> BoundPath {
    let mut read = root.read.clone();
    let mut entries: Vec<NameEntry> = Vec::with_capacity(path.len());
    let mut end = PathResolution::There;
    for (segment, name) in path.iter().enumerate() {
        let from = entries.last().unwrap_or(root);
        let mut entry = match from.get(&name.name) {
            NameMatch::Is(entry) => entry,
            NameMatch::Maybe(entry) => {
                if end == PathResolution::There {
                    end = PathResolution::Open(segment);
                }
                entry
            }
            NameMatch::Never(before) => {
                end = PathResolution::Nothing(PathStop { segment, before });
                break;
            }
        };
        // A member exists at most as often as its value.
        entry.defined = match (from.defined, entry.defined) {
            (ValuePresence::Never, _) | (_, ValuePresence::Never) => ValuePresence::Never,
            (ValuePresence::Sometimes, _) | (_, ValuePresence::Sometimes) => ValuePresence::Sometimes,
            _ => ValuePresence::Always,
        };
        if entry.read.is_some() {
            read.clone_from(&entry.read);
        }
        entries.push(entry);
    }
    if let InnerNames::Names(names) = &entries.last().unwrap_or(root).inside
        && let Some(whole) = names.whole_source()
    {
        read = Some(whole);
    }
    let PathSource { source, skip } = match &end {
        PathResolution::Nothing(stop) => {
            let lost = beyond(stop, read, entries.last(), root.refuses);
            PathSource { source: Source::Missing(MissingCause::Key(stop.segment as u16), lost), skip: 0 }
        }
        _ => read.unwrap_or(PathSource { source: Source::missing_segment(0), skip: 0 }),
    };
    BoundPath { source, skip, entries, end }
}

/// What the checker needs to know about a path that continues after a value. In a namespace, the name itself is wrong.
fn beyond(stop: &PathStop, read: Option<PathSource>, before: Option<&NameEntry>, refuses: bool) -> BindingFault {
    let (Some(what), Some(of)) = (stop.before.what, before) else { return BindingFault::Unsaid };
    // The type of a model's answer is not declared by the manifest.
    let refused = refuses && !of.schema.is_answer();
    let (segment, members) = (stop.segment as u16, stop.before.names.clone());
    BindingFault::Beyond(Box::new(MissingMember { segment, of: read.map(|r| r.source), what, members, refused }))
}

/// A member of a value, read as a part of it.
pub fn look_up_member(of: &NameEntry, places: &MemberDeclarations, name: &str) -> NameMatch {
    let (declared, inner) = places.get(name).unwrap_or_default();
    let entry = |schema, defined| NameEntry {
        doubt: of.doubt.clone(),
        ..NameEntry::new(schema).with_defined(defined).with_declaration(declared).with_members(inner.clone())
    };
    match of.schema.find_member(name) {
        TypeMember::Is { of: inner, optional } => {
            // A type without a list of required members says nothing about which may be missing.
            let optional = optional && matches!(of.schema.as_object(), Some(object) if object.required.is_some());
            let defined =
                if optional && of.defined == ValuePresence::Always { ValuePresence::Sometimes } else { of.defined };
            NameMatch::Is(entry(inner, defined))
        }
        TypeMember::Maybe => NameMatch::Maybe(entry(ValueType::Any, of.defined)),
        TypeMember::Never { what, members } => NameMatch::Never(NameAbsence { what: Some(what), names: members }),
        // The length of a list is unknown here.
        TypeMember::Beyond { .. } => NameMatch::Maybe(entry(ValueType::Any, of.defined)),
    }
}
