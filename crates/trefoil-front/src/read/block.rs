//! Block texts with lines that start like keys: what is indented too far is part of the text above it.

use std::sync::Arc;

use trefoil_syntax::yaml::{Entry, Style, Text};
use trefoil_syntax::{FileId, Span};

use super::Fields;

/// A block text with lines that start like keys of the mappings that contain it.
#[derive(Debug, Clone)]
pub struct TextBlock {
    /// Its file.
    pub file: FileId,
    /// The key whose value it is.
    pub key: Text,
    /// Its lines as written, without the indentation of the block.
    pub content: Arc<str>,
    /// The lines, in order.
    pub lines: Vec<KeyLine>,
}

/// A line of such a block.
#[derive(Debug, Clone)]
pub struct KeyLine {
    /// The offset of its word in the content.
    pub at: usize,
    /// The word in the file.
    pub span: Span,
    /// The mapping for which it is a key.
    pub owner: Option<KeyOwner>,
}

/// A mapping around a block that has no such key, but may have one.
#[derive(Debug, Clone)]
pub struct KeyOwner {
    /// The key.
    pub key: &'static str,
    /// Whether the mapping needs it.
    pub needed: bool,
    /// The key of the mapping whose value contains the block: the line is to be aligned with it.
    pub beside: Arc<str>,
}

impl KeyLine {
    /// The key, if it is one.
    pub fn key(&self) -> Option<&'static str> {
        self.owner.as_ref().map(|owner| owner.key)
    }
}

impl Fields<'_, '_> {
    /// Records the block texts of this mapping, and which lines of those in it start like keys that are missing here.
    pub(super) fn note_blocks(&self) {
        let mut findings = self.reader.findings.borrow_mut();
        let text = self.reader.text.unwrap_or_default();
        findings.blocks.extend(self.mapping.entries.iter().filter_map(|entry| block(self.reader.file, text, entry)));
        let inside = findings.blocks.iter_mut().skip(self.blocks_before);
        for block in inside.filter(|block| block.file == self.reader.file) {
            let at = block.key.span.start;
            let holds = |entry: &&Entry| entry.key.span.start <= at && at < entry.value.span.end;
            let Some(beside) = self.mapping.entries.iter().find(holds).map(|entry| &entry.key.value) else { continue };
            for line in block.lines.iter_mut().filter(|line| line.owner.is_none()) {
                let word = text.get(line.span.start as usize..line.span.end as usize).unwrap_or_default();
                let absent = |key: &&&'static str| {
                    **key == word && self.mapping.get(word).is_none() && !self.inert.contains(*key)
                };
                line.owner = self.known.iter().find(absent).map(|key| KeyOwner {
                    key,
                    needed: self.missing.contains(key),
                    beside: beside.clone(),
                });
            }
        }
    }
}

/// A block text with lines that start with a word and a colon.
fn block(file: FileId, source: &str, entry: &Entry) -> Option<TextBlock> {
    let text = entry.value.string().filter(|t| matches!(t.style, Style::Literal | Style::Folded))?;
    let written = source.get(text.span.start as usize..text.span.end as usize)?;
    let (header, body) = written.split_once('\n')?;
    let first = body.lines().find(|line| !line.trim().is_empty())?;
    let indent = first.len() - first.trim_start_matches(' ').len();
    let mut content = String::with_capacity(body.len());
    let mut lines = Vec::new();
    let mut start = text.span.start as usize + header.len() + 1;
    for line in body.split_inclusive('\n') {
        let left = line.trim_start_matches(' ');
        let spaces = line.len() - left.len();
        let kept = line.get(spaces.min(indent)..).unwrap_or_default();
        let word = left.trim_end().split_once(':').filter(|(_, rest)| rest.is_empty() || rest.starts_with(' '));
        if let Some((word, _)) = word.filter(|(word, _)| is_word(word)) {
            let span = Span::new((start + spaces) as u32, (start + spaces + word.len()) as u32);
            lines.push(KeyLine { at: content.len() + kept.len() - left.len(), span, owner: None });
        }
        content.push_str(kept);
        start += line.len();
    }
    (!lines.is_empty()).then(|| TextBlock { file, key: entry.key.clone(), content: content.into(), lines })
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}
