//! The core schema of YAML 1.2.2, section 10.3: types of plain scalars, and conversion by core tags.

use super::tree::YamlScalar;

/// The tags of the core schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CoreTag {
    Null,
    Bool,
    Int,
    Float,
    Str,
    Sequence,
    Mapping,
}

impl CoreTag {
    /// The tag with a suffix of `tag:yaml.org,2002:`.
    pub(super) fn from_suffix(suffix: &str) -> Option<Self> {
        Some(match suffix {
            "null" => Self::Null,
            "bool" => Self::Bool,
            "int" => Self::Int,
            "float" => Self::Float,
            "str" => Self::Str,
            "seq" => Self::Sequence,
            "map" => Self::Mapping,
            _ => return None,
        })
    }
    /// What the tag requires, as worded in messages.
    pub(super) fn required_type(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Int => "an integer",
            Self::Float => "a number",
            Self::Str => "text",
            Self::Sequence => "a list",
            Self::Mapping => "a mapping",
        }
    }
    /// The scalar for a text with this tag, if the text is valid for it.
    pub(super) fn convert_scalar(self, text: &str) -> Option<YamlScalar> {
        match (self, resolve_scalar(text)) {
            (Self::Str, _) => Some(YamlScalar::Str),
            (Self::Null, found @ YamlScalar::Null) | (Self::Bool, found @ YamlScalar::Bool(_)) => Some(found),
            (Self::Int, found @ (YamlScalar::Int(_) | YamlScalar::UInt(_))) => Some(found),
            (Self::Int, found @ YamlScalar::Float(_)) if is_decimal(text) || radix(text).is_some() => Some(found),
            (Self::Float, found @ YamlScalar::Float(_)) => Some(found),
            (Self::Float, YamlScalar::Int(_) | YamlScalar::UInt(_)) if is_decimal(text) => {
                text.parse().ok().map(YamlScalar::Float)
            }
            _ => None,
        }
    }
}

/// The type and value of a plain scalar. Integers beyond 64 bits are floats, as in JSON.
pub(super) fn resolve_scalar(text: &str) -> YamlScalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return YamlScalar::Null,
        "true" | "True" | "TRUE" => return YamlScalar::Bool(true),
        "false" | "False" | "FALSE" => return YamlScalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" => return YamlScalar::Float(f64::NAN),
        _ => {}
    }
    number(text).unwrap_or(YamlScalar::Str)
}

fn number(text: &str) -> Option<YamlScalar> {
    // Most scalars are words, so check the first byte only.
    if !matches!(text.as_bytes().first(), Some(b'0'..=b'9' | b'+' | b'-' | b'.')) {
        return None;
    }
    if let Some((digits, base)) = radix(text) {
        return Some(match u64::from_str_radix(digits, base) {
            Ok(n) => i64::try_from(n).map_or(YamlScalar::UInt(n), YamlScalar::Int),
            Err(_) => {
                let mut sum = 0.0;
                for c in digits.chars() {
                    sum = sum * f64::from(base) + f64::from(c.to_digit(base).unwrap_or(0));
                }
                YamlScalar::Float(sum)
            }
        });
    }
    if is_decimal(text) {
        return Some(match (text.parse::<i64>(), text.parse::<u64>()) {
            (Ok(n), _) => YamlScalar::Int(n),
            (_, Ok(n)) => YamlScalar::UInt(n),
            _ => YamlScalar::Float(text.parse().ok()?),
        });
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return Some(YamlScalar::Float(if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY }));
    }
    // Check the grammar first, because the standard library also accepts `inf`, `nan` and the like.
    if is_float(unsigned) { Some(YamlScalar::Float(text.parse().ok()?)) } else { None }
}

/// `0o17`, `0xFF`: the digits and their base.
fn radix(text: &str) -> Option<(&str, u32)> {
    let (digits, base) = match (text.strip_prefix("0o"), text.strip_prefix("0x")) {
        (Some(digits), _) => (digits, 8),
        (_, Some(digits)) => (digits, 16),
        _ => return None,
    };
    let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_digit(base));
    if is_number { Some((digits, base)) } else { None }
}

/// `[-+]?[0-9]+`
fn is_decimal(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    let mantissa_ok = match mantissa.split_once('.') {
        Some((whole, part)) => digits(whole) && digits(part) && !(whole.is_empty() && part.is_empty()),
        None => digits(mantissa) && !mantissa.is_empty(),
    };
    mantissa_ok && exponent.is_none_or(is_decimal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_are_what_the_core_schema_says() {
        use YamlScalar::{Bool, Float, Int, Null, Str, UInt};
        let table: &[(&str, YamlScalar)] = &[
            ("", Null),
            ("~", Null),
            ("null", Null),
            ("NULL", Null),
            ("nULL", Str),
            ("true", Bool(true)),
            ("FALSE", Bool(false)),
            ("tRUE", Str),
            ("yes", Str),
            ("off", Str),
            ("0", Int(0)),
            ("-0", Int(0)),
            ("+12", Int(12)),
            ("0777", Int(777)),
            ("0o17", Int(15)),
            ("0o18", Str),
            ("0xfF", Int(255)),
            ("-0x1", Str),
            ("0x", Str),
            ("1_000", Str),
            ("0b1", Str),
            ("12:30", Str),
            ("9223372036854775807", Int(i64::MAX)),
            ("9223372036854775808", UInt(9_223_372_036_854_775_808)),
            ("18446744073709551615", UInt(u64::MAX)),
            ("18446744073709551616", Float(18_446_744_073_709_551_616.0)),
            ("-9223372036854775809", Float(-9_223_372_036_854_775_809.0)),
            ("0x1ffffffffffffffff", Float(36_893_488_147_419_103_231.0)),
            ("1.5", Float(1.5)),
            ("1.", Float(1.0)),
            (".5", Float(0.5)),
            ("-.5e-2", Float(-0.005)),
            ("1e3", Float(1000.0)),
            ("1e", Str),
            ("e3", Str),
            (".", Str),
            ("-", Str),
            ("1.2.3", Str),
            (".inf", Float(f64::INFINITY)),
            ("-.INF", Float(f64::NEG_INFINITY)),
            ("inf", Str),
            ("nan", Str),
            ("-.nan", Str),
            ("infinity", Str),
            ("2026-01-01", Str),
        ];
        for (text, expected) in table {
            assert_eq!(resolve_scalar(text), *expected, "{text:?}");
        }
        assert!(matches!(resolve_scalar(".NaN"), Float(n) if n.is_nan()));
    }

    #[test]
    fn a_core_tag_forces_its_type_or_refuses() {
        use YamlScalar::{Bool, Float, Int, Null, Str};
        let table: &[(CoreTag, &str, Option<YamlScalar>)] = &[
            (CoreTag::Str, "12", Some(Str)),
            (CoreTag::Str, "", Some(Str)),
            (CoreTag::Int, "12", Some(Int(12))),
            (CoreTag::Int, "0x10", Some(Int(16))),
            (CoreTag::Int, "12.0", None),
            (CoreTag::Int, "many", None),
            (CoreTag::Float, "12", Some(Float(12.0))),
            (CoreTag::Float, "1e2", Some(Float(100.0))),
            (CoreTag::Float, "0x10", None),
            (CoreTag::Bool, "true", Some(Bool(true))),
            (CoreTag::Bool, "yes", None),
            (CoreTag::Null, "", Some(Null)),
            (CoreTag::Null, "x", None),
            (CoreTag::Mapping, "x", None),
        ];
        for (tag, text, expected) in table {
            assert_eq!(tag.convert_scalar(text), *expected, "{tag:?} {text:?}");
        }
    }
}
