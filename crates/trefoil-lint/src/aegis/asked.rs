//! A reference that a finder checks, and the wording of its findings.

use trefoil_syntax::suggest::{self, Near};
use trefoil_syntax::{Diagnostic, Location};

use super::unit::{Workflow, helped};
use trefoil_front::aegis::names::{Moment, WorkflowNames};
use trefoil_front::mend;
use trefoil_front::names::Use;

/// A reference to check.
pub struct Asked<'u, 'a, 'd> {
    pub unit: &'u Workflow<'a, 'd>,
    pub names: &'u WorkflowNames,
    pub moment: Moment,
    pub used: &'u Use,
}

impl Asked<'_, '_, '_> {
    /// The name of a segment.
    pub fn name(&self, segment: usize) -> &str {
        self.used.name(segment)
    }

    /// The number of names in the path.
    pub fn length(&self) -> usize {
        self.used.reference.path.len()
    }

    /// The place of a segment.
    pub fn place(&self, segment: usize) -> Option<Location> {
        self.used.segment(segment)
    }

    /// A warning about the whole path.
    pub fn warning(&self, rule: &'static str, message: &str, help: &str) -> Diagnostic {
        helped(Diagnostic::warning(rule, self.used.at, message), help)
    }

    /// A warning about a segment, with a suggestion of the intended name.
    pub fn near(
        &self,
        rule: &'static str,
        message: &str,
        help: &str,
        segment: usize,
        near: Option<Near<'_>>,
    ) -> Diagnostic {
        let d = self.warning(rule, message, help);
        match near {
            Some(near) => mend::renamed(d, self.place(segment), near, true),
            None => d,
        }
    }

    /// A path with a redundant word before a name; `meant` is the rest without it.
    pub fn without(&self, word: usize, meant: &[&str]) -> Diagnostic {
        let meant = meant.join(".");
        let message = format!("`{}.{}` is not defined", self.name(word), self.name(word + 1));
        let d = self.warning("unresolved-name", &message, &format!("write `{meant}`"));
        mend::rewritten(d, self.used.segments(word, word + 1), &meant, false)
    }
}

/// The name that was certainly meant, even if any other name may exist: the word differs only by two swapped letters or
/// one missing letter inside it.
pub fn slip<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> Option<Near<'c>> {
    let letters = |text: &str| {
        let mut all: Vec<char> = text.chars().collect();
        all.sort_unstable();
        all
    };
    let all: Vec<&str> = candidates.collect();
    let near = suggest::near(word, all.iter().copied()).filter(|near| near.sure && near.name != word)?;
    let swapped = letters(word) == letters(near.name);
    let left_out = near.distance == 1 && word.len() < near.name.len() && !near.name.starts_with(word);
    (word.len() >= 4 && (swapped || left_out)).then_some(near)
}
