//! Finding tags: where one begins and where it ends.

/// Where a tag ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Close {
    /// At these braces.
    At(usize),
    /// Another tag begins here first.
    Nested(usize),
    /// Nowhere.
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

/// The end of a tag whose inside begins at `from`. Quoted text may contain braces (decision C5); a quote counts as one
/// only where text can begin and when there is a second one. `escapes`: a backslash keeps a quote from ending the text.
pub(crate) fn find_close(source: &str, from: usize, escapes: bool) -> Close {
    let quoted = close(source, from, Some(escapes));
    match quoted {
        Close::At(_) => quoted,
        // A quote that was none may have swallowed the end.
        _ => match close(source, from, None) {
            Close::At(at) => Close::At(at),
            _ => quoted,
        },
    }
}

fn close(source: &str, from: usize, quotes: Option<bool>) -> Close {
    let bytes = source.as_bytes();
    let mut at = from;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'}' if bytes.get(at + 1) == Some(&b'}') => return Close::At(at),
            b'{' if bytes.get(at + 1) == Some(&b'{') => return Close::Nested(at),
            b'"' | b'\'' if quotes.is_some() && (at == from || bytes.get(at - 1).is_some_and(|b| may_precede(*b))) => {
                if let Some(end) = end_of_quoted(bytes, at, quotes == Some(true)) {
                    at = end;
                }
            }
            _ => {}
        }
        at += 1;
    }
    Close::Never
}

/// Bytes before which quoted text can begin.
fn may_precede(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || matches!(byte, b'(' | b'[' | b'=' | b'!' | b'<' | b'>' | b'&' | b'|' | b'{' | b'~' | b',')
}

/// The quote that ends the text that the quote at `at` begins.
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
