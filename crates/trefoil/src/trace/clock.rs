//! Wall clock times in traces (<https://www.rfc-editor.org/rfc/rfc3339>): UTC, milliseconds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The last millisecond of the year 9999: a year has four digits.
const LATEST_MS: u64 = 253_402_300_799_999;

/// `2026-03-01T09:05:00.250Z`. Times before 1970 become 1970, and those after 9999 its end: a store may have any number.
pub(super) fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    rfc3339_ms(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The same of milliseconds since 1970-01-01 UTC.
pub fn rfc3339_ms(ms: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(ms.min(LATEST_MS))).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_with_the_days_of_the_calendar() {
        let written = |ms: u64| rfc3339(UNIX_EPOCH + Duration::from_millis(ms));
        assert_eq!(written(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(written(951_782_399_999), "2000-02-28T23:59:59.999Z");
        assert_eq!(written(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(written(1_709_251_200_000), "2024-03-01T00:00:00.000Z");
        assert_eq!(written(1_772_355_900_250), "2026-03-01T09:05:00.250Z");
        assert_eq!(written(4_107_542_399_000), "2100-02-28T23:59:59.000Z");
        assert_eq!(written(4_107_542_400_000), "2100-03-01T00:00:00.000Z");
        for ms in [LATEST_MS, LATEST_MS + 1, i64::MAX as u64, u64::MAX] {
            assert_eq!(rfc3339_ms(ms), "9999-12-31T23:59:59.999Z");
        }
        assert_eq!(rfc3339(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00.000Z");
    }
}
