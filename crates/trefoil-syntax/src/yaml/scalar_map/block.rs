//! Literal and folded scalars: indentation is removed; line breaks are kept, folded or chomped.

use std::ops::Range;

use super::{TextRunList, is_blank, line_break};

/// Aligns the text of each raw line with the decoded text, and the gap between two lines by its line breaks.
pub(super) fn align_block(decoded: &str, raw: &str, base: u32, folded: bool, pieces: &mut TextRunList) {
    let mut white_from = 0;
    let mut first = true;
    for text in (BlockLines { raw, at: 0 }) {
        let Some(content) = raw.get(text.clone()) else { return };
        let Some(rest) = decoded.get(pieces.decoded as usize..) else { return };
        let white = rest.len() - rest.trim_start_matches([' ', '\t', '\n']).len();
        if !rest.get(white..).unwrap_or_default().starts_with(content) {
            // The end of the scalar. Only comments or blank lines follow.
            break;
        }
        let gap = LineGap { raw, base, decoded: rest.get(..white).unwrap_or_default(), span: white_from..text.start };
        gap.place_whitespace(folded && !first, pieces);
        pieces.push(content.len() as u32, base + text.start as u32, base + text.end as u32);
        white_from = text.end;
        first = false;
    }
    let rest = decoded.get(pieces.decoded as usize..).unwrap_or_default();
    LineGap { raw, base, decoded: rest, span: white_from..raw.len() }.place_whitespace(false, pieces);
}

/// The raw lines that contain text, without surrounding blanks.
struct BlockLines<'a> {
    raw: &'a str,
    at: usize,
}

impl Iterator for BlockLines<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            let rest = self.raw.get(self.at..)?;
            if rest.is_empty() {
                return None;
            }
            let length = memchr::memchr2(b'\n', b'\r', rest.as_bytes()).unwrap_or(rest.len());
            let start = self.at;
            self.at += length + line_break(rest, length).unwrap_or(0);
            let line = rest.get(..length)?;
            let text = line.trim_matches([' ', '\t']);
            if !text.is_empty() {
                let from = start + (line.len() - line.trim_start_matches([' ', '\t']).len());
                return Some(from..from + text.len());
            }
        }
    }
}

/// The whitespace between two texts, decoded and raw.
struct LineGap<'a> {
    raw: &'a str,
    base: u32,
    decoded: &'a str,
    span: Range<usize>,
}

impl LineGap<'_> {
    /// Places the decoded whitespace. `folds`: the first line break may have been folded to a space or removed.
    fn place_whitespace(&self, folds: bool, pieces: &mut TextRunList) {
        // Fast path: in a literal scalar, nearly every gap is empty, or one line break and indentation.
        if !folds && matches!(self.decoded, "" | "\n") {
            return self.simple(pieces);
        }
        let (breaks, segments) = self.written();
        let kept = self.decoded.matches('\n').count();
        let skip = if folds { breaks.len().saturating_sub(kept) } else { 0 };
        let mut parts = self.decoded.split('\n');
        let mut head = parts.next().unwrap_or_default();
        let fold = folds && kept == 0 && head.ends_with(' ');
        if fold {
            head = head.get(..head.len() - 1).unwrap_or_default();
        }
        self.blanks(head, segments.first(), false, pieces);
        if fold && let Some(line_break) = breaks.first() {
            self.put(1, line_break, pieces);
        }
        for (j, part) in parts.enumerate() {
            let Some(line_break) = breaks.get(skip + j) else { return };
            self.put(1, line_break, pieces);
            self.blanks(part, segments.get(skip + j + 1), true, pieces);
        }
    }
    /// Places nothing, or one line break at the first raw line break.
    fn simple(&self, pieces: &mut TextRunList) {
        let gap = self.raw.as_bytes().get(self.span.clone()).unwrap_or_default();
        let at = self.span.start + gap.iter().take_while(|b| is_blank(**b)).count();
        if let Some(length) = line_break(self.raw, at)
            && !self.decoded.is_empty()
            && at < self.span.end
        {
            self.put(1, &(at..at + length), pieces);
        }
    }
    /// The line breaks in the raw gap, and the blanks before, between and after them.
    fn written(&self) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
        let (mut breaks, mut segments) = (Vec::new(), Vec::new());
        let mut from = self.span.start;
        let mut at = from;
        while at < self.span.end {
            match line_break(self.raw, at) {
                Some(length) => {
                    segments.push(from..at);
                    breaks.push(at..at + length);
                    at += length;
                    from = at;
                }
                None if self.raw.as_bytes().get(at).copied().is_some_and(is_blank) => at += 1,
                // A comment after the scalar.
                None => break,
            }
        }
        segments.push(from..at);
        (breaks, segments)
    }
    /// Places decoded blanks at the start or the end of the raw blanks.
    fn blanks(&self, decoded: &str, raw: Option<&Range<usize>>, at_end: bool, pieces: &mut TextRunList) {
        let raw = match raw {
            Some(raw) if !decoded.is_empty() && raw.len() >= decoded.len() => raw,
            _ => {
                let at = match pieces.list.last() {
                    Some(piece) => piece.end,
                    None => self.base + self.span.start as u32,
                };
                return pieces.push(decoded.len() as u32, at, at);
            }
        };
        let start = if at_end { raw.end - decoded.len() } else { raw.start };
        self.put(decoded.len() as u32, &(start..start + decoded.len()), pieces);
    }
    fn put(&self, length: u32, raw: &Range<usize>, pieces: &mut TextRunList) {
        pieces.push(length, self.base + raw.start as u32, self.base + raw.end as u32);
    }
}
