//! Formats micro-dollars, and parses dollars.

use std::fmt;

/// Formats micro-dollars: `$0`, `$0.0000042`, `$0.0123`, `$12.35`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DollarAmount(pub u64);

impl fmt::Display for DollarAmount {
    /// Three significant digits below a dollar, cents above, rounded up, so that the text is never less than the real
    /// cost.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micro = self.0;
        let mut step = 10_000;
        while step > 1 && micro < step * 100 {
            step /= 10;
        }
        let shown = u128::from(micro).div_ceil(step.into()) * u128::from(step);
        let (whole, part) = (shown / 1_000_000, shown % 1_000_000);
        match part {
            0 => write!(f, "${whole}"),
            _ => {
                let digits = format!("{part:06}");
                let digits = digits.trim_end_matches('0');
                write!(f, "${whole}.{digits:0<2}")
            }
        }
    }
}

/// Parses a decimal number of dollars to micro-dollars; smaller fractions are rounded up. `None` if it is invalid or
/// too large.
pub fn parse_dollars(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || (whole.is_empty() && part.is_empty()) {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let (kept, rest) = part.split_at(part.len().min(6));
    let kept: u64 = format!("{kept:0<6}").parse().ok()?;
    let up = u64::from(rest.bytes().any(|b| b != b'0'));
    whole.checked_mul(1_000_000)?.checked_add(kept)?.checked_add(up)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_shown_short_and_never_too_low() {
        let shown = |micro| DollarAmount(micro).to_string();
        let all = [0, 1, 42, 123, 1_234, 12_300, 12_345, 123_456, 1_000_000, 1_230_001, 12_345_678, 5_500_000];
        assert_eq!(
            all.map(shown).join(" "),
            "$0 $0.000001 $0.000042 $0.000123 $0.00124 $0.0123 $0.0124 $0.124 $1 $1.24 $12.35 $5.50"
        );
        assert_eq!(shown(u64::MAX), "$18446744073709.56");
    }

    #[test]
    fn dollars_are_read_exactly() {
        assert_eq!(parse_dollars("1.25"), Some(1_250_000));
        assert_eq!(parse_dollars("0.000001"), Some(1));
        assert_eq!(parse_dollars("0.0833333333"), Some(83_334));
        assert_eq!(parse_dollars(".5"), Some(500_000));
        assert_eq!(parse_dollars("3"), Some(3_000_000));
        for wrong in ["", ".", "-1", "1e3", "1,5", "$1", "99999999999999999999"] {
            assert_eq!(parse_dollars(wrong), None, "{wrong}");
        }
    }
}
