//! A manifest file with its text: makes locations in it, and answers questions about its layout that the YAML tree cannot.

use trefoil_syntax::{FileId, Location, Span};

use crate::project::{ManifestDocument, Project};

/// A manifest file.
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
    /// A file without declared providers.
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
        let line = self.line_before(span)?;
        if line.bytes().all(|b| b == b' ') { Some(line) } else { None }
    }
    /// What precedes a place on its line.
    fn line_before(&self, span: Span) -> Option<&'d str> {
        self.text?.get(..span.start as usize)?.rsplit('\n').next()
    }
    /// Whether a place is in a double-quoted scalar, judging by its line.
    pub fn is_in_double_quotes(&self, span: Span) -> bool {
        let line = self.line_before(span).unwrap_or_default();
        let value = match line.split_once(": ") {
            Some((_, value)) => value,
            None => line,
        };
        value.trim_start().trim_start_matches("- ").starts_with('"') || line.matches('"').count() % 2 == 1
    }
    /// Whether a colon follows a place.
    pub fn colon_after(&self, span: Span) -> bool {
        let rest = self.text.and_then(|text| text.get(span.end as usize..));
        rest.unwrap_or_default().starts_with(':')
    }
    /// Whether the file confirms that a word is a misspelling of a declared name: the name occurs again after its
    /// declaration, and more often than the word. If each occurs once, either may be wrong. A name that is not in this
    /// file is declared in another one. Without a word, only the name is counted.
    pub fn confirms_misspelling(&self, name: &str, misspelling: &str) -> bool {
        let Some(text) = self.text else { return true };
        let name_count = count_word(text, name);
        if name_count == 0 {
            return true;
        }
        name_count > 1 && (misspelling.is_empty() || name_count > count_word(text, misspelling))
    }
    /// A span of this file.
    pub fn location_of(&self, span: Span) -> Location {
        Location::new(self.file, span)
    }
}

/// How often a word occurs in a text as a whole word.
fn count_word(text: &str, word: &str) -> usize {
    let is_word_char = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut count = 0;
    for (at, _) in text.match_indices(word) {
        let (before, rest) = text.split_at_checked(at).unwrap_or_default();
        let after = rest.get(word.len()..).unwrap_or_default();
        if !before.ends_with(is_word_char) && !after.starts_with(is_word_char) {
            count += 1;
        }
    }
    count
}
