//! Plain and quoted scalars: escapes and line folding.

use super::{TextRunList, is_blank, line_break};
use crate::yaml::style::YamlStyle;

/// Walks over a raw flow scalar and places the decoded text.
pub(super) fn align_flow(decoded: &str, raw: &str, base: u32, style: YamlStyle, pieces: &mut TextRunList) {
    let mut walk = FlowScalarWalk { decoded, raw, base, pieces, at: 0 };
    while walk.at < raw.len() {
        if walk.step(style).is_none() {
            return;
        }
    }
}

struct FlowScalarWalk<'a> {
    decoded: &'a str,
    raw: &'a str,
    base: u32,
    pieces: &'a mut TextRunList,
    /// The current offset in the raw text.
    at: usize,
}

impl FlowScalarWalk<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.raw.as_bytes().get(at).copied()
    }
    /// Places the character `c`, written as the raw bytes `start..end`; `None` if the parser decoded another character.
    fn place_character(&mut self, c: char, start: usize, end: usize) -> Option<()> {
        let rest = self.decoded.get(self.pieces.decoded as usize..)?;
        if !rest.starts_with(c) {
            return None;
        }
        self.pieces.push(c.len_utf8() as u32, self.base + start as u32, self.base + end as u32);
        self.at = end;
        Some(())
    }
    /// Places raw text up to `end` that is identical in the decoded text.
    fn same(&mut self, end: usize) -> Option<()> {
        let text = self.raw.get(self.at..end)?;
        if !self.decoded.get(self.pieces.decoded as usize..)?.starts_with(text) {
            return None;
        }
        self.pieces.push(text.len() as u32, self.base + self.at as u32, self.base + end as u32);
        self.at = end;
        Some(())
    }
    fn step(&mut self, style: YamlStyle) -> Option<()> {
        let blanks = self.blanks(self.at);
        if line_break(self.raw, blanks).is_some() {
            return self.fold(blanks, true);
        }
        if blanks > self.at {
            return self.same(blanks);
        }
        match (self.byte(self.at)?, style) {
            (b'\\', YamlStyle::Double) => self.escape(),
            (b'\'', YamlStyle::Single) => self.place_character('\'', self.at, self.at + 2),
            _ => {
                let rest = self.raw.as_bytes().get(self.at..)?;
                let special = |b: &u8| is_blank(*b) || matches!(b, b'\n' | b'\r' | b'\\' | b'\'');
                let run = match rest.iter().skip(1).position(special) {
                    Some(others) => others + 1,
                    None => rest.len(),
                };
                self.same(self.at + run)
            }
        }
    }
    /// The end of the blanks that start at `at`.
    fn blanks(&self, mut at: usize) -> usize {
        while let Some(byte) = self.byte(at)
            && is_blank(byte)
        {
            at += 1;
        }
        at
    }
    /// Places the line breaks from `at` on, with the blanks around them. A single line break becomes a space; of
    /// several, the first is dropped and the others are kept. After an escaped line break, all are kept.
    fn fold(&mut self, mut at: usize, first_folds: bool) -> Option<()> {
        let mut breaks = Vec::new();
        while let Some(length) = line_break(self.raw, at) {
            breaks.push((at, at + length));
            at = self.blanks(at + length);
        }
        match (first_folds, breaks.as_slice()) {
            (true, &[(start, end)]) => self.place_character(' ', start, end)?,
            (true, [_, rest @ ..]) | (false, rest) => {
                for &(start, end) in rest {
                    self.place_character('\n', start, end)?;
                }
            }
            (true, []) => {}
        }
        self.at = at;
        Some(())
    }
    fn escape(&mut self) -> Option<()> {
        let start = self.at;
        if let Some(length) = line_break(self.raw, start + 1) {
            let at = self.blanks(start + 1 + length);
            return self.fold(at, false);
        }
        let c = match self.byte(start + 1)? {
            b'x' => return self.hex(start, 2),
            b'u' => return self.hex(start, 4),
            b'U' => return self.hex(start, 8),
            b'0' => '\0',
            b'a' => '\x07',
            b'b' => '\x08',
            b't' | b'\t' => '\t',
            b'n' => '\n',
            b'v' => '\x0b',
            b'f' => '\x0c',
            b'r' => '\r',
            b'e' => '\x1b',
            b'N' => '\u{85}',
            b'_' => '\u{a0}',
            b'L' => '\u{2028}',
            b'P' => '\u{2029}',
            itself => char::from(itself),
        };
        self.place_character(c, start, start + 2)
    }
    fn hex(&mut self, start: usize, digits: usize) -> Option<()> {
        let unit = |from: usize| u32::from_str_radix(self.raw.get(from..from + digits)?, 16).ok();
        let end = start + 2 + digits;
        let first = unit(start + 2)?;
        if let Some(c) = char::from_u32(first) {
            return self.place_character(c, start, end);
        }
        // The first half of a surrogate pair. The second half is a separate escape.
        let second = unit(end + 2)?;
        let c = char::from_u32(0x1_0000 + ((first & 0x3ff) << 10) + (second & 0x3ff))?;
        self.place_character(c, start, end + 2 + digits)
    }
}
