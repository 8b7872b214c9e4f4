//! The streams of a server that is a child process, with limits.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};
use tokio::process::{ChildStderr, ChildStdout};
use trefoil_runtime::ToolError;

use super::trouble::Trouble;

/// Maximum number of bytes that a server may write for one request, and in one line.
const FLOOD: u64 = 32 << 20;
const LINE: usize = 8 << 20;
/// Number of bytes kept from the end of the server's standard error.
const KEPT: usize = 4 << 10;

/// The server's output. Beyond a limit, reading fails and the connection ends.
pub struct Bounded {
    stdout: ChildStdout,
    budget: Arc<Budget>,
    /// Bytes since the last line break.
    line: usize,
    trouble: Trouble,
}

/// Bytes written since the last request.
#[derive(Debug, Default)]
pub struct Budget(AtomicU64);

impl Budget {
    /// Resets the count for a new request.
    pub fn renew(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl Bounded {
    /// Wraps the output of a server.
    pub fn new(stdout: ChildStdout, budget: Arc<Budget>, trouble: Trouble) -> Self {
        Self { stdout, budget, line: 0, trouble }
    }

    /// The longest line that is accepted.
    pub const LONGEST: usize = LINE + 1;

    fn count(&mut self, bytes: &[u8]) -> io::Result<()> {
        let total = self.budget.0.fetch_add(bytes.len() as u64, Ordering::Relaxed) + bytes.len() as u64;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line += piece.len();
            if self.line > LINE {
                return self.stop(format!("the server sent a message of more than {} MB", LINE >> 20));
            }
            if piece.ends_with(b"\n") {
                self.line = 0;
            }
        }
        if total > FLOOD {
            return self.stop(format!("the server wrote more than {} MB for one request", FLOOD >> 20));
        }
        Ok(())
    }

    fn stop(&self, why: String) -> io::Result<()> {
        self.trouble.tell(ToolError::Unusable(why.clone()));
        Err(io::Error::new(io::ErrorKind::InvalidData, why))
    }
}

impl AsyncRead for Bounded {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        std::task::ready!(Pin::new(&mut self.stdout).poll_read(cx, buf))?;
        let read = buf.filled().get(before..).unwrap_or_default().to_vec();
        Poll::Ready(self.count(&read))
    }
}

/// The end of a server's standard error.
#[derive(Debug, Clone, Default)]
pub struct LastWords(Arc<Mutex<VecDeque<u8>>>);

impl LastWords {
    /// Reads everything, so that the server never blocks, and keeps the end.
    pub fn listen(&self, mut stderr: ChildStderr) {
        let kept = self.0.clone();
        tokio::spawn(async move {
            let mut buffer = [0; 1 << 12];
            while let Ok(read) = stderr.read(&mut buffer).await {
                if read == 0 {
                    return;
                }
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(buffer.get(..read).unwrap_or_default());
                let excess = kept.len().saturating_sub(KEPT);
                kept.drain(..excess);
            }
        });
    }

    /// The kept text.
    pub fn text(&self) -> String {
        let kept: Vec<u8> = self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        crate::process::last_words(&String::from_utf8_lossy(&kept))
    }
}
