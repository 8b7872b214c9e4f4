//! Prepares the lines of a server for the SDK, which parses them itself: see [`foreign`].

use trefoil_template::foreign;

/// Lines that arrive in pieces. Each is passed on when it is complete, without a byte order mark and without halves of
/// surrogate pairs. The caller limits the length of a line.
#[derive(Debug, Default)]
pub struct JsonLines {
    /// The start of the next line.
    line: Vec<u8>,
    /// Whether a line was passed on. Only the first one may start with a mark.
    begun: bool,
}

impl JsonLines {
    /// The lines that these bytes complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Some(end) = bytes.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')) else {
            self.line.extend(bytes);
            return Vec::new();
        };
        let (whole, rest) = bytes.split_at(end + 1);
        self.line.extend(whole);
        let lines = self.take();
        self.line.extend(rest);
        lines
    }

    /// The rest, at the end of the output.
    pub fn take(&mut self) -> Vec<u8> {
        let lines = std::mem::take(&mut self.line);
        let first = !std::mem::replace(&mut self.begun, true);
        let text = if first { foreign::without_mark(&lines) } else { &lines };
        foreign::replace_halves(text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_however_they_are_cut() {
        let text = "\u{feff}{\"a\": \"\\ud83c\"}\n\n{\"b\": \"\\ud83c\\udf1e\"}\r\n\u{feff}{\"c\\\\\": 1}".as_bytes();
        let whole = "{\"a\": \"\\ufffd\"}\n\n{\"b\": \"\\ud83c\\udf1e\"}\r\n\u{feff}{\"c\\\\\": 1}";
        for cut in 0..text.len() {
            let mut lines = JsonLines::default();
            let mut all = lines.push(&text[..cut]);
            all.extend(lines.push(&text[cut..]));
            all.extend(lines.take());
            assert_eq!(String::from_utf8(all).unwrap(), whole, "cut at {cut}");
        }
    }
}
