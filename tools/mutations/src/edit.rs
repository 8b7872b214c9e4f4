//! Changes of a text, and the lines on which they may be reported.

use std::ops::Range;

use trefoil_syntax::Span;

/// A manifest with a mistake in it.
#[derive(Debug, Clone)]
pub struct Mutation {
    /// The text.
    pub text: String,
    /// The lines on which the mistake may be reported, from 1.
    pub lines: Vec<usize>,
}

/// A list of changes. Offsets refer to the original text.
pub struct Edits<'t> {
    text: &'t str,
    edits: Vec<(Range<usize>, String)>,
    marks: Vec<usize>,
}

impl<'t> Edits<'t> {
    /// No changes yet.
    pub fn of(text: &'t str) -> Self {
        Self { text, edits: Vec::new(), marks: Vec::new() }
    }
    /// Replaces a range with a text.
    pub fn put(mut self, range: Range<usize>, new: impl Into<String>) -> Self {
        self.edits.push((range, new.into()));
        self
    }
    /// Allows a report on the line of this offset. By default, the changed lines are allowed.
    pub fn at(mut self, offset: usize) -> Self {
        self.marks.push(offset);
        self
    }
    /// Allows a report at each of these offsets.
    pub fn at_all(mut self, offsets: impl IntoIterator<Item = usize>) -> Self {
        self.marks.extend(offsets);
        self
    }
    /// The mutated text; `None` if nothing changes.
    pub fn done(mut self) -> Option<Mutation> {
        self.edits.sort_by_key(|(range, _)| range.start);
        let mut text = String::with_capacity(self.text.len() + 64);
        let (mut from, mut changed) = (0, Vec::new());
        for (range, new) in &self.edits {
            text.push_str(self.text.get(from..range.start)?);
            let blank = new.len() - new.trim_start().len();
            changed.push(text.len() + if blank < new.len() { blank } else { 0 });
            text.push_str(new);
            from = range.end;
        }
        text.push_str(self.text.get(from..)?);
        let offsets: Vec<usize> =
            if self.marks.is_empty() { changed } else { self.marks.iter().map(|m| self.moved(*m)).collect() };
        let lines = offsets.into_iter().map(|offset| line_of(&text, offset)).collect();
        (text != self.text).then_some(Mutation { text, lines })
    }
    fn moved(&self, offset: usize) -> usize {
        let mut moved = offset as isize;
        for (range, new) in &self.edits {
            if range.end <= offset {
                moved += new.len() as isize - range.len() as isize;
            } else if range.start < offset {
                moved -= (offset - range.start) as isize;
            }
        }
        usize::try_from(moved).unwrap_or(0)
    }
}

/// The line of an offset, from 1.
pub fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|b| *b == b'\n').count() + 1
}

/// A span as a range of the text.
pub fn range(span: Span) -> Range<usize> {
    span.start as usize..span.end as usize
}

/// A word with a typing error: two letters swapped, or the last one missing or doubled.
pub fn misspelt(word: &str) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    let middle = letters.len() / 2;
    if letters.len() >= 4
        && let Some(at) = (middle..letters.len()).chain(1..middle).find(|i| {
            letters[*i] != letters[i - 1] && letters[*i].is_alphanumeric() && letters[i - 1].is_alphanumeric()
        })
    {
        letters.swap(at, at - 1);
    } else if let Some(last) = letters.last().copied() {
        letters.push(last);
    }
    letters.into_iter().collect()
}
