//! Finds the comments of a file. The tree does not contain them, so the text outside scalars and names is scanned
//! again.
//!
//! Does not interpret comments.

use super::style::YamlStyle;
use super::tree::{YamlNode, YamlNodeKind, YamlText};
use crate::span::Span;

/// One comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct YamlComment {
    /// From the `#` to the end of the line.
    pub span: Span,
    /// Whether its line contains nothing else.
    pub alone: bool,
}

/// The comments and scalars of a file, both in file order.
#[derive(Debug, Clone, Default)]
pub struct FileComments {
    /// The comments.
    pub all: Vec<YamlComment>,
    /// The spans of keys and scalar values, including quotes and block headers; a key and its scalar value are also
    /// covered together.
    pub scalars: Vec<Span>,
}

/// Finds the comments. `root` must be the whole tree of `text`, because a `#` in a scalar outside the tree would count
/// as a comment.
pub fn find_comments(text: &str, root: &YamlNode) -> FileComments {
    let mut scalars = ScalarSpans { text, whole: Vec::new(), opaque: Vec::new() };
    scalars.node(root);
    let ScalarSpans { whole: mut scalars, mut opaque, .. } = scalars;
    for spans in [&mut scalars, &mut opaque] {
        spans.sort_unstable();
        spans.dedup();
    }
    let mut all = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let content = line.trim_end_matches(['\n', '\r']);
        for (at, _) in content.match_indices('#') {
            let before = content.get(..at).unwrap_or_default();
            let apart = before.is_empty() || before.ends_with([' ', '\t', '\u{feff}']);
            if apart && !covered(&opaque, (start + at) as u32) {
                let alone = before.trim_matches([' ', '\t', '\u{feff}']).is_empty();
                all.push(YamlComment { span: Span::new((start + at) as u32, (start + content.len()) as u32), alone });
                break;
            }
        }
        start += line.len();
    }
    FileComments { all, scalars }
}

/// Whether an offset is in one of the spans, which do not overlap.
fn covered(spans: &[Span], at: u32) -> bool {
    let next = spans.partition_point(|s| s.start <= at);
    let Some(last) = next.checked_sub(1).and_then(|i| spans.get(i)) else { return false };
    at < last.end
}

/// Collects the scalars of a tree.
struct ScalarSpans<'t> {
    text: &'t str,
    whole: Vec<Span>,
    /// The parts in which `#` is text: everything except block headers, which may be followed by a comment.
    opaque: Vec<Span>,
}

impl ScalarSpans<'_> {
    fn node(&mut self, node: &YamlNode) {
        match &*node.kind {
            YamlNodeKind::Scalar(_, text) => self.scalar(text),
            YamlNodeKind::Sequence(items) => items.iter().for_each(|n| self.node(n)),
            YamlNodeKind::Mapping(mapping) => {
                for entry in &mapping.entries {
                    self.scalar(&entry.key);
                    self.node(&entry.value);
                    // A value may start on the line below its key. The content of an alias is elsewhere.
                    let (key, value) = (entry.key.span, entry.value.span);
                    if entry.value.as_scalar().is_some() && key.end <= value.start {
                        self.whole.push(key.cover_both(value));
                    }
                }
            }
        }
    }
    fn scalar(&mut self, text: &YamlText) {
        let span = text.span;
        if span.is_empty() {
            return;
        }
        self.whole.push(span);
        let header = match text.style {
            YamlStyle::Literal | YamlStyle::Folded => {
                let written = self.text.get(span.start as usize..span.end as usize).unwrap_or_default();
                written.find('\n').unwrap_or(written.len()) as u32
            }
            YamlStyle::Plain | YamlStyle::Single | YamlStyle::Double => 0,
        };
        self.opaque.push(Span::new(span.start + header, span.end));
    }
}
