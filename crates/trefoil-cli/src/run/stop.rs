//! Asked to stop, a run ends in under a second, whatever it is busy with.
//!
//! Signals are answered on a thread of their own: the run's thread may be checking a huge value, or be held up by a reader
//! that does not read. The run gets a moment to end by itself, with its trace and its last words; then its commands are
//! killed and the process exits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use trefoil::Cancel;

use super::Recording;
use crate::exit;

/// From the first signal until the process exits, unless it has by then.
const GRACE: Duration = Duration::from_millis(500);
/// The same, while the trace is being written to its file.
const SAVING: Duration = Duration::from_secs(10);
/// At most, for the trace of a run that was cut off.
const LAST: Duration = Duration::from_secs(3);

/// Answers signals from now until the process ends.
pub struct SignalStop {
    saving: Arc<AtomicBool>,
    recording: Option<Arc<Recording>>,
}

impl SignalStop {
    /// Starts to listen. The first signal interrupts the run: one that is kept can be resumed.
    pub fn listen(cancel: Cancel, recording: Option<Arc<Recording>>) -> std::io::Result<Self> {
        let stop = Self { saving: Arc::default(), recording };
        let (saving, recording) = (stop.saving.clone(), stop.recording.clone());
        // Without IO of the run's thread: a signal must not wait for it.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _inside = runtime.enter();
            Signals::new()?
        };
        let work = move || runtime.block_on(answer(signals, &cancel, &saving, recording));
        std::thread::Builder::new().name("signals".to_owned()).spawn(work)?;
        Ok(stop)
    }

    /// Writes the trace, if there is to be one. Somebody who asks to stop waits a little longer meanwhile.
    pub fn save(&self) -> Result<(), String> {
        let Some(recording) = &self.recording else { return Ok(()) };
        self.saving.store(true, Ordering::Relaxed);
        let written = recording.write();
        self.saving.store(false, Ordering::Relaxed);
        written
    }
}

async fn answer(mut signals: Signals, cancel: &Cancel, saving: &AtomicBool, recording: Option<Arc<Recording>>) {
    signals.next().await;
    cancel.interrupt();
    let patience = async {
        tokio::time::sleep(GRACE).await;
        if saving.load(Ordering::Relaxed) {
            tokio::time::sleep(SAVING).await;
        }
    };
    // Who asks twice does not want to wait.
    tokio::select! {
        () = patience => {}
        () = signals.next() => {}
    }
    trefoil::internals::shell::end_all();
    if let Some(recording) = recording {
        // Not here: whoever holds what it needs may never let go of it.
        let (done, written) = mpsc::channel();
        let _ = std::thread::Builder::new().spawn(move || done.send(recording.write().is_ok()));
        let _ = written.recv_timeout(LAST);
    }
    std::process::exit(i32::from(exit::CANCELLED));
}

/// What asks a process to end. All of it: the commands of a run are in groups of their own and would live on.
#[cfg(unix)]
pub struct Signals([tokio::signal::unix::Signal; 4]);

#[cfg(unix)]
impl Signals {
    /// Begins to listen. Inside a runtime.
    pub fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
            signal(SignalKind::quit())?,
        ]))
    }
    /// The next one.
    pub async fn next(&mut self) {
        let Self([interrupt, terminate, hangup, quit]) = self;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
            _ = quit.recv() => {}
        }
    }
}

/// What asks a process to end.
#[cfg(not(unix))]
pub struct Signals;

#[cfg(not(unix))]
impl Signals {
    /// Begins to listen. Inside a runtime.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self)
    }
    /// The next one.
    pub async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
