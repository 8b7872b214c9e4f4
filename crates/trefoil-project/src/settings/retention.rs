//! `[store]`: how long runs that have ended are kept.

use std::time::Duration;

/// How long, and how many, runs that have ended are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepRule {
    /// Runs that succeeded or were cancelled; `None`: forever.
    pub ended: Option<Duration>,
    /// Runs that failed; `None`: forever.
    pub failed: Option<Duration>,
    /// While more bytes than this are used, the oldest runs are deleted.
    pub max_bytes: Option<u64>,
}

const DAY: Duration = Duration::from_secs(86_400);

impl Default for KeepRule {
    fn default() -> Self {
        Self { ended: Some(30 * DAY), failed: Some(90 * DAY), max_bytes: None }
    }
}

/// Parses `12h`, `30days`; `forever` is `None`.
///
/// # Errors
///
/// Advice what to write instead.
pub fn keep_time(text: &str) -> Result<Option<Duration>, String> {
    if text == "forever" {
        return Ok(None);
    }
    match humantime::parse_duration(text) {
        Ok(time) => Ok(Some(time)),
        Err(_) => Err("write `12h`, `30days` or `forever`".to_owned()),
    }
}

/// Parses `500M`, `2GB`.
///
/// # Errors
///
/// Advice what to write instead.
pub fn keep_size(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match text.get(digits.len()..).unwrap_or_default().trim_start().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" => 1 << 10,
        "M" | "MB" => 1 << 20,
        "G" | "GB" => 1 << 30,
        _ => 0,
    };
    if unit > 0
        && let Ok(number) = digits.parse::<u64>()
        && let Some(bytes) = number.checked_mul(unit)
    {
        return Ok(bytes);
    }
    Err("write `500M` or `2G`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_are_written_as_people_do() {
        assert_eq!(keep_time("30d"), Ok(Some(30 * DAY)));
        assert_eq!((keep_time("forever"), keep_time("0s")), (Ok(None), Ok(Some(Duration::ZERO))));
        assert_eq!((keep_size("500M"), keep_size("2 GB"), keep_size("7")), (Ok(500 << 20), Ok(2 << 30), Ok(7)));
        for wrong in ["", "G", "2X", "-1", "99999999999999999999", "20000000000G"] {
            assert!(keep_size(wrong).is_err() && keep_time(wrong).is_err(), "{wrong}");
        }
    }
}
