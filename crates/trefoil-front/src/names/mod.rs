//! The names of one place, as data.
//!
//! A dialect declares once which names a text in a place may start with: a tree of [`Entry`]s whose inner names are put
//! together when somebody asks. All else is a reading of that tree: [`bind`] walks a path through it, editors list it,
//! "did you mean" compares with it, and what looks like a placeholder in the wrong brackets is looked up in it.
//!
//! Nothing here reports. What is wrong with a path is data as well ([`End`], [`Entry::doubt`]); finders of mistakes read it.

mod bind;
mod listed;
mod loose;
mod members;
mod place;

use std::sync::Arc;

use trefoil_ir::{Defined, Name, Source};
use trefoil_syntax::Location;
use trefoil_template::Value;

pub use bind::{Bound, End, Stop, bind, member};
pub use listed::Listed;
pub use loose::loose;
pub use members::{Member, Members, places};
pub(crate) use members::{items, members_of};
pub use place::{Place, Tags, Use, in_path, is_path, is_there};

/// What a path names, up to and with one of its segments.
#[derive(Clone)]
pub struct Entry {
    /// How a run reads it. None: as the member of what was named before it, or not at all where there is nothing before it.
    pub read: Option<Read>,
    /// Its type, a JSON Schema (see [`trefoil_ir::types`]).
    pub schema: Value,
    /// Whether it has a value where it is read.
    pub defined: Defined,
    /// Why it has none, or not on every path.
    pub doubt: Option<Doubt>,
    /// Where it is declared, if a manifest does that.
    pub declared: Option<Location>,
    /// One line about it, for editors.
    pub note: Option<Arc<str>>,
    /// What sort of name it is.
    pub sort: Sort,
    /// What is inside of it.
    pub inside: Inside,
    /// Of the names of a place: a path that continues where its value ends keeps a program from a run (decision C9).
    pub refuses: bool,
}

/// The sort of name, for advice about names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sort {
    /// One of the format's own, or a part of a value.
    #[default]
    Other,
    /// The result of a step, by its place in the manifest.
    Step(usize),
    /// A key of state that steps share.
    Key,
    /// A part of the input that a run or an agent is started with.
    Input,
}

/// How a run reads a value.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// Where it is.
    pub source: Source,
    /// How many segments of the path, from the first one on, the source stands for.
    pub skip: u16,
}

/// Why a value may be missing where it is read.
#[derive(Debug, Clone, PartialEq)]
pub enum Doubt {
    /// It comes from the very step that reads.
    Own,
    /// Its step runs at the same time.
    Beside,
    /// Its step has not run by then.
    Later,
    /// Its step has not run by then on the first pass of a loop.
    FirstPass,
    /// Its step runs only on a condition (as written), or only on some of the paths that lead here.
    Skipped(Option<Arc<str>>),
    /// The caller passes no input, or one without it.
    NotGiven,
}

/// What is inside of something.
#[derive(Clone)]
pub enum Inside {
    /// The members of a value: those of its type, with the places where they are declared.
    Value(Members),
    /// The same of a value that may have others as well.
    Loose(Members),
    /// Names of their own.
    Names(Arc<dyn Names>),
}

/// The names inside of something, or those of a place. A format's own object lists its members; a tree that steps write
/// works out who wrote what is asked for.
pub trait Names: Send + Sync {
    /// What a name stands for.
    fn get(&self, name: &str) -> Found;
    /// The names to offer, in this order, with what they stand for. Dots are part of what is offered.
    fn all(&self) -> Vec<(Arc<str>, Entry)>;
    /// How what these names are inside of is read, where that takes work: asked once, at the end of a path, and then in place
    /// of [`Entry::read`].
    fn read(&self) -> Option<Read> {
        None
    }
}

/// What became of a name that was looked for.
pub enum Found {
    /// It is there.
    Is(Entry),
    /// Unknown: the caller of the run may pass it.
    Maybe(Entry),
    /// It is never there, and why.
    Never(Nothing),
}

/// What does not have a name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Nothing {
    /// What it is: `text`, `a list`, `an object`; none: a place or a namespace, which is no value.
    pub what: Option<&'static str>,
    /// The names that it has.
    pub names: Vec<Arc<str>>,
}

impl Entry {
    /// A value of this type that is always there.
    pub fn new(schema: Value) -> Self {
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
    /// The names of a place, or of a namespace, which is no value itself.
    pub fn names(names: impl Names + 'static) -> Self {
        Self { inside: Inside::Names(Arc::new(names)), ..Self::new(Value::Bool(true)) }
    }
    /// The same, read from there; the source stands for so many segments from the first on.
    #[must_use]
    pub fn read(self, source: Source, skip: u16) -> Self {
        Self { read: Some(Read { source, skip }), ..self }
    }
    /// The same, there always, sometimes or never.
    #[must_use]
    pub fn defined(self, defined: Defined) -> Self {
        Self { defined, ..self }
    }
    /// The same, missing for this reason.
    #[must_use]
    pub fn doubt(self, defined: Defined, doubt: Doubt) -> Self {
        Self { defined, doubt: Some(doubt), ..self }
    }
    /// The same, declared there.
    #[must_use]
    pub fn declared(self, at: Option<Location>) -> Self {
        Self { declared: at, ..self }
    }
    /// The same with members that are declared in these places.
    #[must_use]
    pub fn members(self, members: Members) -> Self {
        Self { inside: Inside::Value(members), ..self }
    }
    /// The same with names of their own inside.
    #[must_use]
    pub fn inner(self, names: impl Names + 'static) -> Self {
        Self { inside: Inside::Names(Arc::new(names)), ..self }
    }
    /// The same with a line about it.
    #[must_use]
    pub fn note(self, note: impl Into<Arc<str>>) -> Self {
        Self { note: Some(note.into()), ..self }
    }
    /// The same, as a name of this sort.
    #[must_use]
    pub fn sort(self, sort: Sort) -> Self {
        Self { sort, ..self }
    }
    /// What a name inside of it stands for.
    pub fn get(&self, name: &str) -> Found {
        match &self.inside {
            Inside::Names(names) => names.get(name),
            Inside::Value(places) => member(self, places, name),
            Inside::Loose(places) => loose::get(self, places, name),
        }
    }
    /// The names inside, as editors offer them.
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
