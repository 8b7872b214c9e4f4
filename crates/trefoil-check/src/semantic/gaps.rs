//! What could not be read of a program, and how far that reaches: nobody knows what it would have said.

use trefoil_ir::Facts;
use trefoil_syntax::hash::{HashMap, HashSet};
use trefoil_syntax::{FileId, Location, Span};

/// What keeps a program, or parts of it, from being run.
#[derive(Debug, Default)]
pub struct Mistakes {
    /// The places of the mistakes.
    pub places: Vec<Location>,
    /// The files that have one, or that call such a file.
    pub files: HashSet<FileId>,
}

/// The places of the mistakes that keep a program from being run.
#[derive(Debug, Default)]
pub struct Gaps<'p> {
    /// By file: what is declared, and whether there is a mistake in it that is in nothing smaller.
    declared: HashMap<FileId, Vec<(Span, bool)>>,
    files: Option<&'p HashSet<FileId>>,
}

impl<'p> Gaps<'p> {
    /// Of these mistakes.
    pub fn of(facts: &Facts, mistakes: &'p Mistakes) -> Self {
        let mut gaps = Self::default();
        if mistakes.places.is_empty() {
            return gaps;
        }
        gaps.files = Some(&mistakes.files);
        for declaration in &facts.declarations {
            gaps.declared.entry(declaration.at.file).or_default().push((declaration.extent, false));
        }
        for at in &mistakes.places {
            if let Some((_, mistaken)) = gaps.around(*at) {
                *mistaken = true;
            }
        }
        gaps
    }

    /// Whether not all of a file, and of what it calls, could be read.
    pub fn reach(&self, file: Option<FileId>) -> bool {
        self.files.is_some_and(|files| file.is_none_or(|file| files.contains(&file)))
    }

    /// Whether there is a mistake in what is declared around a place, or in anything that is declared in that.
    pub fn touch(&self, at: Location) -> bool {
        let Some(all) = self.declared.get(&at.file) else { return self.reach(Some(at.file)) };
        let Some((around, _)) = smallest(all, at.span) else { return self.reach(Some(at.file)) };
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
