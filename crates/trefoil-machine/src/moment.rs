//! Converts times of the wall clock (milliseconds since 1970-01-01 UTC) to text: in one form for programs
//! (<https://www.rfc-editor.org/rfc/rfc3339>), and in one for people.

/// The last millisecond of the year 9999: a year has four digits.
const LATEST_MS: u64 = 253_402_300_799_999;
const DAY_MS: u64 = 86_400_000;

/// A time as `2026-03-01T09:05:00.250Z`. Later times than the year 9999 become its end, because a damaged store may have any number.
pub fn rfc3339_ms(ms: u64) -> String {
    let ms = ms.min(LATEST_MS);
    let (year, month, day) = date(ms / DAY_MS);
    let (seconds, milliseconds) = (ms % DAY_MS / 1_000, ms % 1_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z")
}

/// The year, month and day of a day, counted from 1970-01-01: the algorithm `civil_from_days`
/// (<https://howardhinnant.github.io/date_algorithms.html>).
///
/// It counts years from March, so that the leap day is the last day of a year, and in eras of 400 years, which all have the same
/// number of days.
fn date(days_since_1970: u64) -> (u64, u64, u64) {
    let days_since_0000_03_01 = days_since_1970 + 719_468;
    let (era, day_of_era) = (days_since_0000_03_01 / 146_097, days_since_0000_03_01 % 146_097);
    // Without the leap days before it, each year has 365 days.
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    // March is month 0. The months from March have 31, 30, 31, 30, 31 days, and again: 153 days in five months.
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    // January and February belong to the next calendar year.
    let (month, next_year) = if month_from_march < 10 { (month_from_march + 3, 0) } else { (month_from_march - 9, 1) };
    (era * 400 + year_of_era + next_year, month, day)
}

/// A time as `2026-03-01 09:05:00Z`, for people.
pub fn format_moment(ms: u64) -> String {
    let text = rfc3339_ms(ms).replace('T', " ");
    text.split_once('.').map_or_else(|| text.clone(), |(seconds, _)| format!("{seconds}Z"))
}

/// Serializes a time in the form for programs.
pub(crate) fn serialize_moment<S: serde::Serializer>(ms: &u64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339_ms(*ms))
}

/// Serializes a time in the form for programs, or `null` if there is none.
pub(crate) fn serialize_optional_moment<S: serde::Serializer>(
    ms: &Option<u64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serde::Serialize::serialize(&ms.map(rfc3339_ms), serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_with_the_days_of_the_calendar() {
        let text_of = rfc3339_ms;
        assert_eq!(text_of(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(text_of(951_782_399_999), "2000-02-28T23:59:59.999Z");
        assert_eq!(text_of(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(text_of(1_709_251_200_000), "2024-03-01T00:00:00.000Z");
        assert_eq!(text_of(1_772_355_900_250), "2026-03-01T09:05:00.250Z");
        assert_eq!(text_of(4_107_542_399_000), "2100-02-28T23:59:59.000Z");
        assert_eq!(text_of(4_107_542_400_000), "2100-03-01T00:00:00.000Z");
        assert_eq!(format_moment(1_772_355_900_250), "2026-03-01 09:05:00Z");
        for ms in [LATEST_MS, LATEST_MS + 1, i64::MAX as u64, u64::MAX] {
            assert_eq!(rfc3339_ms(ms), "9999-12-31T23:59:59.999Z");
        }
    }
}
