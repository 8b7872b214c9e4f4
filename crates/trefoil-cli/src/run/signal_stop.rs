//! Stops a run within a second of a signal, whatever it is doing.
//!
//! A separate thread handles signals, because the run's thread may be checking a huge value or be blocked by a slow
//! reader. The run gets a moment to end normally and to write its trace and final output. Then its commands are killed
//! and the process exits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use trefoil::CancelSwitch;

use super::TraceRecording;
use crate::{exit, output};

/// Time between the first signal and the exit of the process.
const GRACE: Duration = Duration::from_millis(500);
/// Additional time if the trace is being written.
const SAVING: Duration = Duration::from_secs(10);
/// Maximum time to write the trace of a run that was cut off.
const LAST: Duration = Duration::from_secs(3);
/// Maximum time to print the last line of such a run.
const LINE: Duration = Duration::from_millis(200);

/// Handles signals from now until the process ends.
pub struct SignalStop {
    saving: Arc<AtomicBool>,
    recording: Option<Arc<TraceRecording>>,
}

impl SignalStop {
    /// Starts to listen. The first signal interrupts the run; a stored run can then be resumed. `last` is printed if the run
    /// does not end in time.
    pub fn start_listening(
        cancel: CancelSwitch,
        recording: Option<Arc<TraceRecording>>,
        last: Option<String>,
    ) -> std::io::Result<Self> {
        let stop = Self { saving: Arc::default(), recording };
        let (saving, recording) = (stop.saving.clone(), stop.recording.clone());
        // A separate runtime, because a signal must not wait for the run's thread.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let signals = {
            let _inside = runtime.enter();
            StopSignals::new()?
        };
        let work = move || runtime.block_on(answer(signals, &cancel, &saving, recording, last));
        std::thread::Builder::new().name("signals".to_owned()).spawn(work)?;
        Ok(stop)
    }

    /// Writes the trace, if requested. A stop request waits longer during this time.
    pub fn save_trace(&self) -> Result<(), String> {
        let Some(recording) = &self.recording else { return Ok(()) };
        self.saving.store(true, Ordering::Relaxed);
        let written = recording.write_trace();
        self.saving.store(false, Ordering::Relaxed);
        written
    }
}

async fn answer(
    mut signals: StopSignals,
    cancel: &CancelSwitch,
    saving: &AtomicBool,
    recording: Option<Arc<TraceRecording>>,
    last: Option<String>,
) {
    signals.next().await;
    cancel.interrupt_runs();
    let patience = async {
        tokio::time::sleep(GRACE).await;
        if saving.load(Ordering::Relaxed) {
            tokio::time::sleep(SAVING).await;
        }
    };
    // A second signal ends the wait.
    tokio::select! {
        () = patience => {}
        () = signals.next() => {}
    }
    trefoil_project::shell::end_all();
    if let Some(recording) = recording {
        // Written in another thread, because a lock that it needs may never be released.
        let (done, written) = mpsc::channel();
        let _ = std::thread::Builder::new().spawn(move || done.send(recording.write_trace().is_ok()));
        let _ = written.recv_timeout(LAST);
    }
    if let Some(line) = last {
        // In another thread as well, because the reader may be slow.
        let (done, printed) = mpsc::channel();
        let print = move || {
            output::print_line(&line);
            done.send(())
        };
        let _ = std::thread::Builder::new().spawn(print);
        let _ = printed.recv_timeout(LINE);
    }
    std::process::exit(i32::from(exit::CANCELLED));
}

/// The signals that end a process. All are handled, because a run's commands are in separate process groups and would
/// continue to run.
#[cfg(unix)]
pub struct StopSignals([tokio::signal::unix::Signal; 4]);

#[cfg(unix)]
impl StopSignals {
    /// Starts to listen. Must be called inside a runtime.
    pub fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
            signal(SignalKind::quit())?,
        ]))
    }
    /// Waits for the next signal.
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

/// The signals that end a process.
#[cfg(not(unix))]
pub struct StopSignals;

#[cfg(not(unix))]
impl StopSignals {
    /// Starts to listen. Must be called inside a runtime.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self)
    }
    /// Waits for the next signal.
    pub async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
