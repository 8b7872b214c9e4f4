//! Wall clock times in traces (<https://www.rfc-editor.org/rfc/rfc3339>): UTC, milliseconds.

use std::time::{Duration, UNIX_EPOCH};

/// The last millisecond of the year 9999: a year has four digits.
const LATEST_MS: u64 = 253_402_300_799_999;

/// `2026-03-01T09:05:00.250Z` for milliseconds since 1970-01-01 UTC. Times after 9999 become its end: a store may have any number.
pub fn rfc3339_ms(ms: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(ms.min(LATEST_MS))).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_with_the_days_of_the_calendar() {
        let written = rfc3339_ms;
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
    }
}
