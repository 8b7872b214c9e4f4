//! How a reference meets its value: bound once at lowering, looked up without hashing at run time.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Question;
use crate::value::{HoleKind, Value};

/// One segment of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// The name (or digits).
    pub name: Arc<str>,
    /// Its bytes in the text the template was parsed from.
    pub span: Range<u32>,
}

/// A path in a template or condition that is looked up from the root (not `this`, not a block parameter, not a loop's own
/// fields): what lowering binds, the checker proves and provenance names.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// The segments; empty means the whole root (`this`, `@root`).
    pub path: Vec<Segment>,
    /// The whole path's bytes in the text.
    pub span: Range<u32>,
    /// Whether an `if` around it, the block that asks for it, a `default` helper or a `default(...)` filter catches the
    /// undefined case.
    pub guarded: bool,
    /// Whether it is printed where a block around it has found it to be nothing: in the `else` of its own `if`.
    pub denied: bool,
    /// The paths that the blocks around it ask for, so that they have a value wherever this is looked up.
    pub asked: Vec<Vec<Segment>>,
    /// Whether it stands where a helper is mostly given a text (`(eq path word)`, `default path word`): perhaps one without
    /// its quotes.
    pub operand: bool,
    /// The text of `default(...)`/`json_or_default(...)`.
    pub default: Option<Arc<str>>,
    /// Where lowering said it comes from. Unbound: the root object, nothing consumed.
    pub binding: Binding,
}

impl Reference {
    /// One that no template holds, for who asks about a path by itself: what is missing there is taken care of.
    pub fn guarded(path: Vec<Segment>, span: Range<u32>, binding: Binding) -> Self {
        Self { path, span, guarded: true, denied: false, asked: Vec::new(), operand: false, default: None, binding }
    }
    /// One that could not be read.
    pub(crate) fn unknown() -> Self {
        Self::guarded(Vec::new(), 0..0, Binding::default())
    }
    /// Whether a block around it asks for another member of the same root: where that has one, the root is there.
    pub fn beside(&self) -> bool {
        let root = |path: &[Segment]| path.first().map(|s| s.name.clone());
        self.asked.iter().any(|asked| asked.len() > 1 && root(asked) == root(&self.path))
    }
    /// `a.b.c`.
    pub fn dotted(&self) -> String {
        self.path.iter().map(|s| &*s.name).collect::<Vec<_>>().join(".")
    }
}

/// A reference's source: an index into the table that the scope understands, and how many leading segments it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Binding {
    /// Which source.
    pub source: u32,
    /// Segments consumed; the rest of the path is walked in the found value.
    pub skip: u16,
}

/// Why there is nothing, in the words of decision S2. Dialects where undefined is empty ignore it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// `Key 'x' not found`; x is the reference's segment at this index.
    Key(u16),
    /// `Environment variable 'X' is not set`.
    Unset(Arc<str>),
    /// `Not inside a factory loop context`.
    OutsideLoop,
    /// `Missing field name after 'inputs.'`.
    NoField(Arc<str>),
}

/// What a scope has for a source.
#[derive(Debug, Clone)]
pub enum Found<'a> {
    /// A value that lives in the scope.
    Borrowed(&'a Value),
    /// A value made for this look-up.
    Owned(Value),
    /// A value with a second one beneath: a next segment that `top` does not have is looked up in `under` (decisions A10,
    /// S9). `under` is an object of `{"out": value, "in": the same again or null}` by step key.
    Layered {
        /// Wins.
        top: Value,
        /// Consulted when `top` lacks the segment.
        under: Value,
    },
    /// The first of two in which the whole rest of the path resolves (decision S4).
    Either(Box<Found<'a>>, Box<Found<'a>>),
    /// The environment or the secret store: the next segment names a hole.
    Opaque(HoleKind),
    /// Nothing.
    Missing(Missing),
}

/// What templates and conditions are evaluated against.
pub trait Scope {
    /// The value of a source of [`Binding::source`].
    fn source(&self, source: u32) -> Found<'_>;
    /// The answer to a question that depends on a hole, if it is known by now.
    fn decided(&self, _question: &Question) -> Option<bool> {
        None
    }
}

/// A scope with one source: the root object. For `trefoil render`, tests and benches.
impl Scope for Value {
    fn source(&self, _source: u32) -> Found<'_> {
        Found::Borrowed(self)
    }
}
