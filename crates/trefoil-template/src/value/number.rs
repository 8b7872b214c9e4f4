//! Numbers: integers are exact within 64 bits, everything else is a float.

use std::cmp::Ordering;

/// A number. Integers are exact within 64 bits; anything beyond is a float.
#[derive(Debug, Clone, Copy)]
pub enum ValueNumber {
    /// A signed integer.
    Int(i64),
    /// An integer above `i64::MAX`.
    UInt(u64),
    /// Any other number.
    Float(f64),
}

impl ValueNumber {
    /// The number as a float; integers beyond 2^53 lose digits.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(n) => n as f64,
            Self::UInt(n) => n as f64,
            Self::Float(n) => n,
        }
    }

    /// The number as a signed integer, if it has no fraction and fits.
    pub fn as_i64(self) -> Option<i64> {
        i64::try_from(self.integral()?).ok()
    }

    /// The number as an unsigned integer, if it has no fraction and fits.
    pub fn as_u64(self) -> Option<u64> {
        u64::try_from(self.integral()?).ok()
    }

    /// Converts an integer of any size; a float if it does not fit in 64 bits.
    pub fn from_i128(n: i128) -> ValueNumber {
        match (i64::try_from(n), u64::try_from(n)) {
            (Ok(n), _) => Self::Int(n),
            (_, Ok(n)) => Self::UInt(n),
            _ => Self::Float(n as f64),
        }
    }

    /// Compares by numeric value, exactly even between integers and floats. `None` if one is NaN.
    pub fn compare_numeric(self, other: ValueNumber) -> Option<Ordering> {
        match (self.exact(), other.exact()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            // A float that is not an integer below 2^127 compares with an integer as floats do; rounding cannot change
            // the order.
            _ => self.as_f64().partial_cmp(&other.as_f64()),
        }
    }

    /// The value as an integer, if it is stored as one.
    pub(crate) fn stored_integer(self) -> Option<i128> {
        match self {
            Self::Int(n) => Some(n.into()),
            Self::UInt(n) => Some(n.into()),
            Self::Float(_) => None,
        }
    }

    fn integral(self) -> Option<i128> {
        self.exact()
    }

    fn exact(self) -> Option<i128> {
        match self {
            Self::Float(n) if n.fract() == 0.0 && n.abs() < 1e30 => Some(n as i128),
            Self::Float(_) => None,
            integer => integer.stored_integer(),
        }
    }
}

impl PartialEq for ValueNumber {
    fn eq(&self, other: &Self) -> bool {
        self.compare_numeric(*other) == Some(Ordering::Equal)
    }
}

impl From<i64> for ValueNumber {
    fn from(n: i64) -> Self {
        Self::Int(n)
    }
}

impl From<u64> for ValueNumber {
    fn from(n: u64) -> Self {
        i64::try_from(n).map_or(Self::UInt(n), Self::Int)
    }
}

impl From<f64> for ValueNumber {
    fn from(n: f64) -> Self {
        Self::Float(n)
    }
}
