//! Everything that is wanted of one answer: constraints by path, and paths that somebody reads.

use std::sync::Arc;

use super::constraint::Constraint;

/// A step of a path into an answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Seg {
    /// A member.
    Name(Arc<str>),
    /// Every item of a list.
    Any,
}

impl Seg {
    /// A segment as paths write it: digits are an item, and all items are treated alike.
    pub fn new(name: &Arc<str>) -> Self {
        if !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit()) { Self::Any } else { Self::Name(name.clone()) }
    }
}

/// A path into an answer; empty: all of it.
pub(super) type Path = Vec<Seg>;

/// The wants.
#[derive(Debug, Clone, Default)]
pub(super) struct Wants {
    /// In the order of their weight: earlier ones were there first.
    pub constraints: Vec<(Path, Constraint)>,
    /// Read by somebody, whatever it is.
    pub reads: Vec<Path>,
    /// What the prompt is about, in a few words: texts that nothing else decides name it.
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

    /// Whether something at this place or inside it is wanted.
    pub fn within(&self, path: &[Seg]) -> bool {
        self.paths().any(|p| p.starts_with(path))
    }

    /// What is wanted directly inside a place, each once, in order.
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
