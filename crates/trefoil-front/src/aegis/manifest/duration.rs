//! Durations in the format's notation: `30s`, `5m`, `1h 30m`.

use trefoil_syntax::yaml::{YamlNode, YamlScalar};

use crate::{ManifestReader, MappingReader};

const MAX_MS: u64 = 365 * 24 * 3_600_000;

/// Milliseconds of a duration text.
pub fn parse(text: &str) -> Option<u64> {
    let mut rest = text.trim();
    let mut total: u64 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start();
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        let factor = match unit {
            "ms" | "msec" | "millis" => 1,
            "s" | "sec" | "secs" | "second" | "seconds" => 1_000,
            "m" | "min" | "mins" | "minute" | "minutes" => 60_000,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000,
            "d" | "day" | "days" => 86_400_000,
            "w" | "week" | "weeks" => 604_800_000,
            _ => return None,
        };
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(factor)?)?;
        rest = next.trim_start();
    }
    Some(total)
}

/// Reads a duration, or reports it. A number without a unit is invalid.
pub fn read_duration(reader: &ManifestReader<'_>, node: &YamlNode, what: &str) -> Option<u64> {
    let parsed = match node.as_scalar() {
        Some((YamlScalar::Str, text)) => match parse(&text.value) {
            Some(ms) => Some(ms),
            None => {
                reader.report_finding(
                    trefoil_syntax::Diagnostic::new_error(
                        "unknown-value",
                        reader.location_of(node.span),
                        format!("`{what}` cannot be `{}`", text.value),
                    )
                    .with_help("write a number and a unit, such as `30s`, `5m` or `1h 30m`"),
                );
                return None;
            }
        },
        Some((YamlScalar::Int(n), _)) => {
            reader.report_finding(
                trefoil_syntax::Diagnostic::new_error(
                    "wrong-type",
                    reader.location_of(node.span),
                    format!("`{what}` must be a duration, not a number without a unit"),
                )
                .with_help(format!("write `{n}s` for seconds")),
            );
            return None;
        }
        _ => {
            reader.wrong_type(node, what, "a duration such as `30s`");
            return None;
        }
    };
    match parsed {
        Some(ms @ 1..=MAX_MS) => Some(ms),
        _ => {
            reader.report_error(
                "out-of-range",
                node.span,
                format!("`{what}` must be more than 0 and at most one year"),
            );
            None
        }
    }
}

/// The duration under a key.
pub fn read_duration_field(fields: &mut MappingReader<'_, '_>, key: &'static str) -> Option<u64> {
    let entry = fields.take(key)?;
    read_duration(fields.reader, &entry.value, key)
}

/// The whole seconds under a key, in milliseconds.
pub fn read_seconds(fields: &mut MappingReader<'_, '_>, key: &'static str) -> Option<u64> {
    let seconds = fields.read_integer(key, 1..=31_536_000)?;
    Some(u64::try_from(seconds).ok()? * 1_000)
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn durations_read_as_they_are_written() {
        let cases = [
            ("30s", Some(30_000)),
            ("5m", Some(300_000)),
            ("1h 30m", Some(5_400_000)),
            ("1h30m", Some(5_400_000)),
            ("24h", Some(86_400_000)),
            ("500ms", Some(500)),
            (" 2 days ", Some(172_800_000)),
            ("90", None),
            ("", None),
            ("s", None),
            ("1.5h", None),
            ("5 parsecs", None),
            ("99999999999999999999s", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text), expected, "{text:?}");
        }
    }
}
