//! The operator's time limits for model calls.

/// Time limits of model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModelTimeLimits {
    /// Milliseconds for one call; a manifest's own limit may be shorter. `None`: the manifest's limit, or ten minutes.
    pub call_ms: Option<u64>,
    /// Milliseconds until a stream starts. Without a stream, nothing arrives before the whole answer is complete.
    pub first_ms: u64,
    /// Milliseconds without data after which a started answer is closed.
    pub idle_ms: u64,
}

/// The default time limit of a call.
pub const DEFAULT_CALL_MS: u64 = 600_000;
/// The default time until a stream must start.
pub const DEFAULT_FIRST_MS: u64 = 120_000;
/// The default time without data after which a started answer is closed.
pub const DEFAULT_IDLE_MS: u64 = 60_000;

impl Default for ModelTimeLimits {
    fn default() -> Self {
        Self { call_ms: None, first_ms: DEFAULT_FIRST_MS, idle_ms: DEFAULT_IDLE_MS }
    }
}

impl ModelTimeLimits {
    /// The time limit of a call with this limit in its manifest, in milliseconds; `None` if the run enforces the limit.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only calls need it"))]
    pub(crate) fn of_call(&self, manifest_ms: Option<u64>) -> Option<u64> {
        match (self.call_ms, manifest_ms) {
            (Some(operator), Some(manifest)) => Some(operator).filter(|operator| *operator < manifest),
            // The manifest's limit is a timer of the run, which also counts across processes.
            (None, Some(_)) => None,
            (operator, None) => Some(operator.unwrap_or(DEFAULT_CALL_MS)),
        }
    }

    /// An expired limit for a message, and the help text.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only calls need it"))]
    pub(crate) fn describe_expired(&self, ms: u64) -> (String, &'static str) {
        let seconds = ms as f64 / 1000.0;
        match self.call_ms {
            Some(_) => {
                let help = "allow more time with `--timeout`, or ask for a shorter answer";
                (format!("{seconds}s (`--timeout {seconds}`)"), help)
            }
            None => {
                let help = "allow more time with `--timeout SECONDS`";
                (format!("{seconds}s, the default time limit of a call"), help)
            }
        }
    }
}
