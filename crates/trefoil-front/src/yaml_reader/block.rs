//! Block texts with lines that start like keys: what is indented too far is part of the text above it.

use std::sync::Arc;

use trefoil_syntax::yaml::{YamlEntry, YamlMapping, YamlNode, YamlNodeKind, YamlScalar, YamlStyle, YamlText};
use trefoil_syntax::{FileId, Span};

use super::{ManifestReader, MappingReader};

/// A block text with lines that start like keys of the mappings that contain it.
#[derive(Debug, Clone)]
pub struct TextBlock {
    /// Its file.
    pub file: FileId,
    /// The key whose value it is.
    pub key: YamlText,
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
    pub key: Arc<str>,
    /// Whether the mapping needs it.
    pub needed: bool,
    /// The key of the mapping whose value contains the block: the line is to be aligned with it.
    pub beside: Arc<str>,
}

impl MappingReader<'_, '_> {
    /// Records the block texts of this mapping, and which lines of those in it start like keys that are missing here.
    pub(super) fn note_blocks(&self) {
        let mut known = self.known.clone();
        known.retain(|key| !self.inert.contains(key));
        let needed = [self.missing.as_slice(), &self.needed].concat();
        self.reader.note_blocks(self.mapping, &known, &needed, self.blocks_before);
    }
}

impl ManifestReader<'_> {
    /// The number of block texts so far.
    pub fn block_count(&self) -> usize {
        self.findings.borrow().blocks.len()
    }

    /// Records the block texts of a mapping, and which lines of those in it start like keys that are missing there.
    /// `known`: the keys that it may have; `needed`: those that are missing. `before`: the number of block texts before it
    /// was read.
    pub fn note_blocks(&self, mapping: &YamlMapping, known: &[&str], needed: &[&str], before: usize) {
        let mut findings = self.findings.borrow_mut();
        let text = self.text.unwrap_or_default();
        for entry in &mapping.entries {
            texts(&entry.value, &mut |value| findings.blocks.extend(block(self.file, text, &entry.key, value)));
        }
        for block in findings.blocks.iter_mut().skip(before) {
            let at = block.key.span.start;
            let holds = |entry: &&YamlEntry| entry.key.span.start <= at && at < entry.value.span.end;
            if block.file != self.file {
                continue;
            }
            let Some(YamlEntry { key: beside, .. }) = mapping.entries.iter().find(holds) else { continue };
            for line in &mut block.lines {
                if line.owner.is_some() {
                    continue;
                }
                let word = text.get(line.span.start as usize..line.span.end as usize).unwrap_or_default();
                if known.contains(&word) && mapping.get(word).is_none() {
                    let needed = needed.contains(&word);
                    line.owner = Some(KeyOwner { key: word.into(), needed, beside: beside.value.clone() });
                }
            }
        }
    }
}

/// The texts that are a value, or items of it.
fn texts<'n>(node: &'n YamlNode, visit: &mut impl FnMut(&'n YamlText)) {
    match &*node.kind {
        YamlNodeKind::Sequence(items) => {
            for item in items {
                texts(item, visit);
            }
        }
        YamlNodeKind::Scalar(YamlScalar::Str, text) => visit(text),
        YamlNodeKind::Scalar(..) | YamlNodeKind::Mapping(_) => {}
    }
}

/// A block text with lines that start with a word and a colon.
fn block(file: FileId, source: &str, key: &YamlText, text: &YamlText) -> Option<TextBlock> {
    if !matches!(text.style, YamlStyle::Literal | YamlStyle::Folded) {
        return None;
    }
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
        if let Some((word, rest)) = left.trim_end().split_once(':')
            && (rest.is_empty() || rest.starts_with(' '))
            && is_word(word)
        {
            let span = Span::new((start + spaces) as u32, (start + spaces + word.len()) as u32);
            lines.push(KeyLine { at: content.len() + kept.len() - left.len(), span, owner: None });
        }
        content.push_str(kept);
        start += line.len();
    }
    if lines.is_empty() {
        return None;
    }
    Some(TextBlock { file, key: key.clone(), content: content.into(), lines })
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}
