//! How references get their values: bound once during lowering, looked up without hashing at run time.

use std::ops::Range;
use std::sync::Arc;

use crate::error::HoleQuestion;
use crate::value::{HoleKind, Value};

/// One segment of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathSegment {
    /// The name (or digits).
    pub name: Arc<str>,
    /// Its bytes in the text the template was parsed from.
    pub span: Range<u32>,
}

/// A path in a template or condition that is looked up from the root (not `this`, a block parameter, or a loop
/// variable). Lowering binds it, the checker checks it, and provenance names it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// The segments; empty means the whole root (`this`, `@root`).
    pub path: Vec<PathSegment>,
    /// The span of the whole path.
    pub span: Range<u32>,
    /// Whether an undefined value is handled: by an enclosing `if`, by the block that tests it, by a `default` helper
    /// or by a `default(...)` filter.
    pub guarded: bool,
    /// Whether it is printed where an enclosing block has found it to be empty: in the `else` of its own `if`.
    pub denied: bool,
    /// The paths that enclosing blocks test, so they have a value when this is looked up.
    pub asked: Vec<Vec<PathSegment>>,
    /// Whether it is an argument that is usually text (`(eq path word)`, `default path word`), so it may be a text
    /// without quotes.
    pub operand: bool,
    /// The text of `default(...)`/`json_or_default(...)`.
    pub default: Option<Arc<str>>,
    /// The source, set by lowering. If unbound: the root object, no segments consumed.
    pub binding: ReferenceBinding,
}

impl Reference {
    /// A reference that is not from a template, for looking up a single path. A missing value is allowed.
    pub fn from_path(path: Vec<PathSegment>, span: Range<u32>, binding: ReferenceBinding) -> Self {
        Self { path, span, guarded: true, denied: false, asked: Vec::new(), operand: false, default: None, binding }
    }
    /// A reference for a path that could not be read.
    pub(crate) fn for_unreadable_path() -> Self {
        Self::from_path(Vec::new(), 0..0, ReferenceBinding::default())
    }
    /// Whether an enclosing block tests another member of the same root. If that member has a value, the root exists.
    pub fn has_tested_sibling(&self) -> bool {
        let root = |path: &[PathSegment]| path.first().map(|s| s.name.clone());
        self.asked.iter().any(|asked| asked.len() > 1 && root(asked) == root(&self.path))
    }
    /// `a.b.c`.
    pub fn dotted_path(&self) -> String {
        self.path.iter().map(|s| &*s.name).collect::<Vec<_>>().join(".")
    }
}

/// A reference's source: an index into the table of the scope, and the number of leading segments that it covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReferenceBinding {
    /// The index of the source.
    pub source: u32,
    /// The number of segments covered; the rest of the path is followed in the found value.
    pub skip: u16,
}

/// Why a value is missing, as SirenSpec words it. Ignored by dialects where undefined is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingCause {
    /// `Key 'x' not found`, where x is the segment of the reference with this index.
    Key(u16),
    /// `Environment variable 'X' is not set`.
    Unset(Arc<str>),
    /// `Not inside a factory loop context`.
    OutsideLoop,
    /// `Missing field name after 'inputs.'`.
    NoField(Arc<str>),
}

/// The value of a source in a scope.
#[derive(Debug, Clone)]
pub enum SourceValue<'a> {
    /// A value borrowed from the scope.
    Borrowed(&'a Value),
    /// A value created for this lookup.
    Owned(Value),
    /// A value with a second one in a layer under it: a next segment that `top` lacks is looked up in `under`. `under`
    /// is an object that maps each step key to `{"out": value, "in": another such object or null}`.
    Layered {
        /// Takes precedence.
        top: Value,
        /// Used if `top` lacks the segment.
        under: Value,
    },
    /// The first of two in which the whole rest of the path resolves.
    Either(Box<SourceValue<'a>>, Box<SourceValue<'a>>),
    /// The environment or the secret store: the next segment names a hole.
    Opaque(HoleKind),
    /// Nothing.
    Missing(MissingCause),
}

/// The data that templates and conditions read.
pub trait ValueScope {
    /// The value of a source, see [`ReferenceBinding::source`].
    fn source_value(&self, source: u32) -> SourceValue<'_>;
    /// The answer to a question that depends on a hole, if it is already known.
    fn known_answer(&self, _question: &HoleQuestion) -> Option<bool> {
        None
    }
}

/// A scope with one source: the root object. For `trefoil render`, tests and benches.
impl ValueScope for Value {
    fn source_value(&self, _source: u32) -> SourceValue<'_> {
        SourceValue::Borrowed(self)
    }
}
