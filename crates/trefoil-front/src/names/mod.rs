//! The names available in one place, as data.
//!
//! A dialect defines which names a text in a place can start with: a tree of [`Entry`]s whose inner names are computed
//! on demand. All other operations use that tree: [`bind`] resolves a path in it, editors list it, "did you mean"
//! compares with it, and text that looks like a placeholder in the wrong brackets is looked up in it.
//!
//! Reports nothing. What is wrong with a path is also data ([`End`], [`Entry::doubt`]), which finders read.

mod bind;
mod listed;
mod loose;
mod members;
mod place;

use std::sync::Arc;

use trefoil_ir::types::Type;
use trefoil_ir::{Defined, Name, Source};
use trefoil_syntax::Location;

pub use bind::{Bound, End, Stop, bind, member};
pub use listed::Listed;
pub use loose::loose;
pub use members::{Member, Members, places};
pub(crate) use members::{items, members_of};
pub use place::{Place, Tags, Use, in_path, is_path, is_there, is_variable};

/// What a path names, up to and including one of its segments.
#[derive(Clone)]
pub struct Entry {
    /// How a run reads it. `None`: as a member of the preceding entry; without one, it cannot be read.
    pub read: Option<Read>,
    /// Its type.
    pub schema: Type,
    /// Whether it has a value when it is read.
    pub defined: Defined,
    /// Why it has no value, on all or some paths.
    pub doubt: Option<Doubt>,
    /// Where it is declared, if it is declared in a manifest.
    pub declared: Option<Location>,
    /// A one-line description for editors.
    pub note: Option<Arc<str>>,
    /// The kind of name.
    pub sort: Sort,
    /// The names inside it.
    pub inside: Inside,
    /// For the names of a place: whether a path that continues after its value ends is an error.
    pub refuses: bool,
}

/// The kind of a name, for advice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
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
pub struct Read {
    /// The source.
    pub source: Source,
    /// The number of leading segments of the path that the source covers.
    pub skip: u16,
}

/// Why a value may be missing when it is read.
#[derive(Debug, Clone, PartialEq)]
pub enum Doubt {
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
pub enum Inside {
    /// The members of a value: those of its type, with their declarations.
    Value(Members),
    /// The same for a value that may also have other members.
    Loose(Members),
    /// Separately defined names.
    Names(Arc<dyn Names>),
}

/// The names inside something, or those of a place. An object of the format lists its members; a tree that steps write
/// computes who wrote a name.
pub trait Names: Send + Sync {
    /// What a name refers to.
    fn get(&self, name: &str) -> Found;
    /// The names to suggest, in order, with their entries. A name may contain dots.
    fn all(&self) -> Vec<(Arc<str>, Entry)>;
    /// How the enclosing value as a whole is read, if that is costly to compute. Called once, at the end of a path, and
    /// used instead of [`Entry::read`].
    fn read(&self) -> Option<Read> {
        None
    }
}

/// The result of looking up a name.
pub enum Found {
    /// It exists.
    Is(Entry),
    /// Unknown: the caller of the run may pass it.
    Maybe(Entry),
    /// It never exists, and why.
    Never(Nothing),
}

/// Something that does not have the name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Nothing {
    /// The kind of value: `text`, `a list`, `an object`; `None`: a place or a namespace, which is not a value.
    pub what: Option<&'static str>,
    /// The names that it does have.
    pub names: Vec<Arc<str>>,
}

impl Entry {
    /// A value of this type that always exists.
    pub fn new(schema: Type) -> Self {
        Self {
            read: None,
            schema,
            defined: Defined::Always,
            doubt: None,
            declared: None,
            note: None,
            sort: Sort::Other,
            inside: Inside::Value(Members::default()),
            refuses: false,
        }
    }
    /// The names of a place, or of a namespace, which is not itself a value.
    pub fn names(names: impl Names + 'static) -> Self {
        Self { inside: Inside::Names(Arc::new(names)), ..Self::new(Type::Any) }
    }
    /// Sets the source; it covers this number of leading segments.
    #[must_use]
    pub fn read(self, source: Source, skip: u16) -> Self {
        Self { read: Some(Read { source, skip }), ..self }
    }
    /// Sets whether it always, sometimes or never has a value.
    #[must_use]
    pub fn defined(self, defined: Defined) -> Self {
        Self { defined, ..self }
    }
    /// Sets the reason why it is missing.
    #[must_use]
    pub fn doubt(self, defined: Defined, doubt: Doubt) -> Self {
        Self { defined, doubt: Some(doubt), ..self }
    }
    /// Sets the declaration.
    #[must_use]
    pub fn declared(self, at: Option<Location>) -> Self {
        Self { declared: at, ..self }
    }
    /// Sets the declarations of its members.
    #[must_use]
    pub fn members(self, members: Members) -> Self {
        Self { inside: Inside::Value(members), ..self }
    }
    /// Sets separately defined inner names.
    #[must_use]
    pub fn inner(self, names: impl Names + 'static) -> Self {
        Self { inside: Inside::Names(Arc::new(names)), ..self }
    }
    /// Sets the description.
    #[must_use]
    pub fn note(self, note: impl Into<Arc<str>>) -> Self {
        Self { note: Some(note.into()), ..self }
    }
    /// Sets the kind of name.
    #[must_use]
    pub fn sort(self, sort: Sort) -> Self {
        Self { sort, ..self }
    }
    /// What a name inside it refers to.
    pub fn get(&self, name: &str) -> Found {
        match &self.inside {
            Inside::Names(names) => names.get(name),
            Inside::Value(places) => member(self, places, name),
            Inside::Loose(places) => loose::get(self, places, name),
        }
    }
    /// The names inside it, for editors.
    pub fn offer(&self) -> Vec<Name> {
        let offered = match &self.inside {
            Inside::Names(names) => names.all(),
            Inside::Loose(places) => loose::all(self, places),
            Inside::Value(_) => Vec::new(),
        };
        offered
            .into_iter()
            .map(|(name, Entry { schema, defined, declared, note, .. })| Name { name, declared, defined, schema, note })
            .collect()
    }
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("read", &self.read).field("defined", &self.defined).finish_non_exhaustive()
    }
}
