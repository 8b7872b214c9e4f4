//! Numbers in another notation: `"5"`, `4_096`, `0,7`, `8k`, `90%`, or `30s` for a key in seconds.

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
    let quotes = matches!(text.style, YamlStyle::Single | YamlStyle::Double);
    let plain = text.value.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    if quotes && plain && text.value.parse::<f64>().is_ok() {
        return Some(text.value.to_string());
    }
    let text = text.value.trim();
    for read in [grouped, with_comma, signed] {
        if let Some(number) = read(text) {
            return Some(number);
        }
    }
    converted(text, unit?)
}

pub(super) fn is_digits(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit())
}

/// `4_096`.
fn grouped(text: &str) -> Option<String> {
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

/// `0,7`. With three digits, the comma may separate thousands.
fn with_comma(text: &str) -> Option<String> {
    let (whole, part) = text.split_once(',')?;
    if is_digits(whole) && is_digits(part) && part.len() != 3 { Some(format!("{whole}.{part}")) } else { None }
}

/// `8k`, `90%`, `$3`: thousands, hundredths, an amount of money.
fn signed(text: &str) -> Option<String> {
    let shown = |n: f64| Some(((n * 1e6).round() / 1e6).to_string());
    if let Some(part) = text.strip_suffix('%') {
        return shown(amount(part)? / 100.0);
    }
    if let Some(part) = text.strip_suffix(['k', 'K']) {
        return shown(amount(part)? * 1_000.0);
    }
    shown(amount(text.strip_prefix('$')?)?)
}

/// A number without a sign.
fn amount(text: &str) -> Option<f64> {
    let text = text.trim();
    let number: f64 = text.parse().ok()?;
    if number.is_finite() && text.starts_with(|c: char| c.is_ascii_digit()) { Some(number) } else { None }
}

/// `30s`, `1.5 minutes`: converted to the unit of the key.
fn converted(text: &str, unit: NumberUnit) -> Option<String> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, name) = text.split_at_checked(at)?;
    let ms = match name.trim().to_ascii_lowercase().as_str() {
        "ms" | "millis" | "milliseconds" => 1,
        "s" | "sec" | "secs" | "second" | "seconds" => 1_000,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000,
        _ => return None,
    };
    // Calculate in thousandths, so that `0.5s` needs no fractions.
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    if !is_digits(whole) || !is_digits(part) || part.len() > 3 {
        return None;
    }
    let thousandths: u64 = format!("{whole}{part:0<3}").parse().ok()?;
    let ms = thousandths.checked_mul(ms)? / 1_000;
    match unit {
        NumberUnit::Ms => Some(ms.to_string()),
        NumberUnit::Seconds => Some((ms as f64 / 1_000.0).to_string()),
    }
}
