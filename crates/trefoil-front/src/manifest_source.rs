//! A file with its text: places in it, and questions about its layout.

use trefoil_syntax::{FileId, Location, Span};

use crate::project::{ManifestDocument, Project};

/// A file.
#[derive(Debug, Clone, Copy)]
pub struct ManifestSource<'d> {
    /// Its id.
    pub file: FileId,
    /// Its text, if known.
    pub text: Option<&'d str>,
    /// Model providers that the operator declares.
    pub providers: &'d [String],
}

impl<'d> ManifestSource<'d> {
    /// This file.
    pub fn new(file: FileId, text: Option<&'d str>) -> Self {
        Self { file, text, providers: &[] }
    }
    /// The file of a document.
    pub fn for_document(project: &'d Project, document: &ManifestDocument) -> Self {
        let text = project.files.get(document.file).map(|f| &**f.text());
        Self { providers: &project.providers, ..Self::new(document.file, text) }
    }
    /// The spaces before a place, if nothing else precedes it on its line and the text is known.
    pub fn leading_spaces(&self, span: Span) -> Option<&'d str> {
        let before = self.text?.get(..span.start as usize)?;
        let line = before.rsplit('\n').next().unwrap_or_default();
        line.bytes().all(|b| b == b' ').then_some(line)
    }
    /// Whether a place is in a double-quoted scalar, judging by its line.
    pub fn is_in_double_quotes(&self, span: Span) -> bool {
        let before = self.text.and_then(|t| t.get(..span.start as usize));
        let line = before.and_then(|t| t.rsplit('\n').next()).unwrap_or_default();
        let value = line.find(": ").and_then(|at| line.get(at + 2..)).unwrap_or(line).trim_start();
        value.trim_start_matches("- ").starts_with('"') || line.matches('"').count() % 2 == 1
    }
    /// Whether a place ends with a colon.
    pub fn colon_after(&self, span: Span) -> bool {
        self.text.and_then(|t| t.get(span.end as usize..)).is_some_and(|rest| rest.starts_with(':'))
    }
    /// Whether the file confirms that a word is a misspelling of a declared name: the name occurs again after its
    /// declaration, and more often than the word. If each occurs once, either may be wrong. A name that is not in this
    /// file is declared in another one.
    pub fn confirms_misspelling(&self, name: &str, slip: &str) -> bool {
        let Some(text) = self.text else { return true };
        let count = |word: &str| {
            let part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
            let whole = |at: &usize| {
                let (before, rest) = text.split_at_checked(*at).unwrap_or_default();
                !before.ends_with(part) && !rest.get(word.len()..).is_some_and(|t| t.starts_with(part))
            };
            text.match_indices(word).map(|(at, _)| at).filter(whole).count()
        };
        let times = count(name);
        times == 0 || times > 1 && (slip.is_empty() || times > count(slip))
    }
    /// A span of this file.
    pub fn location_of(&self, span: Span) -> Location {
        Location::new(self.file, span)
    }
}
