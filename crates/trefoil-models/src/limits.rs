//! How long a call may take, as the operator says.

/// Time limits of model calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Milliseconds for one call; a manifest's own limit may be shorter. None: the manifest's, else ten minutes.
    pub call_ms: Option<u64>,
    /// Milliseconds that a stream may be silent.
    pub idle_ms: u64,
}

/// How long a call may take by default.
pub const DEFAULT_CALL_MS: u64 = 600_000;
/// How long a stream may be silent by default.
pub const DEFAULT_IDLE_MS: u64 = 60_000;

impl Default for Limits {
    fn default() -> Self {
        Self { call_ms: None, idle_ms: DEFAULT_IDLE_MS }
    }
}

impl Limits {
    /// Milliseconds for a call whose manifest says so much.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only calls need it"))]
    pub(crate) fn of_call(&self, manifest_ms: Option<u64>) -> u64 {
        match (self.call_ms, manifest_ms) {
            (Some(operator), Some(manifest)) => operator.min(manifest),
            (one, other) => one.or(other).unwrap_or(DEFAULT_CALL_MS),
        }
    }

    /// A limit that ran out as a message names it, and what to do where it is not the manifest's.
    #[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only calls need it"))]
    pub(crate) fn told(&self, manifest_ms: Option<u64>, ms: u64) -> (String, Option<String>) {
        let seconds = ms as f64 / 1000.0;
        match (self.call_ms, manifest_ms) {
            (Some(operator), manifest) if manifest.is_none_or(|manifest| operator < manifest) => {
                let help = "allow more time with `--timeout`, or ask for a shorter answer";
                (format!("{seconds}s (`--timeout {seconds}`)"), Some(help.to_owned()))
            }
            (_, Some(_)) => (format!("{seconds}s"), None),
            (_, None) => {
                let help = "allow more time with `--timeout SECONDS`";
                (format!("{seconds}s, the default time limit of a call"), Some(help.to_owned()))
            }
        }
    }
}
