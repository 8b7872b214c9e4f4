//! How a server is stopped: the first signal stops it gently, the second one at once.

use std::io;

use tokio::sync::watch;
use trefoil_host::worker::StopRequests;
use trefoil_server::{PhaseSwitch, ServingPhase};

use crate::run::StopSignals;

/// Tells the server to stop.
pub struct StopSignal(PhaseSwitch);

/// The number of signals so far.
#[derive(Clone)]
pub struct SignalCount(watch::Receiver<u32>);

impl StopSignal {
    /// One for the server with this switch.
    pub fn new(phases: PhaseSwitch) -> Self {
        Self(phases)
    }

    /// Counts signals from now on; the first one stops the server.
    ///
    /// # Errors
    ///
    /// Signals cannot be received.
    pub fn start_listening(self) -> io::Result<SignalCount> {
        let mut signals = StopSignals::new()?;
        let (sender, count) = watch::channel(0);
        tokio::spawn(async move {
            loop {
                signals.next().await;
                sender.send_modify(|count| *count += 1);
                self.0.enter_phase(ServingPhase::Draining);
            }
        });
        Ok(SignalCount(count))
    }
}

impl SignalCount {
    /// Waits for the second signal.
    pub async fn wait_second(&mut self) {
        if self.0.wait_for(|count| *count >= 2).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// The signals for the worker of a server.
pub struct WorkerSignals {
    signals: SignalCount,
    seen: u32,
}

impl WorkerSignals {
    /// Those after the last one that it has seen: none yet.
    pub fn new(signals: SignalCount) -> Self {
        Self { signals, seen: 0 }
    }
}

impl StopRequests for WorkerSignals {
    async fn next_request(&mut self) {
        let seen = self.seen;
        // What it returns locks the channel, and is dropped at once.
        let is_signalled = self.signals.0.wait_for(|count| *count > seen).await.is_ok();
        if !is_signalled {
            std::future::pending::<()>().await;
        }
        self.seen += 1;
    }
}
