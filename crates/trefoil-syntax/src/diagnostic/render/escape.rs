//! Which characters are never sent to a terminal as they are, and how they are shown instead.
//!
//! Text from manifests, models, file names and stores may hold characters that move the cursor, change the reading
//! direction or are invisible. Whatever prints such text uses this table.

use std::borrow::Cow;

/// Whether a character can move the cursor of a terminal or change the reading direction, or is invisible.
pub fn is_tricky(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control()
        || matches!(
            c,
            // Reading direction, and the line breaks of Unicode.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // Invisible: what Unicode calls ignorable, and fillers without a glyph.
            | '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Whether this character is a part of the visible one before it: joiners of emoji and of scripts that need them, and
/// the choice between text and picture. After anything else they are invisible text.
fn completes(before: Option<char>, c: char) -> bool {
    let Some(before) = before else { return false };
    match c {
        '\u{fe0e}' | '\u{fe0f}' => is_shown(before) && (!before.is_ascii() || "0123456789#*".contains(before)),
        '\u{200c}' | '\u{200d}' => {
            !before.is_ascii() && (is_shown(before) || matches!(before, '\u{fe0e}' | '\u{fe0f}'))
        }
        _ => false,
    }
}

fn is_shown(c: char) -> bool {
    !is_tricky(c) && !c.is_whitespace()
}

/// The text with each tricky character replaced by what `escape` adds, except those that `keeps` names.
pub fn escape_tricky(text: &str, keeps: impl Fn(char) -> bool, escape: impl Fn(char, &mut String)) -> Cow<'_, str> {
    if !text.contains(is_tricky) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    let (mut before, mut earlier) = (None, None);
    for c in text.chars() {
        // A choice of picture may be followed by a joiner only if it had something to choose for.
        let is_choice = matches!(before, Some('\u{fe0e}' | '\u{fe0f}'));
        let is_part = completes(before, c) && (!is_choice || earlier.is_some_and(is_shown));
        if is_tricky(c) && !keeps(c) && !is_part {
            escape(c, &mut out)
        } else {
            out.push(c)
        }
        (earlier, before) = (before, Some(c));
    }
    Cow::Owned(out)
}

/// The text on one line: white space is a space, and other tricky characters are shown by their number.
pub fn clean_line(text: &str) -> String {
    let escape = |c: char, out: &mut String| match c {
        '\n' | '\r' | '\t' => out.push(' '),
        c => out.extend(c.escape_unicode()),
    };
    escape_tricky(text, |_| false, escape).into_owned()
}

/// The text of a source line with each tricky character replaced by visible ones of the same number of bytes, so that
/// offsets stay the same. Line breaks and tabs stay.
pub(super) fn escape_same_length(source: &str) -> Cow<'_, str> {
    escape_tricky(
        source,
        |c| c.is_ascii(),
        |c, out| match c.len_utf8() {
            3 => out.push('\u{fffd}'),
            bytes => out.extend(std::iter::repeat_n('\u{b7}', bytes / 2)),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_shown_by_its_number() {
        let cases = [
            ("a\u{1b}[2Jb", "a\\u{1b}[2Jb"),
            ("a\u{9b}31m", "a\\u{9b}31m"),
            ("a\u{202e}b\u{2066}", "a\\u{202e}b\\u{2066}"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            ("a\u{e0041}", "a\\u{e0041}"),
            ("a\n\tb\r", "a  b "),
            // What completes a visible character is a part of it.
            (
                "\u{26a0}\u{fe0f} \u{2764}\u{fe0f}\u{200d}\u{1f525} 1\u{fe0f}\u{20e3}",
                "\u{26a0}\u{fe0f} \u{2764}\u{fe0f}\u{200d}\u{1f525} 1\u{fe0f}\u{20e3}",
            ),
            ("\u{645}\u{6cc}\u{200c}\u{62e}", "\u{645}\u{6cc}\u{200c}\u{62e}"),
            // After anything else it is hidden text.
            ("ad\u{200d}min", "ad\\u{200d}min"),
            ("a\u{fe0f}\u{fe0f}", "a\\u{fe0f}\\u{fe0f}"),
            ("\u{26a0}\u{fe0f}\u{fe0f}\u{fe01}", "\u{26a0}\u{fe0f}\\u{fe0f}\\u{fe01}"),
        ];
        for (text, shown) in cases {
            assert_eq!(clean_line(text), shown);
        }
    }

    #[test]
    fn source_lines_keep_their_offsets() {
        for c in (0..=0x10_ffff).filter_map(char::from_u32).filter(|c| is_tricky(*c)) {
            let line = format!("a{c}b\n\tc");
            let tamed = escape_same_length(&line);
            assert_eq!(tamed.len(), line.len(), "{c:?}");
            assert!(c.is_ascii() || !tamed.contains(is_tricky_beyond_ascii), "{c:?}: {tamed:?}");
        }
    }

    fn is_tricky_beyond_ascii(c: char) -> bool {
        !c.is_ascii() && is_tricky(c)
    }
}
