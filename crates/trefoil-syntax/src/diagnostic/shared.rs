//! Findings about places that are read in several ways.

use super::{Diagnostic, Label};
use crate::file::FileId;
use crate::hash::HashMap;
use crate::span::Span;

/// Places that a finding shows besides its own, where it stands for several.
const LABELS: usize = 6;

/// What is found where a text is read in several ways: behind several aliases of YAML, as the prompt of several nodes, in a file
/// that is called by several others. What one rule says alike of one place is one finding, with the other places of all.
#[derive(Debug, Clone, Default)]
pub struct Shared {
    found: Vec<Diagnostic>,
    /// By rule and place: which of them these are.
    of_place: HashMap<RuleAndPlace, Vec<usize>>,
}

type RuleAndPlace = (&'static str, Option<FileId>, Option<Span>);

impl Shared {
    /// Adds what one of the readers found.
    pub fn add(&mut self, diagnostic: Diagnostic) {
        let here = self.of_place.entry((diagnostic.rule, diagnostic.file, diagnostic.span)).or_default();
        let same = |at: &&usize| self.found.get(**at).is_some_and(|known| known.message == diagnostic.message);
        match here.iter().find(same).and_then(|at| self.found.get_mut(*at)) {
            Some(first) => {
                first.severity = first.severity.max(diagnostic.severity);
                first.also(diagnostic.labels);
            }
            None => {
                here.push(self.found.len());
                self.found.push(diagnostic);
            }
        }
    }
    /// All of them, in the order in which they were found first.
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.found
    }
}

impl Diagnostic {
    /// Shows more places, as far as there is room.
    pub fn also(&mut self, labels: Vec<Label>) {
        for label in labels {
            if self.labels.len() < LABELS && !self.labels.contains(&label) {
                self.labels.push(label);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::Shared;
    use crate::{Diagnostic, FileId, Location, Span};

    #[test]
    fn what_several_readers_say_alike_is_one_finding_with_the_places_of_all() {
        let at = |start| Location::new(FileId(0), Span::new(start, start + 1));
        let finding = |message: &str, label| Diagnostic::warning("rule", at(0), message).label(at(label), "here");
        let mut shared = Shared::default();
        for d in [finding("a", 1), finding("b", 1), finding("a", 2), finding("a", 1)] {
            shared.add(d);
        }
        let found = shared.into_vec();
        assert_eq!(found.iter().map(|d| (&*d.message, d.labels.len())).collect::<Vec<_>>(), [("a", 2), ("b", 1)]);
    }
}
