//! The names available in one place, as data.
//!
//! A dialect defines which names a text in a place can start with: a tree of [`NameEntry`]s whose inner names are computed
//! on demand. All other operations use that tree: [`bind_path`] resolves a path in it, editors list it, "did you mean"
//! compares with it, and text that looks like a placeholder in the wrong brackets is looked up in it.
//!
//! Reports nothing. What is wrong with a path is also data ([`PathResolution`], [`NameEntry::with_missing_reason`]), which finders read.

mod fixed_object;
mod member_declarations;
mod name_scope;
mod open_value;
mod path_binding;

use std::sync::Arc;

use trefoil_ir::types::ValueType;
use trefoil_ir::{ScopeName, Source, ValuePresence};
use trefoil_syntax::Location;

pub use fixed_object::FixedObject;
pub use member_declarations::{MemberDeclaration, MemberDeclarations, property_declarations};
pub(crate) use member_declarations::{item_type, members_of};
pub use name_scope::{BoundReference, NameScope, TagNotation, in_path, is_path, is_there, is_variable};
pub use open_value::allow_other_members;
pub use path_binding::{BoundPath, PathResolution, PathStop, bind_path, look_up_member};

/// What a path names, up to and including one of its segments.
#[derive(Clone)]
pub struct NameEntry {
    /// How a run reads it. `None`: as a member of the preceding entry; without one, it cannot be read.
    pub read: Option<PathSource>,
    /// Its type.
    pub schema: ValueType,
    /// Whether it has a value when it is read.
    pub defined: ValuePresence,
    /// Why it has no value, on all or some paths.
    pub doubt: Option<MissingValueReason>,
    /// Where it is declared, if it is declared in a manifest.
    pub declared: Option<Location>,
    /// A one-line description for editors.
    pub note: Option<Arc<str>>,
    /// The kind of name.
    pub sort: NameKind,
    /// The names inside it.
    pub inside: InnerNames,
    /// For the names of a place: whether a path that continues after its value ends is an error.
    pub refuses: bool,
}

/// The kind of a name, for advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NameKind {
    /// A name of the format, or a part of a value.
    #[default]
    Other,
    /// The result of a step, by its index in the manifest.
    Step(usize),
    /// A key of state shared by steps.
    Key,
    /// A part of the input of a run or an agent.
    Input,
}

/// How a run reads a value.
#[derive(Debug, Clone, PartialEq)]
pub struct PathSource {
    /// The source.
    pub source: Source,
    /// The number of leading segments of the path that the source covers.
    pub skip: u16,
}

/// Why a value may be missing when it is read.
#[derive(Debug, Clone, PartialEq)]
pub enum MissingValueReason {
    /// It is the result of the reading step itself.
    Own,
    /// Its step runs concurrently.
    Beside,
    /// Its step runs later.
    Later,
    /// Its step has not run yet on the first pass of a loop.
    FirstPass,
    /// Its step runs only on this condition, or only on some paths.
    Skipped(Option<Arc<str>>),
    /// The caller may pass no input, or one without it.
    NotGiven,
}

/// The names inside something.
#[derive(Clone)]
pub enum InnerNames {
    /// The members of a value: those of its type, with their declarations.
    Value(MemberDeclarations),
    /// The same for a value that may also have other members.
    Loose(MemberDeclarations),
    /// Separately defined names.
    Names(Arc<dyn NameResolver>),
}

/// The names inside something, or those of a place. An object of the format lists its members; a tree that steps write
/// computes who wrote a name.
pub trait NameResolver: Send + Sync {
    /// What a name refers to.
    fn get(&self, name: &str) -> NameMatch;
    /// The names to suggest, in order, with their entries. A name may contain dots.
    fn all_entries(&self) -> Vec<(Arc<str>, NameEntry)>;
    /// How the enclosing value as a whole is read, if that is costly to compute. Called once, at the end of a path, and
    /// used instead of [`NameEntry::with_source`].
    fn whole_source(&self) -> Option<PathSource> {
        None
    }
}

/// The result of looking up a name.
pub enum NameMatch {
    /// It exists.
    Is(NameEntry),
    /// Unknown: the caller of the run may pass it.
    Maybe(NameEntry),
    /// It never exists, and why.
    Never(NameAbsence),
}

/// Something that does not have the name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NameAbsence {
    /// The kind of value: `text`, `a list`, `an object`; `None`: a place or a namespace, which is not a value.
    pub what: Option<&'static str>,
    /// The names that it does have.
    pub names: Vec<Arc<str>>,
}

impl NameEntry {
    /// A value of this type that always exists.
    pub fn new(schema: ValueType) -> Self {
        Self {
            read: None,
            schema,
            defined: ValuePresence::Always,
            doubt: None,
            declared: None,
            note: None,
            sort: NameKind::Other,
            inside: InnerNames::Value(MemberDeclarations::default()),
            refuses: false,
        }
    }
    /// The names of a place, or of a namespace, which is not itself a value.
    pub fn from_names(names: impl NameResolver + 'static) -> Self {
        Self { inside: InnerNames::Names(Arc::new(names)), ..Self::new(ValueType::Any) }
    }
    /// Sets the source; it covers this number of leading segments.
    #[must_use]
    pub fn with_source(self, source: Source, skip: u16) -> Self {
        Self { read: Some(PathSource { source, skip }), ..self }
    }
    /// Sets whether it always, sometimes or never has a value.
    #[must_use]
    pub fn with_defined(self, defined: ValuePresence) -> Self {
        Self { defined, ..self }
    }
    /// Sets the reason why it is missing.
    #[must_use]
    pub fn with_missing_reason(self, defined: ValuePresence, doubt: MissingValueReason) -> Self {
        Self { defined, doubt: Some(doubt), ..self }
    }
    /// Sets the declaration.
    #[must_use]
    pub fn with_declaration(self, at: Option<Location>) -> Self {
        Self { declared: at, ..self }
    }
    /// Sets the declarations of its members.
    #[must_use]
    pub fn with_members(self, members: MemberDeclarations) -> Self {
        Self { inside: InnerNames::Value(members), ..self }
    }
    /// Sets separately defined inner names.
    #[must_use]
    pub fn with_inner_names(self, names: impl NameResolver + 'static) -> Self {
        Self { inside: InnerNames::Names(Arc::new(names)), ..self }
    }
    /// Sets the description.
    #[must_use]
    pub fn with_note(self, note: impl Into<Arc<str>>) -> Self {
        Self { note: Some(note.into()), ..self }
    }
    /// Sets the kind of name.
    #[must_use]
    pub fn with_kind(self, sort: NameKind) -> Self {
        Self { sort, ..self }
    }
    /// What a name inside it refers to.
    pub fn get(&self, name: &str) -> NameMatch {
        match &self.inside {
            InnerNames::Names(names) => names.get(name),
            InnerNames::Value(places) => look_up_member(self, places, name),
            InnerNames::Loose(places) => open_value::look_up_open_member(self, places, name),
        }
    }
    /// The names inside it, for editors.
    pub fn suggested_names(&self) -> Vec<ScopeName> {
        let offered = match &self.inside {
            InnerNames::Names(names) => names.all_entries(),
            InnerNames::Loose(places) => open_value::declared_members(self, places),
            InnerNames::Value(_) => Vec::new(),
        };
        offered
            .into_iter()
            .map(|(name, NameEntry { schema, defined, declared, note, .. })| ScopeName {
                name,
                declared,
                defined,
                schema,
                note,
            })
            .collect()
    }
}

impl std::fmt::Debug for NameEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NameEntry").field("read", &self.read).field("defined", &self.defined).finish_non_exhaustive()
    }
}
