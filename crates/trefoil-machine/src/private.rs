//! Values with parts that must not be shown: environment values that a model, a tool or a template put there.
//!
//! Such a value is passed on as it is, to the next step and as the result of a run, but every view of the run shows `***` in
//! these parts. They are stored with the value, so a view does not need the environment to know them. A [`PrivateValue`] is
//! neither printed nor serialized by itself: whoever has one says whether it is [for a program](PrivateValue::exact_value) or
//! [for people](PrivateValue::visible_value).

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use trefoil_template::{Hole, MaskedPiece, Value, ValueObject};

/// What is shown for a part.
pub const HIDDEN: &str = "***";

/// A value with parts that must not be shown.
#[derive(Clone, Default, PartialEq)]
pub struct PrivateValue {
    value: Value,
    hidden: HiddenParts,
}

/// The parts of a value that must not be shown. Most values have none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HiddenParts(Vec<HiddenPart>);

/// A text in a value, and its parts that must not be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HiddenPart {
    /// Where the text is: a JSON pointer (RFC 6901).
    pub at: String,
    /// Whether it is the name of this member instead of its value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub name: bool,
    /// The start and the end of each part, in characters and in order. Empty: the whole value, which is a number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranges: Vec<(u32, u32)>,
}

/// The content of a hole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filling {
    /// The text. `None`: it is unset and has no default.
    pub text: Option<String>,
    /// Whether the text must not be shown.
    pub hidden: bool,
}

impl fmt::Debug for PrivateValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.visible_value(), f)
    }
}

impl PrivateValue {
    /// A value that has no such parts, because nothing from outside is in it or because it was searched for them.
    pub fn without_hidden(value: impl Into<Value>) -> Self {
        Self::new(value.into(), HiddenParts::default())
    }

    /// A value with these parts.
    pub fn new(value: Value, hidden: HiddenParts) -> Self {
        Self { value, hidden }
    }

    /// Fills the holes of a value, and records which text came from them.
    ///
    /// # Errors
    ///
    /// The first error of `fill`.
    pub fn fill_holes<E>(value: &Value, fill: &mut dyn FnMut(&Hole) -> Result<Filling, E>) -> Result<Self, E> {
        let mut hidden = Vec::new();
        let value = fill_value(value, &mut Vec::new(), fill, &mut hidden)?;
        Ok(Self { value, hidden: HiddenParts(hidden) })
    }

    /// The value as it is: for the workflow, and for what takes the result of a run.
    pub fn exact_value(&self) -> &Value {
        &self.value
    }

    /// The same, without the parts.
    pub fn into_exact(self) -> Value {
        self.value
    }

    /// The value with `***` for each part: for everything that people see.
    pub fn visible_value(&self) -> Value {
        if self.hidden.is_empty() {
            return self.value.clone();
        }
        mask_parts(&self.value, &mut String::new(), &self.hidden.ranges())
    }

    /// The parts that must not be shown.
    pub fn hidden_parts(&self) -> &HiddenParts {
        &self.hidden
    }

    /// The texts of these parts, so that they can be hidden wherever else they occur.
    pub fn hidden_texts(&self) -> Vec<String> {
        let mut all = Vec::new();
        if !self.hidden.is_empty() {
            texts(&self.value, &mut String::new(), &self.hidden.ranges(), &mut all);
        }
        all
    }

    /// The same value with more hidden parts.
    #[must_use]
    pub fn with_hidden(mut self, more: HiddenParts) -> Self {
        self.hidden.add(more);
        self
    }
}

impl HiddenParts {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The parts.
    pub fn iter(&self) -> impl Iterator<Item = &HiddenPart> {
        self.0.iter()
    }

    /// The parts of a value that two searches find: byte ranges in its texts and in the names of its members, and numbers.
    pub fn search_value(value: &Value, text: &dyn Fn(&str) -> Vec<Range<usize>>, number: &dyn Fn(f64) -> bool) -> Self {
        let mut found = Vec::new();
        find(value, &mut Vec::new(), (text, number), &mut found);
        Self(found)
    }

    fn ranges(&self) -> HiddenRanges<'_> {
        self.0.iter().map(|part| ((part.at.as_str(), part.name), &*part.ranges)).collect()
    }

    fn add(&mut self, more: Self) {
        for part in more.0 {
            match self.0.iter_mut().find(|known| known.at == part.at && known.name == part.name) {
                // The whole value.
                Some(known) if known.ranges.is_empty() || part.ranges.is_empty() => known.ranges = Vec::new(),
                Some(known) => {
                    known.ranges.extend(part.ranges);
                    known.ranges.sort_unstable();
                    known.ranges.dedup_by(|next, last| {
                        let joins = next.0 <= last.1;
                        if joins {
                            last.1 = last.1.max(next.1);
                        }
                        joins
                    });
                }
                None => self.0.push(part),
            }
        }
    }
}

/// A step on the way to a part of a value.
enum PointerSegment<'v> {
    Member(&'v str),
    Item(usize),
}

fn pointer(path: &[PointerSegment<'_>]) -> String {
    let mut at = String::new();
    for segment in path {
        match segment {
            PointerSegment::Member(name) => push_member(&mut at, name),
            PointerSegment::Item(index) => push_item(&mut at, *index),
        }
    }
    at
}

fn push_member(at: &mut String, name: &str) {
    at.push('/');
    at.push_str(&name.replace('~', "~0").replace('/', "~1"));
}

fn push_item(at: &mut String, index: usize) {
    at.push('/');
    at.push_str(&index.to_string());
}

fn in_characters(text: &str, bytes: &Range<usize>) -> (u32, u32) {
    let count = |end: usize| u32::try_from(text.get(..end).unwrap_or(text).chars().count()).unwrap_or(u32::MAX);
    (count(bytes.start), count(bytes.end))
}

type HiddenSearch<'s> = (&'s dyn Fn(&str) -> Vec<Range<usize>>, &'s dyn Fn(f64) -> bool);

fn find<'v>(
    value: &'v Value,
    path: &mut Vec<PointerSegment<'v>>,
    search: HiddenSearch<'_>,
    found: &mut Vec<HiddenPart>,
) {
    let in_text = |text: &str, name: bool, path: &[PointerSegment<'_>], found: &mut Vec<HiddenPart>| {
        let ranges: Vec<_> = search.0(text).iter().map(|bytes| in_characters(text, bytes)).collect();
        if !ranges.is_empty() {
            found.push(HiddenPart { at: pointer(path), name, ranges });
        }
    };
    match value {
        Value::Str(text) => in_text(text, false, path, found),
        Value::Number(number) if search.1(number.as_f64()) => {
            found.push(HiddenPart { at: pointer(path), name: false, ranges: Vec::new() });
        }
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(PointerSegment::Item(index));
                find(item, path, search, found);
                path.pop();
            }
        }
        Value::Object(members) => {
            for (name, member) in members.iter() {
                path.push(PointerSegment::Member(name));
                in_text(name, true, path, found);
                find(member, path, search, found);
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Masked(_) => {}
    }
}

fn fill_value<'v, E>(
    value: &'v Value,
    path: &mut Vec<PointerSegment<'v>>,
    fill: &mut dyn FnMut(&Hole) -> Result<Filling, E>,
    hidden: &mut Vec<HiddenPart>,
) -> Result<Value, E> {
    if !value.is_masked() {
        return Ok(value.clone());
    }
    Ok(match value {
        Value::Masked(masked) => {
            let (mut text, mut ranges, mut at) = (String::new(), Vec::new(), 0u32);
            for piece in &masked.pieces {
                let (more, is_hidden) = match piece {
                    MaskedPiece::Text(known) => (known.to_string(), false),
                    MaskedPiece::Hole(hole) => match fill(hole)? {
                        Filling { text: None, .. } if masked.as_lone().is_some() => return Ok(Value::Null),
                        Filling { text, hidden } => (text.unwrap_or_default(), hidden),
                    },
                };
                let end = at.saturating_add(u32::try_from(more.chars().count()).unwrap_or(u32::MAX));
                if is_hidden && end > at {
                    ranges.push((at, end));
                }
                text.push_str(&more);
                at = end;
            }
            if !ranges.is_empty() {
                hidden.push(HiddenPart { at: pointer(path), name: false, ranges });
            }
            Value::from(text)
        }
        Value::List(items) => {
            let mut all = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                path.push(PointerSegment::Item(index));
                all.push(fill_value(item, path, fill, hidden)?);
                path.pop();
            }
            all.into()
        }
        Value::Object(members) => {
            let mut all = ValueObject::default();
            for (name, member) in members.iter() {
                path.push(PointerSegment::Member(name));
                all.insert(name.clone(), fill_value(member, path, fill, hidden)?);
                path.pop();
            }
            all.into()
        }
        other => other.clone(),
    })
}

/// The ranges of each text with parts, by its pointer and whether it is a name.
type HiddenRanges<'p> = BTreeMap<(&'p str, bool), &'p [(u32, u32)]>;

/// Calls `with` for each value and each name, with its pointer.
fn mask_parts(value: &Value, at: &mut String, parts: &HiddenRanges<'_>) -> Value {
    let end = at.len();
    match value {
        Value::Str(text) => match parts.get(&(at.as_str(), false)) {
            Some(ranges) => Value::from(mask_ranges(text, ranges)),
            None => Value::Str(text.clone()),
        },
        Value::Number(_) if parts.contains_key(&(at.as_str(), false)) => Value::from(HIDDEN),
        Value::List(items) => {
            let mut all = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                push_item(at, index);
                all.push(mask_parts(item, at, parts));
                at.truncate(end);
            }
            all.into()
        }
        Value::Object(members) => {
            let mut all = ValueObject::default();
            for (name, member) in members.iter() {
                push_member(at, name);
                let shown = match parts.get(&(at.as_str(), true)) {
                    Some(ranges) => mask_ranges(name, ranges).into(),
                    None => name.clone(),
                };
                let member = mask_parts(member, at, parts);
                all.insert(shown, member);
                at.truncate(end);
            }
            all.into()
        }
        other => other.clone(),
    }
}

fn texts(value: &Value, at: &mut String, parts: &HiddenRanges<'_>, all: &mut Vec<String>) {
    let end = at.len();
    match value {
        Value::Str(text) => {
            let ranges = parts.get(&(at.as_str(), false)).copied().unwrap_or_default();
            all.extend(ranges.iter().map(|range| characters(text, *range)));
        }
        Value::Number(_) if parts.contains_key(&(at.as_str(), false)) => all.push(value.to_text().to_string()),
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                push_item(at, index);
                texts(item, at, parts, all);
                at.truncate(end);
            }
        }
        Value::Object(members) => {
            for (name, member) in members.iter() {
                push_member(at, name);
                let ranges = parts.get(&(at.as_str(), true)).copied().unwrap_or_default();
                all.extend(ranges.iter().map(|range| characters(name, *range)));
                texts(member, at, parts, all);
                at.truncate(end);
            }
        }
        _ => {}
    }
}

fn characters(text: &str, (start, end): (u32, u32)) -> String {
    text.chars().skip(start as usize).take(end.saturating_sub(start) as usize).collect()
}

fn mask_ranges(text: &str, ranges: &[(u32, u32)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut ranges = ranges.iter().peekable();
    for (index, letter) in (0u32..).zip(text.chars()) {
        while ranges.next_if(|(_, end)| *end <= index).is_some() {}
        match ranges.peek() {
            Some((start, _)) if *start == index => out.push_str(HIDDEN),
            Some((start, _)) if *start < index => {}
            _ => out.push(letter),
        }
    }
    out
}

/// The form of such values in journals: the value's [wire form](trefoil_template::wire), or `{"$private": {"value": …,
/// "hidden": […]}}` if it has hidden parts.
pub mod stored_form {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use trefoil_template::{Value, wire};

    use super::{HiddenPart, HiddenParts, PrivateValue};

    const PRIVATE: &str = "$private";

    /// A value that is serialized in its stored form.
    pub struct StoredPrivateValue<'v>(pub &'v PrivateValue);

    /// A value that is deserialized from its stored form.
    pub struct LoadedPrivateValue(pub PrivateValue);

    #[derive(Serialize)]
    struct StoredPrivateParts<'v> {
        #[serde(with = "wire")]
        value: &'v Value,
        hidden: &'v [HiddenPart],
    }

    impl Serialize for StoredPrivateValue<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let PrivateValue { value, hidden } = self.0;
            match hidden.is_empty() {
                true => wire::WireForm(value).serialize(serializer),
                false => serializer.collect_map([(PRIVATE, StoredPrivateParts { value, hidden: &hidden.0 })]),
            }
        }
    }

    impl<'de> Deserialize<'de> for LoadedPrivateValue {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserialize(deserializer).map(Self)
        }
    }

    /// Writes the stored form.
    pub fn serialize<S: Serializer>(value: &PrivateValue, serializer: S) -> Result<S::Ok, S::Error> {
        StoredPrivateValue(value).serialize(serializer)
    }

    /// Reads the stored form.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PrivateValue, D::Error> {
        let json = Value::deserialize(deserializer)?;
        let parts = json.as_object().filter(|object| object.len() == 1).and_then(|object| object.get(PRIVATE));
        let Some(parts) = parts else {
            return wire::decode_value(json).map(PrivateValue::without_hidden).map_err(D::Error::custom);
        };
        let value = wire::decode_value(parts.get("value").cloned().unwrap_or_default()).map_err(D::Error::custom)?;
        let hidden = parts.get("hidden").map(Value::to_json).unwrap_or_default();
        let hidden = serde_json::from_value(hidden).map_err(D::Error::custom)?;
        Ok(PrivateValue { value, hidden: HiddenParts(hidden) })
    }

    /// The same for values that may be missing.
    pub mod optional {
        use super::{
            Deserialize, Deserializer, LoadedPrivateValue, PrivateValue, Serialize, Serializer, StoredPrivateValue,
        };

        /// Writes the stored form.
        pub fn serialize<S: Serializer>(value: &Option<PrivateValue>, serializer: S) -> Result<S::Ok, S::Error> {
            value.as_ref().map(StoredPrivateValue).serialize(serializer)
        }

        /// Reads the stored form.
        pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PrivateValue>, D::Error> {
            Ok(Option::<LoadedPrivateValue>::deserialize(deserializer)?.map(|read| read.0))
        }
    }
}

/// The form of such a value in events: as it may be shown.
pub(crate) fn serialize_visible<S: serde::Serializer>(
    value: &Option<PrivateValue>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    value.as_ref().map(PrivateValue::visible_value).serialize(serializer)
}
