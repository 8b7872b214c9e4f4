//! Texts that were meant as numbers: `"5"`, `4_096`, `0,7`, `8k`, `90%`, or `30s` for a key in seconds. YAML reads them as
//! texts, so a finding suggests the number.

use trefoil_syntax::yaml::{YamlNode, YamlStyle};

/// The unit of a key's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberUnit {
    /// Milliseconds.
    Ms,
    /// Seconds.
    Seconds,
}

/// The unit in the name of a key.
pub fn unit_of(key: &str) -> Option<NumberUnit> {
    if key.ends_with("Ms") || key.ends_with("_ms") {
        Some(NumberUnit::Ms)
    } else if key.ends_with("_seconds") || key.ends_with("_s") {
        Some(NumberUnit::Seconds)
    } else {
        None
    }
}

/// The number that a text certainly means, in YAML's notation.
pub fn intended_number(node: &YamlNode, unit: Option<NumberUnit>) -> Option<String> {
    let text = node.as_string()?;
    let is_quoted = matches!(text.style, YamlStyle::Single | YamlStyle::Double);
    // `parse` also accepts words such as `inf` and `nan`.
    let has_digits = text.value.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    if is_quoted && has_digits && text.value.parse::<f64>().is_ok() {
        return Some(text.value.to_string());
    }
    let text = text.value.trim();
    for parse_notation in [parse_digit_groups, parse_decimal_comma, parse_with_symbol] {
        if let Some(number) = parse_notation(text) {
            return Some(number);
        }
    }
    parse_duration(text, unit?)
}

pub(super) fn is_digits(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())
}

/// `4_096`: digits in groups of three.
fn parse_digit_groups(text: &str) -> Option<String> {
    if !text.contains('_') {
        return None;
    }
    for (index, group) in text.split('_').enumerate() {
        if !is_digits(group) || index > 0 && group.len() != 3 {
            return None;
        }
    }
    Some(text.replace('_', ""))
}

/// `0,7`. With three digits after it, the comma may separate thousands, so the number is not certain.
fn parse_decimal_comma(text: &str) -> Option<String> {
    let (whole, fraction) = text.split_once(',')?;
    if !is_digits(whole) || !is_digits(fraction) || fraction.len() == 3 {
        return None;
    }
    Some(format!("{whole}.{fraction}"))
}

/// `8k`, `90%`, `$3`: thousands, percent, an amount of money.
fn parse_with_symbol(text: &str) -> Option<String> {
    let number = if let Some(percent) = text.strip_suffix('%') {
        parse_unsigned(percent)? / 100.0
    } else if let Some(thousands) = text.strip_suffix(['k', 'K']) {
        parse_unsigned(thousands)? * 1_000.0
    } else {
        parse_unsigned(text.strip_prefix('$')?)?
    };
    // Without rounding, `0.7%` would become `0.006999999999999999`.
    Some(((number * 1e6).round() / 1e6).to_string())
}

/// A finite number that starts with a digit, so without a sign.
fn parse_unsigned(text: &str) -> Option<f64> {
    let text = text.trim();
    let number: f64 = text.parse().ok()?;
    if number.is_finite() && text.starts_with(|c: char| c.is_ascii_digit()) { Some(number) } else { None }
}

/// `30s`, `1.5 minutes`: a duration, in the unit of the key.
fn parse_duration(text: &str, unit: NumberUnit) -> Option<String> {
    let number_end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit_name) = text.split_at_checked(number_end)?;
    let ms_per_unit = match unit_name.trim().to_ascii_lowercase().as_str() {
        "ms" | "millis" | "milliseconds" => 1,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000,
        _ => return None,
    };
    // Calculate with thousandths of the unit, which are integers: `0.5s` is 500 thousandths of a second.
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if !is_digits(whole) || !is_digits(fraction) || fraction.len() > 3 {
        return None;
    }
    let thousandths: u64 = format!("{whole}{fraction:0<3}").parse().ok()?;
    let ms = thousandths.checked_mul(ms_per_unit)? / 1_000;
    match unit {
        NumberUnit::Ms => Some(ms.to_string()),
        NumberUnit::Seconds => Some((ms as f64 / 1_000.0).to_string()),
    }
}
