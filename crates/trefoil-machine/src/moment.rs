//! Moments of the wall clock as text, in UTC: one form for programs (<https://www.rfc-editor.org/rfc/rfc3339>), and one for people.

/// The last millisecond of the year 9999: a year has four digits.
const LATEST_MS: u64 = 253_402_300_799_999;
const DAY_MS: u64 = 86_400_000;

/// `2026-03-01T09:05:00.250Z` for milliseconds since 1970-01-01 UTC. Times after 9999 become its end: a store may have any number.
pub fn rfc3339_ms(ms: u64) -> String {
    let ms = ms.min(LATEST_MS);
    let (year, month, day) = date(ms / DAY_MS);
    let (seconds, rest) = (ms % DAY_MS / 1_000, ms % 1_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{rest:03}Z")
}

/// The date of a day since 1970-01-01. Years are counted from March, so that the day that a leap year adds is the last one, and in
/// periods of 400 years, which have as many days each.
fn date(day: u64) -> (u64, u64, u64) {
    // From 0000-03-01.
    let day = day + 719_468;
    let (period, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (period * 400 + year + next, month, day)
}

/// `2026-03-01 09:05:00Z`, for people.
pub fn format_moment(ms: u64) -> String {
    let text = rfc3339_ms(ms).replace('T', " ");
    text.split_once('.').map_or_else(|| text.clone(), |(seconds, _)| format!("{seconds}Z"))
}

/// Writes a moment for programs.
pub(crate) fn serialize_moment<S: serde::Serializer>(ms: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&rfc3339_ms(*ms))
}

/// Writes a moment for programs, if there is one.
pub(crate) fn serialize_optional_moment<S: serde::Serializer>(ms: &Option<u64>, to: S) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&ms.map(rfc3339_ms), to)
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
        assert_eq!(format_moment(1_772_355_900_250), "2026-03-01 09:05:00Z");
        for ms in [LATEST_MS, LATEST_MS + 1, i64::MAX as u64, u64::MAX] {
            assert_eq!(rfc3339_ms(ms), "9999-12-31T23:59:59.999Z");
        }
    }
}
