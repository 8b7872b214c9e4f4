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
use trefoil_template::{NodeCounter, limits};

use super::lines::JsonLines;
use super::trouble::Trouble;

/// Maximum number of bytes that a server may write for one request, and in one line.
const FLOOD: u64 = 32 << 20;
const LINE: usize = 8 << 20;
/// Number of lines that are no messages after which it is clear that a server writes other text; a few may be a greeting.
const GARBAGE: usize = 20;
/// Number of bytes shown of the first of them.
const SHOWN: usize = 80;
/// Number of bytes that are read at once.
const CHUNK: usize = 8 << 10;
/// Number of bytes kept from the end of the server's standard error.
const KEPT: usize = 4 << 10;

/// The server's output. Beyond a limit, reading fails and the connection ends.
pub struct Bounded {
    stdout: ChildStdout,
    budget: Arc<Budget>,
    /// Bytes since the last line break, and the first of them.
    line: usize,
    start: Vec<u8>,
    lines: JsonLines,
    /// Complete lines that the SDK has not read, and how much of them it has.
    ready: (Vec<u8>, usize),
    /// The values in it. The SDK parses a line as a whole, and each value takes many times the memory of its text.
    nodes: NodeCounter,
    said: LastWords,
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
    pub fn new(stdout: ChildStdout, budget: Arc<Budget>, said: LastWords, trouble: Trouble) -> Self {
        let (lines, ready, nodes) = (JsonLines::default(), (Vec::new(), 0), NodeCounter::default());
        Self { stdout, budget, line: 0, start: Vec::new(), lines, ready, nodes, said, trouble }
    }

    /// The longest line that is accepted.
    pub const LONGEST: usize = LINE + 1;

    fn count(&mut self, bytes: &[u8]) -> io::Result<()> {
        let total = self.budget.0.fetch_add(bytes.len() as u64, Ordering::Relaxed) + bytes.len() as u64;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line += piece.len();
            self.start.extend(piece.iter().take(SHOWN.saturating_sub(self.start.len())));
            if self.line > LINE {
                return self.stop(format!("the server sent a message of more than {} MB", LINE >> 20));
            }
            self.nodes.push(piece);
            if self.nodes.nodes() > limits::ANSWER_NODES {
                return self.stop(format!("the server sent a message with more than {} values", limits::ANSWER_NODES));
            }
            if piece.ends_with(b"\n") {
                self.line = 0;
                self.nodes = NodeCounter::default();
                self.said.line(&self.start);
                self.start.clear();
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
        loop {
            let (lines, read) = &mut self.ready;
            let left = lines.get(*read..).unwrap_or_default();
            if !left.is_empty() {
                let next = left.get(..buf.remaining()).unwrap_or(left);
                buf.put_slice(next);
                *read += next.len();
                return Poll::Ready(Ok(()));
            }
            let mut chunk = [0; CHUNK];
            let mut chunk = ReadBuf::new(&mut chunk);
            std::task::ready!(Pin::new(&mut self.stdout).poll_read(cx, &mut chunk))?;
            self.count(chunk.filled())?;
            let lines = if chunk.filled().is_empty() { self.lines.take() } else { self.lines.push(chunk.filled()) };
            self.ready = (lines, 0);
            if chunk.filled().is_empty() && self.ready.0.is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

/// The end of a server's standard error, and the lines of its output that are no messages.
#[derive(Debug, Clone, Default)]
pub struct LastWords(Arc<Mutex<VecDeque<u8>>>, Arc<Mutex<Garbage>>);

/// The number of lines that are no messages, and the first of them.
#[derive(Debug, Default)]
struct Garbage(usize, String);

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

    /// Reports the start of a line of the server's output.
    fn line(&self, start: &[u8]) {
        let start = start.trim_ascii();
        if matches!(start.first(), None | Some(b'{' | b'[')) {
            return;
        }
        let mut garbage = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        if garbage.0 == 0 {
            garbage.1 = crate::process::last_words(&String::from_utf8_lossy(start));
        }
        garbage.0 += 1;
    }

    /// The first line of the output, if the server writes lines that are no messages.
    pub fn garbage(&self) -> Option<String> {
        let garbage = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        (garbage.0 >= GARBAGE).then(|| garbage.1.clone())
    }

    /// The kept text.
    pub fn text(&self) -> String {
        let kept: Vec<u8> = self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        crate::process::last_words(&String::from_utf8_lossy(&kept))
    }
}
