//! Keys: structural (where in the program) and content (what an activity depends on).
//!
//! `writer` composes structural keys and `parser` parses them; no other code knows their grammar.

mod parser;
mod writer;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use sha2::{Digest as _, Sha256};

pub(crate) use parser::MARKS;
pub use parser::{
    KeyPart, conversation_turn, label_path, own_activity, own_label, own_step, parent_key, parse_key_parts, without_try,
};
pub use writer::escape_label;
pub(crate) use writer::{KeyBuilder, KeyWriter};

/// The structural key of a step or activity: the path of labels from the entry flow, joined by `/`, with `@PASS` (loop
/// passes and state visits, from 1), `[ITEM]` (fan-outs, from 0), `#ATTEMPT` (iterations of `Attempts`, from 1) and
/// `!TRY` (retries, from 2) if applicable. Marks inside a label are escaped as `%XX`. If two steps would have the same
/// key, the later one in the program gets `~2`, `~3`, ... Activities of the machine itself are `~timeout`, `~limit`,
/// `~delay`, `~budget` and `~decide:DIGITS` (`~timeout.1` if an unlabelled step inside shares the key). Keys are the
/// same in every replay, independent of timing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(transparent)]
pub struct Key(pub Arc<str>);

/// A map from keys to values. Its order is that of insertion, as long as nothing was removed.
pub type KeyMap<V> = IndexMap<Key, V, foldhash::fast::RandomState>;

impl Key {
    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
    /// Its parts, outermost first.
    pub fn iter_parts(&self) -> impl Iterator<Item = KeyPart<'_>> {
        parse_key_parts(&self.0)
    }
    /// The enclosing key.
    pub fn parent_key(&self) -> Option<&str> {
        parent_key(&self.0)
    }
    /// The key without the try, which is the same for all tries of one activity.
    pub fn without_try(&self) -> &str {
        without_try(&self.0)
    }
    /// As it is named in messages: without the try, and with the pass only if that is not the first.
    pub fn display_name(&self) -> &str {
        let key = self.without_try();
        key.strip_suffix("@1").unwrap_or(key)
    }
    /// Only its labels.
    pub fn label_path(&self) -> Cow<'_, str> {
        label_path(&self.0)
    }
}

/// Reads it without a copy in between, because almost every entry of a journal has one.
impl<'de> serde::Deserialize<'de> for Key {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_str(KeyText)
    }
}

struct KeyText;

impl serde::de::Visitor<'_> for KeyText {
    type Value = Key;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a structural key")
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Key, E> {
        Ok(text.into())
    }
}

impl From<&str> for Key {
    fn from(key: &str) -> Self {
        Self(key.into())
    }
}

impl From<Arc<str>> for Key {
    fn from(key: Arc<str>) -> Self {
        Self(key)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The hash of everything that an activity depends on (see [`crate::content`]): SHA-256 of the canonical request, with
/// holes by name. Equal content has equal keys on every computer. As text: 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentKey(pub [u8; 32]);

impl ContentKey {
    /// The hash of a text that is no request.
    pub fn of_text(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }
    /// Passes the text form to `with`. Optimised, because every stored request has a content key.
    fn text<T>(&self, with: impl FnOnce(&str) -> T) -> T {
        let mut text = [0; 64];
        for (digits, byte) in text.chunks_exact_mut(2).zip(self.0) {
            digits.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
        }
        with(str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Display for ContentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text(|text| f.write_str(text))
    }
}

impl fmt::Debug for ContentKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContentKey({self})")
    }
}

impl std::str::FromStr for ContentKey {
    type Err = &'static str;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = "a content key has 64 hexadecimal digits";
        let digits: &[u8; 64] = text.as_bytes().try_into().map_err(|_| wrong)?;
        let (mut key, mut all) = ([0; 32], 0);
        for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
            for value in pair.iter().map(|digit| VALUES.get(usize::from(*digit)).copied().unwrap_or(NO_DIGIT)) {
                *byte = *byte << 4 | value & 15;
                all |= value;
            }
        }
        if all & NO_DIGIT == 0 { Ok(Self(key)) } else { Err(wrong) }
    }
}

/// A hexadecimal digit.
fn digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'a' + value - 10 }
}

/// What a byte is that is not a hexadecimal digit.
const NO_DIGIT: u8 = 0x80;

/// The value of each byte as a hexadecimal digit. A table, because a journal has a content key in every second entry.
static VALUES: [u8; 256] = values();

const fn values() -> [u8; 256] {
    let mut values = [NO_DIGIT; 256];
    let mut byte = 0;
    while byte < 256 {
        #[allow(clippy::indexing_slicing, reason = "evaluated at compile time")]
        match byte as u8 {
            digit @ b'0'..=b'9' => values[byte] = digit - b'0',
            digit @ b'a'..=b'f' => values[byte] = digit - b'a' + 10,
            digit @ b'A'..=b'F' => values[byte] = digit - b'A' + 10,
            _ => {}
        }
        byte += 1;
    }
    values
}

impl serde::Serialize for ContentKey {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.text(|text| s.serialize_str(text))
    }
}

impl<'de> serde::Deserialize<'de> for ContentKey {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_str(ContentKeyVisitor)
    }
}

struct ContentKeyVisitor;

impl serde::de::Visitor<'_> for ContentKeyVisitor {
    type Value = ContentKey;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("64 hexadecimal digits")
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ContentKey, E> {
        text.parse().map_err(E::custom)
    }
}
