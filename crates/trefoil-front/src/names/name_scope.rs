//! The places of texts, and which words in a text are names there.

use trefoil_ir::{TextRole, path_location};
use trefoil_syntax::Location;
use trefoil_template::{PathSegment, Reference};

use super::{BoundPath, NameEntry, PathResolution, bind_path};

/// A place of texts.
pub trait NameScope {
    /// What its texts are used for.
    fn text_position(&self) -> TextRole;
    /// The available names.
    fn root_entry(&self) -> NameEntry;
    /// The notation of tags, for authors who use that of another language. `None`: not needed here.
    fn tag_notation(&self) -> Option<&'static TagNotation> {
        None
    }
    /// Whether an existing path was certainly meant as a placeholder, whatever brackets it is in, because it is not an
    /// everyday word. `alone`: only the brackets indicate a placeholder.
    fn is_meant(&self, _path: &[PathSegment], _bound: &BoundPath, _alone: bool) -> bool {
        true
    }
    /// What has these names, as a message says it: a name that it does not have is reported with that. None: the dialect has
    /// a finder that knows more about them.
    fn scope_description(&self) -> Option<&'static str> {
        Some("this text")
    }
    /// The full path of a value that was named by a shorter one.
    fn whole_path(&self, _path: &str) -> Option<String> {
        None
    }
}

/// A reference, its place and its binding.
#[derive(Debug, Clone)]
pub struct BoundReference {
    /// The reference.
    pub reference: Reference,
    /// The place in the file.
    pub at: Location,
    /// Its binding.
    pub bound: BoundPath,
}

impl BoundReference {
    /// The name of a segment; empty after the last one.
    pub fn segment_name(&self, segment: usize) -> &str {
        match self.reference.path.get(segment) {
            Some(segment) => &segment.name,
            None => "",
        }
    }
    /// Where a segment is in the file.
    pub fn segment_location(&self, index: usize) -> Option<Location> {
        self.segments_location(index, index)
    }
    /// Where a range of segments is, the last one too.
    pub fn segments_location(&self, from: usize, to: usize) -> Option<Location> {
        let path = &self.reference.path;
        path_location::locate_part(&self.reference.span, self.at, path.get(from)?.span.start..path.get(to)?.span.end)
    }
    /// Where the whole path is, without a filter.
    pub fn path_location(&self) -> Option<Location> {
        self.segments_location(0, self.reference.path.len().checked_sub(1)?)
    }
}

/// The notation of a dialect's tags, for authors who use that of another language.
#[derive(Debug)]
pub struct TagNotation {
    /// The space between the braces of a placeholder and its path.
    pub space: &'static str,
    /// The equivalent of statements in other languages.
    pub statements: &'static str,
    /// Where to write a comparison; `None`: the dialect has no blocks.
    pub comparison: Option<&'static str>,
}

/// Whether a path certainly names a value in a place, so it was meant as a placeholder whatever brackets it is in.
/// `alone`: only the brackets indicate a placeholder.
pub fn is_there(place: &dyn NameScope, root: &NameEntry, path: &str, alone: bool) -> bool {
    let whole = place.whole_path(path);
    let names = whole.as_deref().unwrap_or(path).split('.');
    let path: Vec<PathSegment> = names.map(|name| PathSegment { name: name.into(), span: 0..0 }).collect();
    let bound = bind_path(root, &path);
    !matches!(bound.end, PathResolution::Nothing(_)) && place.is_meant(&path, &bound, alone)
}

/// Whether a name is written like that of an environment variable.
pub fn is_variable(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Whether a text has the form of a path.
pub fn is_path(text: &str) -> bool {
    let word = |part: &str| !part.is_empty() && part.chars().all(|c| c != '.' && in_path(c));
    text.split('.').all(word)
}

/// Whether a character can occur in a path.
pub fn in_path(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}
