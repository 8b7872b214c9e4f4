//! The one reader of JSON from outside: models, tools, programs, files, people.
//!
//! It accepts what `serde_json` accepts, and what many senders write although it is no JSON:
//!
//! - A byte order mark before the text is dropped (RFC 8259, section 8.1).
//! - Half of a surrogate pair (`\ud83c`) becomes U+FFFD. Senders that cut text by UTF-16 units write such halves. If a text
//!   arrives in pieces, the halves of neighbouring pieces are joined: [`read_piece`], then [`join_halves`] or [`HalfJoiner`].
//! - `NaN`, `Infinity` and `-Infinity` in an object or a list, as Python writes them, become null: JSON has no such numbers.
//!
//! A text with more than [`limits::ANSWER_NODES`] values is rejected before any of them is created, because each takes many
//! times the memory of its text. Only files of the user may have more: [`read_own_json`].
//!
//! A text that `serde_json` accepts is parsed once and not copied. `cargo xtask tidy` finds code that parses JSON in another
//! way.

use std::borrow::Cow;

use serde::de::DeserializeOwned;

use super::has_too_many_nodes;
use crate::limits;

/// The byte order mark.
const MARK: char = '\u{feff}';
/// The escape that replaces half of a pair. It has the length of what it replaces, so errors keep their places.
const REPLACED: &[u8] = b"\\ufffd";
/// Begins a half within a piece of a text. Noncharacters are reserved for internal use, so no text that is interchanged
/// contains them; the half itself is the three noncharacters that follow, with four bits each.
const HALF: &str = "\u{fdef}\u{fdee}";
/// The first of the noncharacters for four bits.
const BITS: u32 = 0xFDD0;

/// A text without a byte order mark and surrounding whitespace.
pub fn json_text(text: &str) -> &str {
    let text = text.trim();
    text.strip_prefix(MARK).map_or(text, str::trim)
}

fn check_node_limit(text: &[u8]) -> serde_json::Result<()> {
    if has_too_many_nodes(text) {
        return Err(serde::de::Error::custom(format_args!("it contains more than {} values", limits::ANSWER_NODES)));
    }
    Ok(())
}

/// Parses a text as JSON.
pub fn read_json<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    check_node_limit(text.as_bytes())?;
    read_own_json(text)
}

/// Parses a file of the user, whose size the caller limits, as JSON.
pub fn read_own_json<T: DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    let text = text.strip_prefix(MARK).unwrap_or(text);
    serde_json::from_str(text).or_else(|error| read_mended(text.as_bytes(), error))
}

/// Parses bytes as JSON.
pub fn read_json_bytes<T: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<T> {
    check_node_limit(bytes)?;
    let bytes = without_mark(bytes);
    serde_json::from_slice(bytes).or_else(|error| read_mended(bytes, error))
}

/// Parses JSON that has an error, after replacing what is no JSON. The error stays if it is another one.
fn read_mended<T: DeserializeOwned>(json: &[u8], error: serde_json::Error) -> serde_json::Result<T> {
    let whole = replace_halves(json);
    if let Cow::Owned(whole) = &whole
        && let read @ Ok(_) = serde_json::from_slice(whole)
    {
        return read;
    }
    match (replace_numbers(&whole), whole) {
        (Some(replaced), _) => serde_json::from_slice(&replaced).map_err(|_| error),
        (None, Cow::Owned(whole)) => serde_json::from_slice(&whole),
        (None, Cow::Borrowed(_)) => Err(error),
    }
}

/// Numbers that JSON does not have.
const NO_NUMBERS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];

/// Replaces numbers that JSON does not have with null. Only within an object or a list: alone, they are words.
fn replace_numbers(json: &[u8]) -> Option<Vec<u8>> {
    let mut replaced = Vec::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(byte) = json.get(at) {
        match byte {
            b'"' => {
                at += 1 + text_length(json.get(at + 1..)?)?;
                continue;
            }
            // A value follows these, and only in an object or a list.
            b':' | b',' | b'[' => {}
            _ => {
                at += 1;
                continue;
            }
        }
        at += 1;
        let rest = json.get(at..)?.trim_ascii_start();
        let begin = json.len() - rest.len();
        let ends = |rest: &[u8]| matches!(rest.trim_ascii_start().first(), Some(b',' | b']' | b'}'));
        if let Some(number) = NO_NUMBERS.into_iter().find(|number| rest.strip_prefix(*number).is_some_and(ends)) {
            replaced.extend_from_slice(json.get(copied..begin)?);
            replaced.extend_from_slice(b"null");
            at = begin + number.len();
            copied = at;
        }
    }
    replaced.extend_from_slice(json.get(copied..)?);
    (copied > 0).then_some(replaced)
}

/// The length of a text after its first quotation mark, with the last one.
fn text_length(json: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        match json.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Bytes without a byte order mark.
pub fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes)
}

/// Replaces the halves of surrogate pairs in JSON, for parsers of other crates.
pub fn replace_halves(json: &[u8]) -> Cow<'_, [u8]> {
    let mut whole = Cow::Borrowed(json);
    for (at, _) in halves(json) {
        if let Some(escape) = whole.to_mut().get_mut(at..at + REPLACED.len()) {
            escape.copy_from_slice(REPLACED);
        }
    }
    whole
}

/// Parses a piece of a stream as JSON. Halves in its texts stay until [`join_halves`] or a [`HalfJoiner`] has seen the next
/// piece.
pub fn read_piece(text: &str) -> serde_json::Result<serde_json::Value> {
    check_node_limit(text.as_bytes())?;
    let text = text.strip_prefix(MARK).unwrap_or(text);
    serde_json::from_str(text).or_else(|error| {
        let mut marked = String::with_capacity(text.len() + 16);
        let mut end = 0;
        for (at, half) in halves(text.as_bytes()) {
            marked.push_str(text.get(end..at).unwrap_or_default());
            marked.push_str(HALF);
            // A half is 0xD800 and 11 bits.
            marked.extend([8, 4, 0].map(|shift| char::from_u32(BITS + u32::from(half >> shift & 0xF)).unwrap_or(MARK)));
            end = at + REPLACED.len();
        }
        if end == 0 {
            return Err(error);
        }
        marked.push_str(text.get(end..).unwrap_or_default());
        serde_json::from_str(&marked)
    })
}

/// A text of several pieces, with its halves joined. What stays alone is U+FFFD.
pub fn join_halves(text: String) -> String {
    if !text.contains(HALF) {
        return text;
    }
    let mut joiner = HalfJoiner::default();
    let mut joined = joiner.push(&text);
    joined.push_str(joiner.finish_join());
    joined
}

/// Joins halves in a text while its pieces arrive.
#[derive(Debug, Default)]
pub struct HalfJoiner {
    /// The first half of a pair, at the end of the last piece.
    first: Option<u16>,
}

impl HalfJoiner {
    /// The text that the next piece adds.
    pub fn push(&mut self, piece: &str) -> String {
        let mut joined = String::with_capacity(piece.len());
        let mut rest = piece;
        while let Some(at) = rest.find(HALF) {
            let (before, half) = rest.split_at(at);
            let (half, after) = marked_half(half);
            self.add(before, &mut joined);
            match (self.first.take(), half) {
                (first, None) => {
                    self.first = first;
                    self.add(HALF, &mut joined);
                }
                (first, Some(half)) => joined.extend(self.pair(first, half)),
            }
            rest = after;
        }
        self.add(rest, &mut joined);
        joined
    }

    /// What the end of the text adds.
    pub fn finish_join(&mut self) -> &'static str {
        if self.first.take().is_some() { "\u{fffd}" } else { "" }
    }

    fn add(&mut self, text: &str, joined: &mut String) {
        if !text.is_empty() {
            joined.push_str(self.finish_join());
            joined.push_str(text);
        }
    }

    /// Up to two characters: a pair, or what is known to stay alone.
    fn pair(&mut self, first: Option<u16>, half: u16) -> impl Iterator<Item = char> + use<> {
        let is_first = half < 0xDC00;
        self.first = is_first.then_some(half);
        let known: Vec<u16> = first.into_iter().chain((!is_first).then_some(half)).collect();
        let known: Vec<char> =
            char::decode_utf16(known).map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
        known.into_iter()
    }
}

/// The half that a text begins with, and the text after it. `None`: only the mark of one.
fn marked_half(text: &str) -> (Option<u16>, &str) {
    let text = text.strip_prefix(HALF).unwrap_or(text);
    let mut chars = text.chars();
    let mut bits = || chars.next().map(|c| (c as u32).wrapping_sub(BITS)).filter(|bits| *bits < 16);
    match (bits(), bits(), bits()) {
        (Some(a), Some(b), Some(c)) => (u16::try_from(0xD800 | a << 8 | b << 4 | c).ok(), chars.as_str()),
        _ => (None, text),
    }
}

/// The places and units of surrogates that are not part of a pair. Backslashes occur only in the texts of JSON.
fn halves(json: &[u8]) -> impl Iterator<Item = (usize, u16)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(found) = json.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'\\')) {
            let escape = at + found;
            let Some(first) = surrogate(json, escape) else {
                at = escape + 2;
                continue;
            };
            at = escape + REPLACED.len();
            match surrogate(json, at) {
                Some(second) if first < 0xDC00 && second >= 0xDC00 => at += REPLACED.len(),
                _ => return Some((escape, first)),
            }
        }
        None
    })
}

/// The surrogate that is escaped at this place.
fn surrogate(json: &[u8], at: usize) -> Option<u16> {
    let [b'\\', b'u', digits @ ..] = json.get(at..at + REPLACED.len())? else { return None };
    let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u16::from_str_radix(digits, 16).ok().filter(|unit| (0xD800..0xE000).contains(unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn marks_and_halves_do_not_make_json_unreadable() {
        let table = [
            ("{\"a\": 1}", json!({"a": 1})),
            ("\u{feff}{\"a\": 1}", json!({"a": 1})),
            ("\u{feff} [1]", json!([1])),
            (r#""\ud83c\udf1e""#, json!("🌞")),
            (r#""cut \ud83c""#, json!("cut \u{fffd}")),
            (r#""\udf1e cut""#, json!("\u{fffd} cut")),
            (r#""\udf1e\ud83c""#, json!("\u{fffd}\u{fffd}")),
            (r#""\ud83c\ud83c\udf1e""#, json!("\u{fffd}🌞")),
            (r#""\uD83C\n""#, json!("\u{fffd}\n")),
            (r#""\\ud83c""#, json!("\\ud83c")),
            (r#""\\\ud83c""#, json!("\\\u{fffd}")),
            (r#"{"\ud83c": ["\ud83c"]}"#, json!({"\u{fffd}": ["\u{fffd}"]})),
            ("\"\u{feff}\"", json!("\u{feff}")),
            (r#"{"a": NaN, "b": [Infinity,-Infinity ,NaN]}"#, json!({"a": null, "b": [null, null, null]})),
            (r#"{"a": "\", NaN,", "b":NaN}"#, json!({"a": "\", NaN,", "b": null})),
            (r#"["\ud83c", NaN]"#, json!(["\u{fffd}", null])),
        ];
        for (text, value) in table {
            assert_eq!(read_json::<Json>(text).unwrap(), value, "{text}");
            assert_eq!(read_json_bytes::<Json>(text.as_bytes()).unwrap(), value, "{text}");
        }
        for text in [
            "",
            "{",
            "\"\\ud83",
            "\"\\ud83c",
            "\u{feff}",
            "\u{feff}\u{feff}1",
            "[1 \u{feff}]",
            "\"\\x\"",
            "NaN",
            "[NaNs]",
            "[nan]",
            "[NaN",
            "[NaN, x]",
            "{NaN: 1}",
        ] {
            assert!(read_json::<Json>(text).is_err(), "{text}");
            assert!(read_json_bytes::<Json>(text.as_bytes()).is_err(), "{text}");
        }
        let error = read_json::<Json>("{\"a\": \"\\ud83c\",\n \"b\" 1}").unwrap_err();
        assert_eq!((error.line(), error.column()), (2, 6), "the place in the text as it came");
    }

    #[test]
    fn halves_in_neighbouring_pieces_are_joined() {
        let table: &[(&[&str], &str)] = &[
            (&[r#""sun \ud83c""#, r#""\udf1e end""#], "sun 🌞 end"),
            (&[r#""\ud83c""#, r#""""#, r#""\udf1e""#], "🌞"),
            (&[r#""\ud83c""#, r#""no""#], "\u{fffd}no"),
            (&[r#""\ud83c""#, r#""\ud83c\udf1e""#], "\u{fffd}🌞"),
            (&[r#""\ud83c\ud83c""#, r#""\udf1e""#], "\u{fffd}🌞"),
            (&[r#""\udf1e""#, r#""\udf1e""#], "\u{fffd}\u{fffd}"),
            (&[r#""cut \ud83c""#], "cut \u{fffd}"),
            (&["\"\u{fdef}\u{fdee}\u{fdd0}\""], "\u{fdef}\u{fdee}\u{fdd0}"),
        ];
        for (pieces, whole) in table {
            let pieces: Vec<String> =
                pieces.iter().map(|piece| read_piece(piece).unwrap().as_str().unwrap().to_owned()).collect();
            assert_eq!(join_halves(pieces.concat()), *whole, "{pieces:?}");
            let mut joiner = HalfJoiner::default();
            let mut shown: String = pieces.iter().map(|piece| joiner.push(piece)).collect();
            shown.push_str(joiner.finish_join());
            assert_eq!(shown, *whole, "{pieces:?}");
        }
    }

    #[test]
    fn a_text_of_too_many_values_is_read_by_no_reader_of_foreign_text() {
        let list = |n: usize| format!("[{}0]", "0,".repeat(n - 2));
        let (most, more) = (list(limits::ANSWER_NODES), list(limits::ANSWER_NODES + 1));
        assert!(read_json::<serde::de::IgnoredAny>(&most).is_ok() && read_json_bytes::<Json>(most.as_bytes()).is_ok());
        let why = "it contains more than 1048576 values";
        assert_eq!(read_json::<Json>(&more).unwrap_err().to_string(), why);
        assert_eq!(read_json_bytes::<Json>(more.as_bytes()).unwrap_err().to_string(), why);
        assert_eq!(read_piece(&more).unwrap_err().to_string(), why);
        assert_eq!(crate::Value::parse(&more).unwrap_err().to_string(), why);
        assert!(read_own_json::<serde::de::IgnoredAny>(&more).is_ok());
    }

    proptest! {
        /// A text is cut into pieces at any of its UTF-16 units, as many senders do, each piece escaped.
        #[test]
        fn a_text_that_is_cut_anywhere_is_whole_again(
            text in "[a\\\\\"é🌞𝄞\u{fffd}\u{e000}]{0,12}", cuts in proptest::collection::vec(0usize..24, 0..6)
        ) {
            let units: Vec<u16> = text.encode_utf16().collect();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(units.len())).collect();
            cuts.extend([0, units.len()]);
            cuts.sort_unstable();
            let mut joiner = HalfJoiner::default();
            let (mut whole, mut shown) = (String::new(), String::new());
            for cut in cuts.windows(2) {
                let escaped: String = units[cut[0]..cut[1]].iter().map(|unit| format!("\\u{unit:04x}")).collect();
                let piece = read_piece(&format!("\"{escaped}\"")).unwrap();
                whole.push_str(piece.as_str().unwrap());
                shown.push_str(&joiner.push(piece.as_str().unwrap()));
            }
            shown.push_str(joiner.finish_join());
            prop_assert_eq!(join_halves(whole), text.clone());
            prop_assert_eq!(shown, text);
        }

        /// Any JSON in which escapes were cut out is read, or is the error that it was.
        #[test]
        fn every_text_is_read_or_stays_an_error(units in proptest::collection::vec(any::<u16>(), 0..8)) {
            let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
            let read: String = read_json(&format!("\"{escaped}\"")).unwrap();
            prop_assert_eq!(read, String::from_utf16_lossy(&units));
        }
    }
}
