//! A reference that a finder checks, and the wording of its findings.

use trefoil_syntax::suggestions::NearMatch;
use trefoil_syntax::{Diagnostic, Location};

use super::unit::with_help;
use trefoil_front::aegis::names::{RenderMoment, WorkflowNames};
use trefoil_front::names::BoundReference;
use trefoil_front::spelling_fixes;

/// A reference to check.
pub struct CheckedReference<'u> {
    pub names: &'u WorkflowNames,
    pub moment: RenderMoment,
    pub used: &'u BoundReference,
}

impl CheckedReference<'_> {
    /// The name of a segment.
    pub fn segment_name(&self, segment: usize) -> &str {
        self.used.segment_name(segment)
    }

    /// The number of names in the path.
    pub fn path_length(&self) -> usize {
        self.used.reference.path.len()
    }

    /// The place of a segment.
    pub fn segment_location(&self, segment: usize) -> Option<Location> {
        self.used.segment_location(segment)
    }

    /// A warning about the whole path.
    pub fn path_warning(&self, rule: &'static str, message: &str, help: &str) -> Diagnostic {
        with_help(Diagnostic::new_warning(rule, self.used.at, message), help)
    }

    /// A warning about a segment, with a suggestion of the intended name.
    pub fn segment_warning(
        &self,
        rule: &'static str,
        message: &str,
        help: &str,
        segment: usize,
        near: Option<NearMatch<'_>>,
    ) -> Diagnostic {
        let d = self.path_warning(rule, message, help);
        match near {
            Some(near) => spelling_fixes::fix_name(d, self.segment_location(segment), near, true),
            None => d,
        }
    }

    /// A path with a redundant word before a name; `meant` is the rest without it.
    pub fn redundant_word_warning(&self, word: usize, meant: &[&str]) -> Diagnostic {
        let meant = meant.join(".");
        let message = format!("`{}.{}` is not defined", self.segment_name(word), self.segment_name(word + 1));
        let d = self.path_warning("unresolved-name", &message, &format!("write `{meant}`"));
        spelling_fixes::fix_path(d, self.used.segments_location(word, word + 1), &meant, false)
    }
}
