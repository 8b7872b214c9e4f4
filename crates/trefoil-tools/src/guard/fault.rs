//! Why a call has no answer.

/// Why a call has no answer. Never holds headers, bodies or the query of an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The rules do not allow it. Nothing was sent there.
    #[error("{0}")]
    Refused(String),
    /// The request cannot be made: an address or a header that is not one.
    #[error("{0}")]
    Invalid(String),
    /// No connection; nothing was sent.
    #[error("{0}")]
    Unreachable(String),
    /// It was sent, and the answer broke off or never came.
    #[error("{0}")]
    Broken(String),
    /// It was sent, and took too long.
    #[error("no answer within {0} s")]
    Timeout(u64),
    /// The answer cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// The answer is larger than the limit, in bytes.
    #[error("the answer is larger than {} KB", .0 >> 10)]
    TooLarge(usize),
}

impl Fault {
    /// Whether the server may have received the request, and done what it asks for.
    pub fn may_have_arrived(&self) -> bool {
        matches!(self, Self::Broken(_) | Self::Timeout(_) | Self::Unusable(_) | Self::TooLarge(_))
    }
}
