//! The requirements on one answer: constraints by path, and paths that are read.

use std::sync::Arc;

use trefoil_ir::solver::ValueConstraint;

/// A segment of a path into an answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum AnswerPathSegment {
    /// A property.
    Name(Arc<str>),
    /// Every item of a list.
    Any,
}

impl AnswerPathSegment {
    /// Parses a segment: digits denote an item, and all items are treated alike.
    pub fn new(name: &Arc<str>) -> Self {
        if !name.is_empty() && name.bytes().all(|b| b.is_ascii_digit()) { Self::Any } else { Self::Name(name.clone()) }
    }
}

/// A path into an answer; an empty path means the whole answer.
pub(super) type AnswerPath = Vec<AnswerPathSegment>;

/// The requirements on an answer.
#[derive(Debug, Clone, Default)]
pub(super) struct AnswerRequirements {
    /// By weight; earlier ones take precedence.
    pub constraints: Vec<(AnswerPath, ValueConstraint)>,
    /// Paths that are read, with any value.
    pub reads: Vec<AnswerPath>,
    /// The topic of the prompt in a few words, for texts without other requirements.
    pub about: String,
}

impl AnswerRequirements {
    /// The constraints on a place.
    pub fn constraints_at(&self, path: &[AnswerPathSegment]) -> impl Iterator<Item = &ValueConstraint> {
        self.constraints.iter().filter(move |(known, _)| known == path).map(|(_, constraint)| constraint)
    }

    /// The paths of all requirements.
    pub fn all_paths(&self) -> impl Iterator<Item = &AnswerPath> {
        self.constraints.iter().map(|(path, _)| path).chain(&self.reads)
    }

    /// Whether there is a requirement at this place or inside it.
    pub fn has_within(&self, path: &[AnswerPathSegment]) -> bool {
        self.all_paths().any(|known| known.starts_with(path))
    }

    /// The segments directly inside a place that have requirements, each once, in order.
    pub fn segments_inside(&self, path: &[AnswerPathSegment]) -> Vec<&AnswerPathSegment> {
        let mut all = Vec::new();
        for known in self.all_paths() {
            if known.starts_with(path)
                && let Some(next) = known.get(path.len())
                && !all.contains(&next)
            {
                all.push(next);
            }
        }
        all
    }
}
