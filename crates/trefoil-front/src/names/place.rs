//! The places of texts, and which words in a text are names there.

use trefoil_ir::{Position, place};
use trefoil_syntax::Location;
use trefoil_template::{Reference, Segment};

use super::{Bound, End, Entry, bind};

/// A place of texts.
pub trait Place {
    /// What its texts are used for.
    fn position(&self) -> Position;
    /// The available names.
    fn root(&self) -> Entry;
    /// The notation of tags, for authors who use that of another language. `None`: not needed here.
    fn tags(&self) -> Option<&'static Tags> {
        None
    }
    /// Whether an existing path was certainly meant as a placeholder, whatever brackets it is in, because it is not an
    /// everyday word. `alone`: only the brackets indicate a placeholder.
    fn is_meant(&self, _path: &[Segment], _bound: &Bound, _alone: bool) -> bool {
        true
    }
    /// What has these names, as a message says it: a name that it does not have is reported with that. None: the dialect has
    /// a finder that knows more about them.
    fn called(&self) -> Option<&'static str> {
        Some("this text")
    }
    /// The full path of a value that was named by a shorter one.
    fn whole_path(&self, _path: &str) -> Option<String> {
        None
    }
}

/// A reference, its place and its binding.
#[derive(Debug, Clone)]
pub struct Use {
    /// The reference.
    pub reference: Reference,
    /// The place in the file.
    pub at: Location,
    /// Its binding.
    pub bound: Bound,
}

impl Use {
    /// The name of a segment; empty after the last one.
    pub fn name(&self, segment: usize) -> &str {
        self.reference.path.get(segment).map_or("", |s| &*s.name)
    }
    /// Where a segment is in the file.
    pub fn segment(&self, index: usize) -> Option<Location> {
        self.segments(index, index)
    }
    /// Where a range of segments is, the last one too.
    pub fn segments(&self, from: usize, to: usize) -> Option<Location> {
        let path = &self.reference.path;
        place::part(&self.reference.span, self.at, path.get(from)?.span.start..path.get(to)?.span.end)
    }
    /// Where the whole path is, without a filter.
    pub fn whole(&self) -> Option<Location> {
        self.segments(0, self.reference.path.len().checked_sub(1)?)
    }
}

/// The notation of a dialect's tags, for authors who use that of another language.
#[derive(Debug)]
pub struct Tags {
    /// The space between the braces of a placeholder and its path.
    pub space: &'static str,
    /// The equivalent of statements in other languages.
    pub statements: &'static str,
    /// Where to write a comparison; `None`: the dialect has no blocks.
    pub comparison: Option<&'static str>,
}

/// Whether a path certainly names a value in a place, so it was meant as a placeholder whatever brackets it is in.
/// `alone`: only the brackets indicate a placeholder.
pub fn is_there(place: &dyn Place, root: &Entry, path: &str, alone: bool) -> bool {
    let whole = place.whole_path(path);
    let names = whole.as_deref().unwrap_or(path).split('.');
    let path: Vec<Segment> = names.map(|name| Segment { name: name.into(), span: 0..0 }).collect();
    let bound = bind(root, &path);
    !matches!(bound.end, End::Nothing(_)) && place.is_meant(&path, &bound, alone)
}

/// Whether a name is written like that of an environment variable.
pub fn is_variable(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Whether a text has the form of a path.
pub fn is_path(text: &str) -> bool {
    let word = |s: &str| !s.is_empty() && s.chars().all(|c| c != '.' && in_path(c));
    text.split('.').all(word)
}

/// Whether a character can occur in a path.
pub fn in_path(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}
