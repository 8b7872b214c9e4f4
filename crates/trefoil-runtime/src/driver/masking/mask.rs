//! Replaces the forms of secret values in texts, also in a stream of text. The time is linear in the length of a text, however
//! many values are known.

use std::ops::Range;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use trefoil_machine::error::RunError;
use trefoil_machine::private::{HIDDEN, HiddenParts};
use trefoil_template::{Value, ValueObject};

use super::forms::{byte_encodings, forms_of_line, revealing_parts, text_forms};

/// Minimum length of a secret that is hidden, in characters. Shorter values would mask half of any text.
pub const SHORTEST: usize = 6;
/// Minimum length of a text that is also found if line breaks are in it. Numbers in two rows may be a shorter one by chance.
const SHORTEST_WRAPPED: usize = 16;

/// A value to be hidden.
struct KnownValue {
    text: String,
    /// The path of its variable or secret, if it has one: `env.NAME`, `secrets.NAME`.
    name: Option<Arc<str>>,
    /// The search for it alone, once it was needed for a message.
    alone: Option<Arc<Mask>>,
}

/// Values to be hidden. Their search is prepared when it is first needed.
#[derive(Default)]
pub struct KnownValues {
    values: Vec<KnownValue>,
    forms: Vec<String>,
    /// Forms that are also found if line breaks are in them.
    wrapped: Vec<String>,
    /// Values that are numbers.
    numbers: Vec<f64>,
    prepared: Option<Arc<Mask>>,
}

impl KnownValues {
    /// Adds a value, if it is long enough to be recognised. Returns whether it is new.
    pub fn remember_value(&mut self, value: &str, name: Option<&Arc<str>>) -> bool {
        if value.chars().count() < SHORTEST {
            return false;
        }
        if let Some(known) = self.values.iter_mut().find(|known| known.text == value) {
            if known.name.is_none() {
                known.name = name.cloned();
            }
            return false;
        }
        self.prepared = None;
        self.values.push(KnownValue { text: value.to_owned(), name: name.cloned(), alone: None });
        for (at, part) in revealing_parts(value).into_iter().enumerate() {
            // A secret may have hundreds of lines.
            let (texts, encoded) = if at == 0 { (text_forms(part), byte_encodings(part)) } else { forms_of_line(part) };
            for form in &texts {
                let is_solid = !form.contains(|c: char| c.is_whitespace() || c == '\\');
                if is_solid && form.chars().count() >= SHORTEST_WRAPPED {
                    self.wrapped.push(form.clone());
                }
            }
            self.wrapped.extend(encoded.iter().cloned());
            self.forms.extend(texts);
            self.forms.extend(encoded);
            // Only in the usual spelling: `000000` is not the number 0.
            let digits = part.strip_prefix('-').unwrap_or(part);
            let is_usual = digits.starts_with(|c: char| c.is_ascii_digit())
                && (!digits.starts_with('0') || digits.starts_with("0."))
                && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
            if is_usual
                && let Ok(number) = part.parse::<f64>()
                && number.to_string().len() >= SHORTEST
            {
                self.numbers.push(number);
            }
        }
        true
    }

    /// Removes the values in which another search finds something, and returns them.
    pub fn give_up(&mut self, other: &Mask) -> Vec<(String, Option<Arc<str>>)> {
        if !self.values.iter().any(|known| other.matches_text(&known.text)) {
            return Vec::new();
        }
        let mut found = Vec::new();
        for KnownValue { text, name, .. } in std::mem::take(self).values {
            if other.matches_text(&text) {
                found.push((text, name));
            } else {
                self.remember_value(&text, name.as_ref());
            }
        }
        found
    }

    /// The names of those that a value contains; `None` for one without a name. Slow: for messages.
    pub fn names_in(&mut self, value: &Value) -> Vec<Option<Arc<str>>> {
        let mut names = Vec::new();
        for KnownValue { text, name, alone } in &mut self.values {
            let alone = alone.get_or_insert_with(|| {
                let mut only = Self::default();
                only.remember_value(text, None);
                only.prepared_mask()
            });
            if alone.matches_value(value) {
                names.push(name.clone());
            }
        }
        names
    }

    pub fn prepared_mask(&mut self) -> Arc<Mask> {
        let prepared = self.prepared.get_or_insert_with(|| {
            if self.values.is_empty() {
                return Arc::default();
            }
            let (forms, wrapped) = (FormSet::new(self.forms.clone()), FormSet::new(self.wrapped.clone()));
            Arc::new(Mask { forms, wrapped, numbers: self.numbers.clone() })
        });
        prepared.clone()
    }
}

/// A set of texts, prepared to be searched for.
#[derive(Default)]
struct FormSet {
    sorted: Vec<String>,
    /// `None`: there are too many to be searched for.
    search: Option<AhoCorasick>,
    /// The length of the longest one in bytes.
    longest: usize,
}

impl FormSet {
    fn new(mut all: Vec<String>) -> Self {
        all.sort_unstable();
        all.dedup();
        // An automaton with full tables would be faster, and far too large.
        let search = AhoCorasick::builder().kind(Some(AhoCorasickKind::ContiguousNFA)).build(&all).ok();
        Self { longest: all.iter().map(String::len).max().unwrap_or_default(), search, sorted: all }
    }

    /// All matches, which may overlap.
    fn find_matches(&self, text: &str) -> Vec<Range<usize>> {
        match &self.search {
            Some(search) => search.find_overlapping_iter(text).map(|found| found.range()).collect(),
            None => std::iter::once(0..text.len()).collect(),
        }
    }

    /// The first position from which the rest of the text may be the start of a form.
    fn partial_match_start(&self, text: &str) -> Option<usize> {
        let from = text.len().saturating_sub(self.longest);
        for (at, _) in text.char_indices() {
            if at < from {
                continue;
            }
            let tail = text.get(at..).unwrap_or_default();
            let next = self.sorted.partition_point(|form| form.as_str() <= tail);
            if let Some(form) = self.sorted.get(next)
                && form.starts_with(tail)
            {
                return Some(at);
            }
        }
        None
    }
}

/// The search for all known values.
#[derive(Default)]
pub struct Mask {
    forms: FormSet,
    wrapped: FormSet,
    numbers: Vec<f64>,
}

impl Mask {
    pub fn is_empty(&self) -> bool {
        self.forms.sorted.is_empty()
    }

    /// The masked text; `None`: nothing in it is masked.
    pub(super) fn masked_text(&self, text: &str) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let ranges = self.find_ranges(text);
        if ranges.is_empty() { None } else { Some(replace_ranges(text, &ranges)) }
    }

    /// Whether anything in a text is masked.
    pub fn matches_text(&self, text: &str) -> bool {
        !self.is_empty() && !self.find_ranges(text).is_empty()
    }

    pub fn mask_text(&self, text: &str) -> String {
        match self.masked_text(text) {
            Some(masked) => masked,
            None => text.to_owned(),
        }
    }

    /// Whether anything in a value is masked.
    pub fn matches_value(&self, value: &Value) -> bool {
        match value {
            _ if self.is_empty() => false,
            Value::Str(text) => self.masked_text(text).is_some(),
            Value::Number(number) => self.numbers.contains(&number.as_f64()),
            Value::List(items) => items.iter().any(|item| self.matches_value(item)),
            Value::Object(object) => object.iter().any(|(k, v)| self.masked_text(k).is_some() || self.matches_value(v)),
            _ => false,
        }
    }

    /// The parts of a value that are masked.
    pub fn hidden_parts(&self, value: &Value) -> HiddenParts {
        if self.is_empty() {
            return HiddenParts::default();
        }
        HiddenParts::search_value(value, &|text| self.find_ranges(text), &|number| self.numbers.contains(&number))
    }

    pub fn mask_value(&self, value: Value) -> Value {
        match value {
            value if self.is_empty() => value,
            Value::Str(text) => match self.masked_text(&text) {
                Some(masked) => Value::from(masked),
                None => Value::Str(text),
            },
            Value::Number(number) if self.numbers.contains(&number.as_f64()) => Value::from(HIDDEN),
            Value::List(items) => items.iter().map(|v| self.mask_value(v.clone())).collect(),
            Value::Object(object) => {
                let members = object.iter().map(|(k, v)| (self.mask_text(k).into(), self.mask_value(v.clone())));
                Value::from(members.collect::<ValueObject>())
            }
            other => other,
        }
    }

    pub fn mask_error(&self, mut error: RunError) -> RunError {
        if !self.is_empty() {
            error.message = self.mask_cut_ends(&self.mask_text(&error.message));
            if let Some(help) = &mut error.help {
                *help = self.mask_text(help);
            }
            if let Some(sent) = &mut error.sent {
                *sent = self.mask_cut_ends(&self.mask_text(sent));
            }
            if let Some(answer) = &mut error.answer {
                *answer = self.mask_cut_ends(&self.mask_text(answer));
            }
        }
        error
    }

    /// The parts of a text that are forms of values, in order. Parts that overlap are one.
    fn find_ranges(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = self.forms.find_matches(text);
        if let Some(joined) = UnwrappedText::from_text(text) {
            for part in self.wrapped.find_matches(&joined.text) {
                found.push(joined.origin(&part));
            }
        }
        found.sort_unstable_by_key(|part| (part.start, std::cmp::Reverse(part.end)));
        let mut all: Vec<Range<usize>> = Vec::new();
        for part in found {
            match all.last_mut() {
                Some(last) if part.start < last.end => last.end = last.end.max(part.end),
                _ => all.push(part),
            }
        }
        all
    }

    /// The first position from which the rest of the text may be the start of a form.
    fn partial_match_start(&self, text: &str) -> Option<usize> {
        match (self.forms.partial_match_start(text), self.wrapped_match_start(text)) {
            (Some(plain), Some(wrapped)) => Some(plain.min(wrapped)),
            (plain, wrapped) => plain.or(wrapped),
        }
    }

    /// The same for a form with line breaks in it.
    fn wrapped_match_start(&self, text: &str) -> Option<usize> {
        // Backslashes at the end may be the start of an escaped line break.
        let whole = text.trim_end_matches('\\');
        match UnwrappedText::from_text(whole) {
            Some(joined) => {
                let at = self.wrapped.partial_match_start(&joined.text)?;
                Some(joined.origin(&(at..at + 1)).start)
            }
            None if whole.len() < text.len() => self.wrapped.partial_match_start(whole),
            None => None,
        }
    }

    /// Masks parts of values next to a mark: a message may quote the start or the end of a text, and the cut may go through a
    /// value.
    fn mask_cut_ends(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((at, mark)) = CUTS.iter().filter_map(|mark| Some((rest.find(mark)?, *mark))).min() {
            let (before, after) = rest.split_at(at);
            out.push_str(before);
            if let Some(part) = self.forms.sorted.iter().filter_map(|value| first_part(value, &out)).max() {
                out.truncate(out.len() - part);
                out.push_str(HIDDEN);
            }
            out.push_str(mark);
            rest = after.get(mark.len()..).unwrap_or_default();
            // A row of dots is one mark.
            let dots = rest.len() - rest.trim_start_matches('.').len();
            out.push_str(rest.get(..dots).unwrap_or_default());
            rest = rest.get(dots..).unwrap_or_default();
            if let Some(part) = self.forms.sorted.iter().filter_map(|value| last_part(value, rest)).max() {
                out.push_str(HIDDEN);
                rest = rest.get(part..).unwrap_or_default();
            }
        }
        out.push_str(rest);
        out
    }
}

fn replace_ranges(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for part in ranges {
        out.push_str(text.get(end..part.start).unwrap_or_default());
        out.push_str(HIDDEN);
        end = part.end;
    }
    out.push_str(text.get(end..).unwrap_or_default());
    out
}

/// Marks of a text that was cut.
const CUTS: [&str; 2] = ["...", "…"];

/// The length of the value's start that the text ends with, if it is long enough to be recognized.
fn first_part(value: &str, text: &str) -> Option<usize> {
    for (at, _) in value.char_indices().rev() {
        if at < SHORTEST {
            break;
        }
        if text.ends_with(value.get(..at)?) {
            return Some(at);
        }
    }
    None
}

/// The length of the value's end that the text starts with, including leading spaces, if it is long enough to be recognized.
fn last_part(value: &str, text: &str) -> Option<usize> {
    let trimmed = text.trim_start();
    let spaces = text.len() - trimmed.len();
    for (at, _) in value.char_indices().skip(1) {
        let part = value.get(at..)?;
        if part.len() >= SHORTEST && trimmed.starts_with(part) {
            return Some(spaces + part.len());
        }
    }
    None
}

/// A text without its line breaks, also escaped ones, and without the indentation and marks after them.
struct UnwrappedText {
    text: String,
    /// Where each of its lines starts in it, and in the original text.
    lines: Vec<(usize, usize)>,
}

impl UnwrappedText {
    /// `None`: the text has no line breaks.
    fn from_text(text: &str) -> Option<Self> {
        let mut joined = Self { text: String::new(), lines: vec![(0, 0)] };
        let mut rest = text;
        while let Some(at) = rest.find(['\n', '\r', '\\']) {
            let (before, from) = rest.split_at(at);
            let after = after_break(from);
            if after.len() == from.len() {
                let after = from.trim_start_matches('\\');
                joined.text.push_str(rest.get(..rest.len() - after.len()).unwrap_or_default());
                rest = after;
                continue;
            }
            joined.text.push_str(before);
            rest = after;
            joined.lines.push((joined.text.len(), text.len() - rest.len()));
        }
        joined.text.push_str(rest);
        if joined.lines.len() > 1 { Some(joined) } else { None }
    }

    /// The part of the original text from the first to the last byte of a part.
    fn origin(&self, part: &Range<usize>) -> Range<usize> {
        let original = |at: usize| {
            let line = self.lines.partition_point(|(start, _)| *start <= at).saturating_sub(1);
            match self.lines.get(line) {
                Some((start, origin)) => origin + (at - start),
                None => at,
            }
        };
        original(part.start)..original(part.end.saturating_sub(1)) + 1
    }
}

/// The text after the line breaks at its start, and after the indentation and marks of the next line.
fn after_break(text: &str) -> &str {
    let mut rest = text;
    loop {
        let before = rest.len();
        rest = rest.trim_start_matches(['\n', '\r']);
        let letter = rest.trim_start_matches('\\');
        if letter.len() < rest.len() {
            rest = letter.strip_prefix(['n', 'r']).unwrap_or(rest);
        }
        if rest.len() == before {
            break;
        }
    }
    if rest.len() == text.len() { text } else { rest.trim_start_matches([' ', '\t', '|', '>', '#', '*']) }
}

/// A stream of text that holds back text that may be the start of a secret.
pub struct MaskedStream {
    mask: Arc<Mask>,
    held: String,
}

impl MaskedStream {
    pub fn new(mask: Arc<Mask>) -> Self {
        Self { mask, held: String::new() }
    }

    /// Adds a piece, and returns the text that may be shown now.
    pub fn push(&mut self, text: &str) -> String {
        if self.mask.is_empty() {
            return text.to_owned();
        }
        self.held.push_str(text);
        let mut ranges = self.mask.find_ranges(&self.held);
        let mut cut = self.mask.partial_match_start(&self.held).unwrap_or(self.held.len());
        if let Some(part) = ranges.iter().find(|part| part.start < cut && cut < part.end) {
            // One value may start in another one; but text must not be held back without end.
            let waits = self.held.len() - part.start <= self.mask.forms.longest;
            cut = if waits { part.start } else { part.end };
        }
        ranges.retain(|part| part.start < cut);
        let rest = self.held.split_off(cut);
        replace_ranges(&std::mem::replace(&mut self.held, rest), &ranges)
    }

    /// Returns the text that is still held back.
    pub fn take_rest(self) -> String {
        self.mask.mask_text(&self.held)
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

    const KEY: &str = "-----BEGIN KEY-----\nMIIBVgIBADANBgkqhkiG9w0B\nAQEFAASCAUAwggE8AgEAAkEA\n-----END KEY-----\n";

    fn mask(value: &str) -> Arc<Mask> {
        let mut known = KnownValues::default();
        known.remember_value(value, None);
        known.prepared_mask()
    }

    /// Base64 in lines of `width` characters.
    fn wrapped(value: &str, width: usize, between: &str) -> String {
        let text = STANDARD.encode(value);
        let letters: Vec<char> = text.chars().collect();
        letters.chunks(width).map(|line| line.iter().collect::<String>()).collect::<Vec<_>>().join(between)
    }

    /// Whether a part of a text of at least this many characters is left.
    fn leaves(masked: &str, text: &str, many: usize) -> bool {
        let letters: Vec<char> = text.chars().collect();
        letters.windows(many).any(|part| masked.contains(&part.iter().collect::<String>()))
    }

    #[test]
    fn a_number_is_compared_by_its_value() {
        let mask = mask("8837261534");
        for json in ["8837261534", "8837261534.0", r#"{"pin":8837261534}"#, "[[8837261534]]"] {
            let masked = mask.mask_value(Value::parse(json).unwrap()).to_json().to_string();
            assert!(masked.contains("***") && !masked.contains("8837"), "{masked}");
        }
        let other = Value::parse("[88372615340, 8837261535, 1]").unwrap();
        assert_eq!(mask.mask_value(other.clone()), other);
    }

    #[test]
    fn wrapped_base64_is_masked_whatever_is_between_the_lines() {
        let token = format!("eyJhbGciOiJIUzI1NiJ9.{}.sig-of-it", "eyJzdWIiOiIxMjM0NTY3ODkw".repeat(3));
        let mask = mask(&token);
        for width in [76, 64, 5] {
            for between in ["\n", "\r\n", "\n    ", "\\n", "\\r\\n", "\\\\n", "\n  | ", "\n> "] {
                let text = wrapped(&token, width, between);
                let masked = mask.mask_text(&format!("it is\n{text}\nand more"));
                assert!(masked.starts_with("it is\n***") && masked.ends_with("\nand more"), "{masked}");
                assert!(!leaves(&masked, &text.replace(between, ""), 4), "{between:?}: {masked}");
            }
        }
    }

    #[test]
    fn a_line_of_a_value_is_masked_alone() {
        let mask = mask(KEY);
        let crlf = KEY.replace('\n', "\r\n");
        let indented = KEY.replace('\n', "\n  | ");
        let rewrapped = KEY.replace("0B\nA", "0BA").replace("AUAw", "AUA\nw");
        let escaped = KEY.replace('\n', "\\\\n");
        for text in ["a MIIBVgIBADANBgkqhkiG9w0B b", &crlf, &indented, &rewrapped, &escaped] {
            let masked = mask.mask_text(text);
            assert!(masked.contains("***") && !masked.contains("MIIBV") && !masked.contains("wggE8"), "{masked}");
        }
        assert_eq!(mask.mask_text("-----BEGIN KEY-----"), "-----BEGIN KEY-----", "not a secret");
        assert_eq!(mask.mask_text(KEY), "***");
    }

    #[test]
    fn values_that_overlap_are_masked_together() {
        let mut known = KnownValues::default();
        known.remember_value("abcdefgh", None);
        known.remember_value("efghijklmn", None);
        assert_eq!(known.prepared_mask().mask_text("1abcdefghijklmn2abcdefgh"), "1***2***");
    }

    #[test]
    fn short_values_in_two_lines_are_not_a_value() {
        assert_eq!(mask("12345678").mask_text("1234\n5678"), "1234\n5678");
        assert_eq!(mask(r"C:\new\dir").mask_text(r"C:\new\dir"), "***");
    }

    #[test]
    fn a_stream_hides_what_the_whole_text_hides() {
        let token = "hunter22-".repeat(12);
        let texts = [
            format!("a {token} b hunter2"),
            format!("a {} b", wrapped(&token, 20, "\n  ")),
            format!("{token}{token}"),
            "no value\n  at all".to_owned(),
        ];
        let mask = mask(&token);
        for text in &texts {
            for size in [1, 3, 50] {
                let mut stream = MaskedStream::new(mask.clone());
                let letters: Vec<char> = text.chars().collect();
                let mut shown: String =
                    letters.chunks(size).map(|few| stream.push(&few.iter().collect::<String>())).collect();
                shown.push_str(&stream.take_rest());
                assert_eq!(shown, mask.mask_text(text), "{size}");
            }
        }
    }

    #[test]
    fn a_stream_does_not_hold_back_text_without_end() {
        let mut stream = MaskedStream::new(mask("aaaaaaaa"));
        let shown: String = (0..200).map(|_| stream.push("aaaa")).collect();
        assert!(shown.contains("***") && !shown.contains("aa") && stream.held.len() < 200, "{shown} {}", stream.held);
    }
}
