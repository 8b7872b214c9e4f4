//! Converts between byte offsets and the protocol's positions: lines, and columns in the client's encoding.

use gen_lsp_types::{Position, PositionEncodingKind, Range};
use trefoil_syntax::Span;

/// The unit of columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ColumnEncoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units, which every client supports.
    #[default]
    Utf16,
    /// Characters.
    Utf32,
}

impl ColumnEncoding {
    /// The cheapest encoding that a client offers.
    pub fn from_offered(offered: &[PositionEncodingKind]) -> Self {
        if offered.contains(&PositionEncodingKind::UTF8) {
            Self::Utf8
        } else if !offered.contains(&PositionEncodingKind::UTF16) && offered.contains(&PositionEncodingKind::UTF32) {
            Self::Utf32
        } else {
            Self::Utf16
        }
    }
    /// Its name in the protocol.
    pub fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
            Self::Utf32 => PositionEncodingKind::UTF32,
        }
    }
    fn width(self, c: char) -> u32 {
        match self {
            Self::Utf8 => c.len_utf8() as u32,
            Self::Utf16 => c.len_utf16() as u32,
            Self::Utf32 => 1,
        }
    }
    /// The length of a text in these units.
    pub fn count_units(self, text: &str) -> u32 {
        match self {
            Self::Utf8 => text.len() as u32,
            _ => text.chars().map(|c| self.width(c)).sum(),
        }
    }
}

/// The lines of a text. In the protocol, a lone carriage return also ends a line.
pub struct LineIndex<'t> {
    text: &'t str,
    encoding: ColumnEncoding,
    starts: Vec<u32>,
    /// Offsets within long lines with their columns, so that long lines are not counted from the start for every
    /// position.
    marks: Vec<(u32, u32)>,
}

/// The distance between marks in bytes.
const APART: u32 = 1 << 10;

impl<'t> LineIndex<'t> {
    /// Finds the lines.
    pub fn new(text: &'t str, encoding: ColumnEncoding) -> Self {
        let mut starts = vec![0];
        let bytes = text.as_bytes();
        for (i, byte) in bytes.iter().enumerate() {
            let ends = match byte {
                b'\n' => true,
                b'\r' => bytes.get(i + 1) != Some(&b'\n'),
                _ => false,
            };
            if ends {
                starts.push(i as u32 + 1);
            }
        }
        let mut marks = Vec::new();
        for (i, start) in starts.iter().enumerate() {
            let end = starts.get(i + 1).copied().unwrap_or(text.len() as u32);
            if end - start > APART {
                let (mut column, mut last) = (0, *start);
                let line = text.get(*start as usize..end as usize).unwrap_or_default();
                for (at, c) in line.char_indices() {
                    let at = start + at as u32;
                    if at - last >= APART {
                        marks.push((at, column));
                        last = at;
                    }
                    column += encoding.width(c);
                }
            }
        }
        Self { text, encoding, starts, marks }
    }
    /// A known offset at or before `at` in its line, and its column.
    fn near(&self, line: u32, at: u32) -> (u32, u32) {
        let marks = self.marks.partition_point(|(offset, _)| *offset <= at);
        match self.marks.get(..marks).unwrap_or_default().last() {
            Some(mark) if mark.0 > line => *mark,
            _ => (line, 0),
        }
    }
    /// The position of an offset; an offset inside a character counts as its start.
    pub fn position_at(&self, offset: u32) -> Position {
        let mut at = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let line = self.starts.partition_point(|s| *s as usize <= at).saturating_sub(1);
        let (near, column) = self.near(self.starts.get(line).copied().unwrap_or(0), at as u32);
        let before = self.text.get(near as usize..at).unwrap_or_default();
        Position { line: line as u32, character: column + self.encoding.count_units(before) }
    }
    /// The range of a span.
    pub fn span_range(&self, span: Span) -> Range {
        Range { start: self.position_at(span.start), end: self.position_at(span.end.max(span.start)) }
    }
    /// The offset of a position. After the end of a line it is the line's end; after the last line it is the end of the
    /// text.
    pub fn offset_at(&self, position: Position) -> u32 {
        let Some(start) = self.starts.get(position.line as usize).copied() else { return self.text.len() as u32 };
        let next = self.starts.get(position.line as usize + 1).copied().unwrap_or(self.text.len() as u32);
        let line = self.text.get(start as usize..next as usize).unwrap_or_default().trim_end_matches(['\n', '\r']);
        let end = start + line.len() as u32;
        // Marks are in the order of the text; use this line's last mark that is not after the column.
        let first = self.marks.partition_point(|(offset, _)| *offset <= start);
        let own = self.marks.get(first..).unwrap_or_default();
        let before = own.partition_point(|(offset, column)| *offset <= end && *column <= position.character);
        let (near, column) = own.get(..before).unwrap_or_default().last().copied().unwrap_or((start, 0));
        let mut left = position.character.saturating_sub(column);
        for (at, c) in self.text.get(near as usize..end as usize).unwrap_or_default().char_indices() {
            let width = self.encoding.width(c);
            if left < width {
                return near + at as u32;
            }
            left -= width;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::{ColumnEncoding, LineIndex};
    use gen_lsp_types::Position;

    #[test]
    fn columns_count_what_was_agreed_on() {
        let text = "a: \u{1f98a}ä b\r\nc: d";
        let at = text.find(" b").unwrap() as u32;
        for (encoding, column) in [(ColumnEncoding::Utf8, 9), (ColumnEncoding::Utf16, 6), (ColumnEncoding::Utf32, 5)] {
            let lines = LineIndex::new(text, encoding);
            let position = Position { line: 0, character: column };
            assert_eq!(lines.position_at(at), position, "{encoding:?}");
            assert_eq!(lines.offset_at(position), at, "{encoding:?}");
        }
    }

    #[test]
    fn every_offset_comes_back() {
        let text = "x: ä\r\ny: \u{1f98a}\n\rz";
        for encoding in [ColumnEncoding::Utf8, ColumnEncoding::Utf16, ColumnEncoding::Utf32] {
            let lines = LineIndex::new(text, encoding);
            for (at, c) in text.char_indices().filter(|(_, c)| !matches!(c, '\r' | '\n')) {
                assert_eq!(lines.offset_at(lines.position_at(at as u32)), at as u32, "{c:?} {encoding:?}");
            }
        }
    }

    #[test]
    fn columns_of_long_lines_are_right_and_quick() {
        let long = "ab\u{1f98a}ä ".repeat(1_500);
        let text = format!("x: y\n{long}\nz\n{long}\r\n");
        for encoding in [ColumnEncoding::Utf8, ColumnEncoding::Utf16, ColumnEncoding::Utf32] {
            let lines = LineIndex::new(&text, encoding);
            let (mut line, mut column) = (0, 0);
            for (at, c) in text.char_indices() {
                let position = Position { line, character: column };
                if c != '\n' {
                    assert_eq!(lines.position_at(at as u32), position, "{encoding:?}");
                    assert_eq!(lines.offset_at(position), at as u32, "{encoding:?}");
                }
                (line, column) = if c == '\n' { (line + 1, 0) } else { (line, column + encoding.width(c)) };
            }
            assert_eq!(lines.offset_at(Position { line: 1, character: 4_000_000 }), 5 + long.len() as u32);
        }
    }

    #[test]
    fn positions_that_are_not_there_are_moved_in() {
        let lines = LineIndex::new("ab\ncd", ColumnEncoding::Utf16);
        assert_eq!(lines.offset_at(Position { line: 0, character: 99 }), 2);
        assert_eq!(lines.offset_at(Position { line: 9, character: 0 }), 5);
    }
}
