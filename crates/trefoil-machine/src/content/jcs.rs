//! Canonical JSON (RFC 8785), written in one pass, because a content key is computed for every request, also during
//! replays. Only members of objects that are out of order are moved. `serde_json_canonicalizer`, which makes several
//! allocations for each member, is the oracle of the tests.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::io;
use std::ops::Range;

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use trefoil_template::read_json_bytes;

/// Integers up to this are written as integers, larger ones as the float that they are in JavaScript.
const SAFE: u64 = 1 << 53;

/// The canonical JSON of a value. A number that JSON does not have becomes null.
pub fn to_vec(of: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let out = RefCell::new(Vec::with_capacity(1024));
    let (objects, members) = (Vec::with_capacity(8), Vec::with_capacity(16));
    let formatter = CanonicalFormatter { out: &out, objects, members, moved: Vec::new() };
    of.serialize(&mut Serializer::with_formatter(CanonicalOutput(&out), formatter))?;
    Ok(out.into_inner())
}

/// The output so far, which the formatter also reads.
struct CanonicalOutput<'o>(&'o RefCell<Vec<u8>>);

impl io::Write for CanonicalOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes).map(|()| bytes.len())
    }
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Sorts the members of objects.
struct CanonicalFormatter<'o> {
    out: &'o RefCell<Vec<u8>>,
    /// The open objects: for each, the index of its first member in `members`.
    objects: Vec<usize>,
    members: Vec<CanonicalMember>,
    /// A buffer for sorted members, before they are copied back.
    moved: Vec<u8>,
}

/// A member of an object, by its position in the output.
struct CanonicalMember {
    /// The key, including quotes.
    key: Range<usize>,
    /// The end of its value.
    end: usize,
}

impl CanonicalFormatter<'_> {
    /// Sorts the members of the object that ends now; its braces are not included.
    fn order(&mut self) -> io::Result<()> {
        let first = self.objects.pop().unwrap_or_default();
        let members = self.members.get_mut(first..).unwrap_or_default();
        let mut out = self.out.borrow_mut();
        let compare = |a: &CanonicalMember, b: &CanonicalMember| compare(text(&out, &a.key), text(&out, &b.key));
        if !members.is_sorted_by(|a, b| compare(a, b).is_lt()) {
            let begin = members.first().map_or(out.len(), |member| member.key.start);
            members.sort_by(compare);
            self.moved.clear();
            for (at, member) in members.iter().enumerate() {
                if at > 0 {
                    self.moved.push(b',');
                }
                self.moved.extend_from_slice(out.get(member.key.start..member.end).unwrap_or_default());
            }
            out.truncate(begin);
            out.extend_from_slice(&self.moved);
        }
        self.members.truncate(first);
        Ok(())
    }
}

fn text<'o>(out: &'o [u8], place: &Range<usize>) -> &'o [u8] {
    out.get(place.clone()).unwrap_or_default()
}

/// The order of keys: by UTF-16 code units.
fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let plain = |key: &[u8]| key.iter().all(|byte| byte.is_ascii() && *byte != b'\\');
    if plain(a) && plain(b) {
        // Without the closing quote, so that a key precedes those of which it is a prefix.
        let bare = |key: &'_ [u8]| key.len().saturating_sub(1);
        return a.get(..bare(a)).cmp(&b.get(..bare(b)));
    }
    // Both were written here, so they can be parsed.
    let units = |key| read_json_bytes::<String>(key).unwrap_or_default().encode_utf16().collect::<Vec<_>>();
    units(a).cmp(&units(b))
}

impl Formatter for CanonicalFormatter<'_> {
    fn write_i64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: i64) -> io::Result<()> {
        if value.unsigned_abs() > SAFE { self.write_f64(writer, value as f64) } else { write!(writer, "{value}") }
    }
    fn write_u64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        if value > SAFE { self.write_f64(writer, value as f64) } else { write!(writer, "{value}") }
    }
    fn write_f32<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        self.write_f64(writer, value.into())
    }
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(ryu_js::Buffer::new().format_finite(value).as_bytes())
    }
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.objects.push(self.members.len());
        writer.write_all(b"{")
    }
    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.order()?;
        writer.write_all(b"}")
    }
    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        let start = self.out.borrow().len();
        self.members.push(CanonicalMember { key: start..start, end: start });
        Ok(())
    }
    fn end_object_key<W: ?Sized + io::Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        let end = self.out.borrow().len();
        if let Some(member) = self.members.last_mut() {
            member.key.end = end;
        }
        Ok(())
    }
    fn end_object_value<W: ?Sized + io::Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        let end = self.out.borrow().len();
        if let Some(member) = self.members.last_mut() {
            member.end = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    fn written(value: &Value) -> String {
        String::from_utf8(to_vec(value).unwrap()).unwrap()
    }

    #[test]
    fn members_are_in_the_order_of_their_utf_16_units_at_every_depth() {
        let value = json!({"b": {"2": [], "10": {}}, "aa": 1, "a": -0.0, "\u{20ac}": 1e21, "\u{1f600}": 0.1, "\u{fb33}": "\u{7f}", "\n": "\u{1}\\"});
        let canonical = "{\"\\n\":\"\\u0001\\\\\",\"a\":0,\"aa\":1,\"b\":{\"10\":{},\"2\":[]},\"\u{20ac}\":1e+21,\"\u{1f600}\":0.1,\"\u{fb33}\":\"\u{7f}\"}";
        assert_eq!(written(&value), canonical);
        assert_eq!(
            written(&json!([u64::MAX, i64::MIN, 1_u64 << 53])),
            "[18446744073709552000,-9223372036854776000,9007199254740992]"
        );
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_filter("JSON has no number for it", |n| n.is_finite()).prop_map(Value::from),
            "\\PC{0,8}|[\\x00-\\x1f\"\\\\]{0,3}".prop_map(Value::from),
        ];
        let key = prop_oneof![
            "[a-c]{0,3}",
            "\\PC{0,3}",
            "[\\x00-\\x1f\"\\\\a]{0,2}",
            "[\u{d7ff}\u{e000}\u{ffff}\u{10000}]{0,2}"
        ];
        leaf.prop_recursive(4, 48, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec((key.clone(), inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
            ]
        })
    }

    proptest! {
        #[test]
        fn it_is_what_the_oracle_writes(value in values()) {
            prop_assert_eq!(written(&value), serde_json_canonicalizer::to_string(&value).unwrap());
        }
    }
}
