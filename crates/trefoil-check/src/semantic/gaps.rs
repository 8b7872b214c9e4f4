//! What could not be read of a program, and how far that reaches: nobody knows what it would have said.

use trefoil_ir::Facts;
use trefoil_syntax::hash::HashMap;
use trefoil_syntax::{FileId, Location, Span};

/// The places of the mistakes that keep a program from being run.
#[derive(Debug, Default)]
pub struct Gaps {
    /// By file: what is declared, and whether there is a mistake in it that is in nothing smaller.
    declared: HashMap<FileId, Vec<(Span, bool)>>,
    none: bool,
}

impl Gaps {
    /// Of these mistakes.
    pub fn of(facts: &Facts, mistakes: &[Location]) -> Self {
        let mut gaps = Self { declared: HashMap::default(), none: mistakes.is_empty() };
        if gaps.none {
            return gaps;
        }
        for declaration in &facts.declarations {
            gaps.declared.entry(declaration.at.file).or_default().push((declaration.extent, false));
        }
        for at in mistakes {
            if let Some((_, mistaken)) = gaps.around(*at) {
                *mistaken = true;
            }
        }
        gaps
    }

    /// Whether all could be read.
    pub fn are_none(&self) -> bool {
        self.none
    }

    /// Whether there is a mistake in what is declared around a place, or in anything that is declared in that.
    pub fn touch(&self, at: Location) -> bool {
        let Some(all) = self.declared.get(&at.file) else { return !self.none };
        let Some((around, _)) = smallest(all, at.span) else { return !self.none };
        all.iter().any(|(span, mistaken)| *mistaken && contains(*around, *span))
    }

    fn around(&mut self, at: Location) -> Option<&mut (Span, bool)> {
        let all = self.declared.entry(at.file).or_default();
        let extent = smallest(all, at.span).map(|(span, _)| *span);
        if extent.is_none() {
            all.push((Span::new(0, u32::MAX), false));
        }
        let extent = extent.unwrap_or(Span::new(0, u32::MAX));
        all.iter_mut().find(|(span, _)| *span == extent)
    }
}

fn contains(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

/// The smallest of these around a place.
fn smallest(all: &[(Span, bool)], at: Span) -> Option<&(Span, bool)> {
    all.iter().filter(|(span, _)| contains(*span, at)).min_by_key(|(span, _)| span.end - span.start)
}
