//! Finds the start and the end of tags.

/// How a tag ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TagEnd {
    /// At these braces.
    At(usize),
    /// Another tag starts before the end.
    Nested(usize),
    /// Never.
    Never,
}

/// The next `{{`.
pub(crate) fn find_open(source: &str, from: usize) -> Option<usize> {
    let bytes = source.as_bytes();
    let mut at = from;
    loop {
        at += source.get(at..)?.find('{')?;
        if bytes.get(at + 1) == Some(&b'{') {
            return Some(at);
        }
        at += 1;
    }
}

/// The end of a tag whose inside starts at `from`. Quoted text may contain braces. A quote starts quoted text only
/// where text is allowed and if there is a closing quote. `escapes`: a backslash prevents a quote from ending the text.
pub(crate) fn find_close(source: &str, from: usize, escapes: bool) -> TagEnd {
    let quoted = close(source, from, Some(escapes));
    match quoted {
        TagEnd::At(_) => quoted,
        // A character that was mistaken for a quote may have hidden the end.
        _ => match close(source, from, None) {
            TagEnd::At(at) => TagEnd::At(at),
            _ => quoted,
        },
    }
}

fn close(source: &str, from: usize, quotes: Option<bool>) -> TagEnd {
    let bytes = source.as_bytes();
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'}' if bytes.get(at + 1) == Some(&b'}') => return TagEnd::At(at),
            b'{' if bytes.get(at + 1) == Some(&b'{') => return TagEnd::Nested(at),
            b'"' | b'\'' if quotes.is_some() && (at == from || bytes.get(at - 1).is_some_and(|b| may_precede(*b))) => {
                if let Some(end) = end_of_quoted(bytes, at, quotes == Some(true)) {
                    at = end;
                }
            }
            _ => {}
        }
        at += 1;
    }
    TagEnd::Never
}

/// Bytes after which quoted text can start.
fn may_precede(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || matches!(byte, b'(' | b'[' | b'=' | b'!' | b'<' | b'>' | b'&' | b'|' | b'{' | b'~' | b',')
}

/// The quote that closes the text opened by the quote at `at`.
pub(crate) fn end_of_quoted(bytes: &[u8], at: usize, escapes: bool) -> Option<usize> {
    let quote = bytes.get(at)?;
    let mut end = at + 1;
    loop {
        match bytes.get(end)? {
            b'\\' if escapes => end += 1,
            byte if byte == quote => return Some(end),
            _ => {}
        }
        end += 1;
    }
}
