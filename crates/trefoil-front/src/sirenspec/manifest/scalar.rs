//! Scalars as leniently as the format reads them: numbers and booleans may be quoted, integers may have `.0`; text must
//! not be a number.

use std::ops::RangeInclusive;

use trefoil_syntax::Diagnostic;
use trefoil_syntax::yaml::{YamlNode, YamlNodeKind, YamlScalar, YamlText};

use crate::yaml_reader::number::{NumberUnit, unit_of};
use crate::{ManifestReader, MappingReader};

/// The longest duration in a manifest in seconds: over thirty years, far below an overflow in milliseconds.
const LONGEST: f64 = 1e9;

/// An integer of a key.
pub fn read_whole_number(
    fields: &mut MappingReader<'_, '_>,
    key: &'static str,
    range: RangeInclusive<i64>,
) -> Option<i64> {
    let entry = fields.take(key)?;
    whole_node(fields.reader, &entry.value, key, unit_of(key), range)
}

/// An integer with a unit.
pub fn whole_node(
    reader: &ManifestReader<'_>,
    node: &YamlNode,
    what: &str,
    unit: Option<NumberUnit>,
    range: RangeInclusive<i64>,
) -> Option<i64> {
    let lenient = match node.as_scalar() {
        Some((YamlScalar::Str, t)) => t.value.trim().parse::<i64>().ok(),
        // Exact: a small float without a fraction (`2.0`) is an integer.
        Some((YamlScalar::Float(f), _)) if f.fract() == 0.0 && f.abs() < 9e15 => Some(f as i64),
        _ => return reader.read_integer(node, what, range),
    };
    match lenient {
        Some(i) if range.contains(&i) => Some(i),
        Some(i) => {
            reader.report_out_of_range(node, what, &range, &i);
            None
        }
        None => {
            let fits = |text: &str| matches!(text.parse::<i64>(), Ok(number) if range.contains(&number));
            reader.not_a_number(node, what, "a whole number", unit, fits);
            None
        }
    }
}

/// An integer of a key that fits in 32 bits and is at least `least`.
pub fn read_count(fields: &mut MappingReader<'_, '_>, key: &'static str, least: u32) -> Option<u32> {
    let count = read_whole_number(fields, key, i64::from(least)..=i64::from(u32::MAX))?;
    u32::try_from(count).ok()
}

/// A number of seconds, in milliseconds. `zero`: whether 0 is allowed.
pub fn read_seconds(fields: &mut MappingReader<'_, '_>, key: &'static str, zero: bool) -> Option<u64> {
    let entry = fields.take(key)?;
    let reader = fields.reader;
    let value = match entry.value.as_scalar() {
        Some((YamlScalar::Str, t)) => match t.value.trim().parse::<f64>() {
            Ok(f) if f.is_finite() => f,
            _ => {
                let fits = |text: &str| matches!(text.parse::<f64>(), Ok(number) if (0.0..=LONGEST).contains(&number));
                reader.not_a_number(&entry.value, key, "a number of seconds", Some(NumberUnit::Seconds), fits);
                return None;
            }
        },
        _ => reader.read_number(&entry.value, key, 0.0..=LONGEST)?,
    };
    if (0.0..=LONGEST).contains(&value) && (zero || value > 0.0) {
        return Some((value * 1000.0).round().max(if zero { 0.0 } else { 1.0 }) as u64);
    }
    let least = if zero { "from 0" } else { "more than 0" };
    reader.report_error("out-of-range", entry.value.span, format!("`{key}` must be {least} seconds, not {value}"));
    None
}

/// The timeout of one call in whole seconds, in milliseconds.
pub fn read_call_timeout(fields: &mut MappingReader<'_, '_>, key: &'static str) -> Option<u64> {
    let entry = fields.take(key)?;
    let seconds = whole_node(fields.reader, &entry.value, key, Some(NumberUnit::Seconds), 1..=1_000_000_000)?;
    Some(seconds.unsigned_abs() * 1000)
}

/// A boolean of a key; also accepts `yes`, `no`, `on`, `off`, `1`, `0`.
pub fn read_flag(fields: &mut MappingReader<'_, '_>, key: &'static str) -> Option<bool> {
    let entry = fields.take(key)?;
    let lenient = match entry.value.as_scalar() {
        Some((YamlScalar::Int(i), _)) => match i {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        },
        Some((YamlScalar::Str, t)) => match t.value.to_ascii_lowercase().as_str() {
            "yes" | "on" | "true" | "1" | "y" | "t" => Some(true),
            "no" | "off" | "false" | "0" | "n" | "f" => Some(false),
            _ => None,
        },
        _ => None,
    };
    match lenient {
        Some(flag) => Some(flag),
        None => fields.reader.read_boolean(&entry.value, key),
    }
}

/// A text of a key that is not a template; reports `{{ }}` in it.
pub fn read_plain_text<'n>(fields: &mut MappingReader<'n, '_>, key: &'static str) -> Option<&'n YamlText> {
    let text = fields.read_text(key)?;
    not_a_template(fields.reader, text, key);
    Some(text)
}

/// The same for a required key.
pub fn require_plain<'n>(fields: &mut MappingReader<'n, '_>, key: &'static str) -> Option<&'n YamlText> {
    let text = fields.require_text(key)?;
    not_a_template(fields.reader, text, key);
    Some(text)
}

/// Reports every placeholder in the texts of a value that are not templates.
pub fn no_templates(reader: &ManifestReader<'_>, node: &YamlNode, key: &str) {
    match &*node.kind {
        YamlNodeKind::Scalar(YamlScalar::Str, text) => {
            if let Some((_, rest)) = text.value.split_once("{{")
                && let Some((inner, _)) = rest.split_once("}}")
                && crate::names::is_path(inner.split('|').next().unwrap_or(inner).trim())
            {
                not_a_template(reader, text, key);
            }
        }
        YamlNodeKind::Scalar(..) => {}
        YamlNodeKind::Sequence(items) => {
            for item in items {
                no_templates(reader, item, key);
            }
        }
        YamlNodeKind::Mapping(mapping) => {
            for entry in &mapping.entries {
                no_templates(reader, &entry.value, key);
            }
        }
    }
}

/// Reports a placeholder in a text that is not a template.
pub fn not_a_template(reader: &ManifestReader<'_>, text: &YamlText, key: &str) {
    let Some(start) = text.value.find("{{") else { return };
    let Some(length) = text.value.get(start..).unwrap_or_default().find("}}") else { return };
    let end = start + length + 2;
    reader.report_finding(
        Diagnostic::new_warning(
            "no-effect",
            reader.location_of(text.source_span(start as u32..end as u32)),
            format!("placeholders have no effect in `{key}`: it is used as written"),
        )
        .with_help("placeholders work in `system`, `prompt`, `for_each`, `swarm_size`, `inputs` and tool `config`"),
    );
}
