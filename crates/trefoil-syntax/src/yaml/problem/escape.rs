//! Finds the bad escape in a double-quoted value, because the parser reports only where the quote opens.

use std::ops::Range;

/// The first backslash that does not start an escape, with the characters that belong to it.
pub(super) fn first_bad(text: &str) -> Option<Range<usize>> {
    let mut at = 0;
    let mut high: Option<Range<usize>> = None;
    loop {
        let Some(found) = text.get(at..)?.find('\\') else { return high };
        let from = at + found;
        if let Some(first) = &high
            && first.end != from
        {
            return high;
        }
        let letter = text.get(from + 1..)?.chars().next()?;
        let digits = match letter {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        let start = from + 1 + letter.len_utf8();
        let hex = text.get(start..)?.bytes().take(digits).take_while(u8::is_ascii_hexdigit).count();
        let end = start + hex;
        let code = text.get(start..end).and_then(|d| u32::from_str_radix(d, 16).ok());
        let surrogate = match code {
            Some(0xD800..0xE000) if letter != 'x' => code,
            _ => None,
        };
        let fine = match (digits, high.take(), surrogate) {
            (0, None, _) => "0abtnvfre \"/\\N_LP\t\n\r".contains(letter),
            (_, None, Some(0xD800..0xDC00)) => {
                high = Some(from..end);
                true
            }
            (_, Some(_), Some(0xDC00..)) => true,
            (_, Some(first), _) => return Some(first),
            (_, None, Some(_)) => false,
            (_, None, None) => hex == digits && code.and_then(char::from_u32).is_some(),
        };
        if !fine {
            return Some(from..end);
        }
        at = end;
    }
}
