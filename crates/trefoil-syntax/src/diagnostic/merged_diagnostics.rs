//! Findings about a place that is read in several ways.

use super::{Diagnostic, DiagnosticLabel};
use crate::hash::HashMap;
use crate::span::{FileId, Span};

/// The maximum number of labels on a merged finding.
const LABELS: usize = 6;

/// Findings about text that is read in several ways: through several YAML aliases, as the prompt of several nodes, or
/// in a file called by several others. Findings with the same rule, place and message are merged, with the labels of
/// all.
#[derive(Debug, Clone, Default)]
pub struct MergedDiagnostics {
    found: Vec<Diagnostic>,
    /// Indexes into `found`, by rule and place.
    of_place: HashMap<RuleAndPlace, Vec<usize>>,
}

type RuleAndPlace = (&'static str, Option<FileId>, Option<Span>);

impl MergedDiagnostics {
    /// Adds a finding, or merges it into an identical one.
    pub fn add_or_merge(&mut self, diagnostic: Diagnostic) {
        let here = self.of_place.entry((diagnostic.rule, diagnostic.file, diagnostic.span)).or_default();
        let same = |at: &&usize| self.found.get(**at).is_some_and(|known| known.message == diagnostic.message);
        match here.iter().find(same).and_then(|at| self.found.get_mut(*at)) {
            Some(first) => {
                first.severity = first.severity.max(diagnostic.severity);
                first.add_labels(diagnostic.labels);
            }
            None => {
                here.push(self.found.len());
                self.found.push(diagnostic);
            }
        }
    }
    /// All findings, in the order in which they were first added.
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.found
    }
}

impl Diagnostic {
    /// Adds labels, up to the maximum.
    pub fn add_labels(&mut self, labels: Vec<DiagnosticLabel>) {
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
    use super::MergedDiagnostics;
    use crate::{Diagnostic, FileId, Location, Span};

    #[test]
    fn what_several_readers_say_alike_is_one_finding_with_the_places_of_all() {
        let at = |start| Location::new(FileId(0), Span::new(start, start + 1));
        let finding =
            |message: &str, label| Diagnostic::new_warning("rule", at(0), message).with_label(at(label), "here");
        let mut shared = MergedDiagnostics::default();
        for d in [finding("a", 1), finding("b", 1), finding("a", 2), finding("a", 1)] {
            shared.add_or_merge(d);
        }
        let found = shared.into_vec();
        assert_eq!(found.iter().map(|d| (&*d.message, d.labels.len())).collect::<Vec<_>>(), [("a", 2), ("b", 1)]);
    }
}
