//! Why a call failed.

/// Why a call failed. Never contains headers, bodies or the query of an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HttpFault {
    /// The rules do not allow it. Nothing was sent.
    #[error("{0}")]
    Refused(String),
    /// A restriction of the rules does not allow it. Nothing was sent.
    #[error("{why}")]
    Restricted {
        /// Why not.
        why: String,
        /// How to allow it, as an instruction.
        help: String,
    },
    /// A redirect is not followed, or leads to an address that is not called. The first request was sent.
    #[error("{why}")]
    Redirected {
        /// Why it ended there.
        why: String,
        /// Whether the request itself was answered: the redirect only says where to read more.
        is_answered: bool,
    },
    /// The request is invalid: its address or a header.
    #[error("{0}")]
    Invalid(String),
    /// The connection failed; nothing was sent.
    #[error("{0}")]
    Unreachable(String),
    /// The request was sent, but the response is missing or incomplete.
    #[error("{0}")]
    Broken(String),
    /// The request was sent, but the response took too long.
    #[error("no answer within {0} s")]
    Timeout(u64),
    /// The response cannot be used.
    #[error("{0}")]
    Unusable(String),
    /// The response is larger than the limit, in bytes.
    #[error("the answer is larger than {} KB", .0 >> 10)]
    TooLarge(usize),
}

/// What separates the reason from the advice in the text of [`HttpFault::Refused`].
pub(super) const ADVICE: &str = "; to allow it, ";

impl HttpFault {
    /// The reason and the advice, if the rules do not allow it.
    pub fn refusal_reason(&self) -> Option<(&str, &str)> {
        match self {
            Self::Refused(text) => Some(text.split_once(ADVICE).unwrap_or((text, ""))),
            Self::Restricted { why, help } => Some((why, help)),
            _ => None,
        }
    }

    /// Whether the server may have received the request and acted on it.
    pub fn may_have_arrived(&self) -> bool {
        !matches!(self, Self::Refused(_) | Self::Restricted { .. } | Self::Invalid(_) | Self::Unreachable(_))
    }
}
