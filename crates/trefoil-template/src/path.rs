//! Dotted paths (agntz, SirenSpec). Handlebars paths are in `handlebars`.

use std::ops::Range;

use crate::error::SyntaxMistakes;
use crate::scope::PathSegment;

/// The maximum number of segments in a path. Limited because paths are walked at run time.
pub(crate) const SEGMENTS: usize = 256;

/// Whether a character is allowed in a segment.
pub(crate) fn in_segment(c: char) -> bool {
    !c.is_whitespace()
        && !matches!(
            c,
            '{' | '}'
                | '.'
                | '|'
                | '='
                | '!'
                | '<'
                | '>'
                | '&'
                | '('
                | ')'
                | '"'
                | '\''
                | '#'
                | '/'
                | '+'
                | '*'
                | ','
                | '['
                | ']'
        )
}

/// What is wrong with a path.
pub(crate) enum BadPath {
    /// An empty segment at this offset.
    Empty(usize),
    /// A character that is not allowed.
    Character(usize, char),
    /// Too many segments.
    TooLong,
}

/// Reads the whole `range` as a path.
pub(crate) fn parse_dotted(source: &str, range: Range<usize>) -> Result<Vec<PathSegment>, BadPath> {
    let text = source.get(range.clone()).unwrap_or_default();
    let mut segments = Vec::with_capacity(2);
    let mut start = 0;
    for (at, c) in text.char_indices().chain([(text.len(), '.')]) {
        if c == '.' {
            if at == start {
                return Err(BadPath::Empty(range.start + at));
            }
            let name = text.get(start..at).unwrap_or_default();
            segments
                .push(PathSegment { name: name.into(), span: (range.start + start) as u32..(range.start + at) as u32 });
            start = at + 1;
        } else if !in_segment(c) {
            return Err(BadPath::Character(range.start + at, c));
        }
    }
    if segments.len() > SEGMENTS {
        return Err(BadPath::TooLong);
    }
    Ok(segments)
}

impl BadPath {
    /// Reports it under a code. `advice` gives the dialect's equivalent of a character, if any.
    pub fn report_mistake(
        self,
        mistakes: &mut SyntaxMistakes,
        code: &'static str,
        source: &str,
        range: Range<usize>,
        advice: impl FnOnce(char) -> Option<String>,
    ) {
        let text = source.get(range.clone()).unwrap_or_default();
        match self {
            Self::Empty(at) => {
                let at = at.min(range.end.saturating_sub(1));
                let message = format!("the path `{text}` has an empty segment");
                mistakes.add_mistake(code, at..at + 1, message).set_help("write a name on both sides of each dot");
            }
            Self::Character(at, c) => {
                // In `a | b` the bar is the mistake, not the space before it.
                let after = source.get(at..range.end).unwrap_or_default().trim_start();
                let (at, c) = match after.chars().next() {
                    Some(next) if c.is_whitespace() && next != '.' && !in_segment(next) => {
                        (range.end - after.len(), next)
                    }
                    _ => (at, c),
                };
                let message = if c.is_whitespace() {
                    format!("the path `{}` contains a space", text.trim())
                } else {
                    format!("`{c}` is not allowed in a path")
                };
                mistakes.add_mistake(code, at..at + c.len_utf8(), message);
                if let Some(advice) = advice(c) {
                    mistakes.set_help(advice);
                }
            }
            Self::TooLong => {
                mistakes.add_mistake(code, range, format!("the path has more than {SEGMENTS} segments"));
            }
        }
    }
}
