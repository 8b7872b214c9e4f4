//! How far a server has come with stopping.

use tokio::sync::watch;

/// How far a server has come with stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServingPhase {
    /// It is not stopping.
    Serving,
    /// New work is refused, and `/ready` says so. Runs in progress end or are given back; whoever follows them sees that.
    Draining,
    /// Streams and connections end.
    Closing,
}

/// Says how far a server has come with stopping.
#[derive(Clone)]
pub struct PhaseSwitch(watch::Sender<ServingPhase>);

/// Knows how far a server has come with stopping.
#[derive(Clone)]
pub struct PhaseWatch(watch::Receiver<ServingPhase>);

/// The phase of a server that is not stopping.
pub fn serving_phases() -> (PhaseSwitch, PhaseWatch) {
    let (switch, watch) = watch::channel(ServingPhase::Serving);
    (PhaseSwitch(switch), PhaseWatch(watch))
}

impl PhaseSwitch {
    /// Enters a phase, unless the server has come further.
    pub fn enter_phase(&self, phase: ServingPhase) {
        self.0.send_if_modified(|current| {
            let is_later = phase > *current;
            *current = phase.max(*current);
            is_later
        });
    }
}

impl PhaseWatch {
    /// Whether new work is refused.
    pub fn is_stopping(&self) -> bool {
        *self.0.borrow() > ServingPhase::Serving
    }

    /// Waits until the server has come to a phase, or is dropped.
    pub async fn wait_phase(&self, phase: ServingPhase) {
        // What it returns locks the channel, and is dropped at once.
        let _ = self.0.clone().wait_for(|current| *current >= phase).await;
    }
}
