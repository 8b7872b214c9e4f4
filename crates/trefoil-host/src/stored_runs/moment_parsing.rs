//! Times as people write them.

use std::time::{Duration, SystemTime};

/// A time in RFC 3339, as milliseconds since 1970-01-01 UTC. Without an offset, it is in UTC.
pub fn parse_moment(text: &str) -> Option<u64> {
    let since: Duration = parse_time(text)?.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).ok()
}

fn parse_time(text: &str) -> Option<SystemTime> {
    let (time, offset) = match text.len().checked_sub("+01:00".len()).and_then(|at| text.split_at_checked(at)) {
        Some((time, offset)) if offset.starts_with(['+', '-']) && time.len() > "2026-11-01".len() => (time, offset),
        _ => return humantime::parse_rfc3339_weak(text).ok(),
    };
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let (hours, minutes): (u64, u64) = (hours.parse().ok()?, minutes.parse().ok()?);
    let away = Duration::from_secs(3_600 * hours + 60 * minutes);
    let time = humantime::parse_rfc3339_weak(time).ok()?;
    if offset.starts_with('+') { time.checked_sub(away) } else { time.checked_add(away) }
}
