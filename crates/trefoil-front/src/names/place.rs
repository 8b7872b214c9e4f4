//! The places of texts, and which parts of a text are names there.

use trefoil_ir::Position;
use trefoil_syntax::Location;
use trefoil_template::{Reference, Segment};

use super::{Bound, End, Entry, bind};

/// A place of texts.
pub trait Place {
    /// What its texts are for.
    fn position(&self) -> Position;
    /// Its names.
    fn root(&self) -> Entry;
    /// How tags are written, for authors who write those of another language. None: not needed here.
    fn tags(&self) -> Option<&'static Tags> {
        None
    }
    /// Whether a path that names something was surely meant to be read, in whatever brackets: no everyday word.
    /// `alone`: nothing beside the brackets says that a placeholder was meant.
    fn is_meant(&self, _path: &[Segment], _bound: &Bound, _alone: bool) -> bool {
        true
    }
    /// The path by which a value is read, where it was named by less than that.
    fn whole_path(&self, _path: &str) -> Option<String> {
        None
    }
}

/// A reference, where it is, and what it names.
#[derive(Debug, Clone)]
pub struct Use {
    /// The reference.
    pub reference: Reference,
    /// Its place in the file.
    pub at: Location,
    /// What it names.
    pub bound: Bound,
}

/// How a dialect writes its tags, for who writes those of another language.
#[derive(Debug)]
pub struct Tags {
    /// The space between the braces of a placeholder and its path.
    pub space: &'static str,
    /// What there is instead of the statements of other languages.
    pub statements: &'static str,
    /// Where a comparison belongs; none: the dialect has no blocks.
    pub comparison: Option<&'static str>,
}

/// Whether a path surely names a value at a place of these names, so that it was meant to be read in whatever brackets.
/// `alone`: nothing beside the brackets says that a placeholder was meant.
pub fn is_there(place: &dyn Place, root: &Entry, path: &str, alone: bool) -> bool {
    let whole = place.whole_path(path);
    let names = whole.as_deref().unwrap_or(path).split('.');
    let path: Vec<Segment> = names.map(|name| Segment { name: name.into(), span: 0..0 }).collect();
    let bound = bind(root, &path);
    !matches!(bound.end, End::Nothing(_)) && place.is_meant(&path, &bound, alone)
}

/// Whether a text is written like a path.
pub fn is_path(text: &str) -> bool {
    let word = |s: &str| !s.is_empty() && s.chars().all(|c| c != '.' && in_path(c));
    text.split('.').all(word)
}

/// Whether a character is one of those that paths are written with.
pub fn in_path(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}
