//! Binding the references of a text, and keeping what came of it.

use trefoil_ir::{Position, Source, Visible};
use trefoil_syntax::Location;
use trefoil_template::{Reference, Segment};

use super::{Bound, End, Entry, bind};
use crate::learn::{Meaning, Resolve};
use crate::lookalike::Tags;

/// A place where texts stand.
pub trait Place {
    /// What its texts are for.
    fn position(&self) -> Position;
    /// Its names.
    fn root(&self) -> Entry;
    /// How tags are written, for who writes those of another language. None: nobody asks here.
    fn tags(&self) -> Option<&'static Tags> {
        None
    }
    /// Whether a path that names something was surely meant to be read, whatever brackets stand around it: no everyday word.
    /// `alone`: nothing beside the brackets says that a placeholder was meant.
    fn is_meant(&self, _path: &[Segment], _bound: &Bound, _alone: bool) -> bool {
        true
    }
    /// The path by which a value is read, where it was named by less than that.
    fn whole_path(&self, _path: &str) -> Option<String> {
        None
    }
}

/// A reference, where it stands, and what it names.
#[derive(Debug, Clone)]
pub struct Use {
    /// The reference.
    pub reference: Reference,
    /// Its place in the file.
    pub at: Location,
    /// What it names.
    pub bound: Bound,
}

/// Binds the texts of a place.
pub struct Binder<'p> {
    place: &'p dyn Place,
    root: Entry,
    /// What was bound, in the order of the text.
    pub uses: Vec<Use>,
}

impl<'p> Binder<'p> {
    /// Of this place.
    pub fn new(place: &'p dyn Place) -> Self {
        Self { root: place.root(), place, uses: Vec::new() }
    }
}

impl Resolve for Binder<'_> {
    fn bind(&mut self, reference: &Reference, at: Location) -> (Source, u16) {
        let bound = bind(&self.root, &reference.path);
        let found = (bound.source.clone(), bound.skip);
        self.uses.push(Use { reference: reference.clone(), at, bound });
        found
    }

    fn position(&self) -> Position {
        self.place.position()
    }

    fn visible(&self) -> Visible {
        let root = self.root.clone();
        Visible::lazily(move || root.offer())
    }

    fn meanings(&self, reference: &Reference) -> Vec<Meaning> {
        Meaning::all(bind(&self.root, &reference.path))
    }

    fn is_there(&self, path: &str, alone: bool) -> bool {
        let whole = self.place.whole_path(path);
        let path = whole.as_deref().unwrap_or(path);
        let path: Vec<Segment> = path.split('.').map(|name| Segment { name: name.into(), span: 0..0 }).collect();
        let bound = bind(&self.root, &path);
        !matches!(bound.end, End::Nothing(_)) && self.place.is_meant(&path, &bound, alone)
    }

    fn whole_path(&self, path: &str) -> Option<String> {
        self.place.whole_path(path)
    }

    fn tags(&self) -> Option<&'static Tags> {
        self.place.tags()
    }
}
