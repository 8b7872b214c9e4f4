//! The requirements on one answer: constraints by path, and paths that are read.

use std::sync::Arc;

use trefoil_ir::solve::Constraint;

/// A segment of a path into an answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Seg {
    /// A property.
    Name(Arc<str>),
    /// Every item of a list.
    Any,
}

impl Seg {
    /// Parses a segment: digits denote an item, and all items are treated alike.
    pub fn new(name: &Arc<str>) -> Self {
        if !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit()) { Self::Any } else { Self::Name(name.clone()) }
    }
}

/// A path into an answer; an empty path means the whole answer.
pub(super) type Path = Vec<Seg>;

/// The requirements on an answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Wants {
    /// By weight; earlier ones take precedence.
    pub constraints: Vec<(Path, Constraint)>,
    /// Paths that are read, with any value.
    pub reads: Vec<Path>,
    /// The topic of the prompt in a few words, for texts without other requirements.
    pub about: String,
}

impl Wants {
    /// The constraints on a place.
    pub fn at(&self, path: &[Seg]) -> impl Iterator<Item = &Constraint> {
        self.constraints.iter().filter(move |(p, _)| p == path).map(|(_, c)| c)
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        self.constraints.iter().map(|(p, _)| p).chain(&self.reads)
    }

    /// Whether there is a requirement at this place or inside it.
    pub fn within(&self, path: &[Seg]) -> bool {
        self.paths().any(|p| p.starts_with(path))
    }

    /// The segments directly inside a place that have requirements, each once, in order.
    pub fn inside(&self, path: &[Seg]) -> Vec<&Seg> {
        let mut all = Vec::new();
        for p in self.paths().filter(|p| p.starts_with(path)) {
            if let Some(next) = p.get(path.len())
                && !all.contains(&next)
            {
                all.push(next);
            }
        }
        all
    }
}
