//! The streams of a server that is a child process, with limits: one message in each line.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use trefoil_runtime::ToolError;
use trefoil_template::{NodeCounter, limits};

use super::connection_failure::ConnectionFailure;
use super::incoming::{IncomingText, OpenRequests, read_message};
use trefoil_runtime::locks::lock;

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

/// The transport over the streams of a server. Beyond a limit of the server's output, the connection ends.
pub struct StdioLines {
    stdout: ChildStdout,
    stdin: Arc<tokio::sync::Mutex<Option<ChildStdin>>>,
    open: OpenRequests,
    budget: Arc<OutputBudget>,
    /// The start of the next line, and complete lines that were not read.
    line: Vec<u8>,
    lines: VecDeque<Vec<u8>>,
    /// The values in the line. A line is parsed as a whole, and each value takes many times the memory of its text.
    nodes: NodeCounter,
    output_tail: ServerOutputTail,
    trouble: ConnectionFailure,
}

/// Bytes written since the last request.
#[derive(Debug, Default)]
pub struct OutputBudget(AtomicU64);

impl OutputBudget {
    /// Resets the count for a new request.
    pub fn reset_count(&self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

impl StdioLines {
    /// Wraps the streams of a server.
    pub fn new(
        stdout: ChildStdout,
        stdin: ChildStdin,
        budget: Arc<OutputBudget>,
        output_tail: ServerOutputTail,
        trouble: ConnectionFailure,
    ) -> Self {
        Self {
            stdout,
            stdin: Arc::new(tokio::sync::Mutex::new(Some(stdin))),
            open: OpenRequests::default(),
            budget,
            line: Vec::new(),
            lines: VecDeque::new(),
            nodes: NodeCounter::default(),
            output_tail,
            trouble,
        }
    }

    /// Cuts bytes into lines. `Err`: they are beyond a limit.
    fn push(&mut self, bytes: &[u8]) -> Result<(), String> {
        let total = self.budget.0.fetch_add(bytes.len() as u64, Ordering::Relaxed) + bytes.len() as u64;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if self.line.len() > LINE {
                return Err(format!("the server sent a message of more than {} MB", LINE >> 20));
            }
            self.nodes.push(piece);
            if self.nodes.node_count() > limits::ANSWER_NODES {
                return Err(format!("the server sent a message with more than {} values", limits::ANSWER_NODES));
            }
            if piece.ends_with(b"\n") {
                self.end_line();
            }
        }
        if total > FLOOD {
            return Err(format!("the server wrote more than {} MB for one request", FLOOD >> 20));
        }
        Ok(())
    }

    fn end_line(&mut self) {
        self.lines.push_back(std::mem::take(&mut self.line));
        self.nodes = NodeCounter::default();
    }

    /// Records why the connection ends.
    fn ends<T>(&self, why: String) -> Option<T> {
        self.trouble.record_failure(ToolError::Unusable(why));
        None
    }
}

impl Transport<RoleClient> for StdioLines {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.open.note_request(&item);
        let stdin = self.stdin.clone();
        async move {
            let mut line = serde_json::to_vec(&item)?;
            line.push(b'\n');
            match &mut *stdin.lock().await {
                Some(stdin) => {
                    stdin.write_all(&line).await?;
                    stdin.flush().await
                }
                None => Err(io::ErrorKind::NotConnected.into()),
            }
        }
    }

    /// Nothing is lost if this is stopped while it waits: what was read is in `self`.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            while let Some(line) = self.lines.pop_front() {
                match read_message(&line, &self.open, None) {
                    IncomingText::Message(message) => return Some(*message),
                    IncomingText::Idle => {}
                    IncomingText::OtherText => self.output_tail.line(&line),
                    IncomingText::Unreadable(why) => return self.ends(why),
                }
            }
            let mut chunk = [0; CHUNK];
            let read = self.stdout.read(&mut chunk).await.unwrap_or(0);
            if read == 0 {
                if self.line.is_empty() {
                    return None;
                }
                self.end_line();
                continue;
            }
            if let Err(why) = self.push(chunk.get(..read).unwrap_or_default()) {
                return self.ends(why);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.stdin.lock().await.take();
        Ok(())
    }
}

/// The end of a server's standard error, and the lines of its output that are no messages.
#[derive(Debug, Clone, Default)]
pub struct ServerOutputTail(Arc<Mutex<VecDeque<u8>>>, Arc<Mutex<GarbageLines>>);

/// The number of lines that are no messages, and the first of them.
#[derive(Debug, Default)]
struct GarbageLines(usize, String);

impl ServerOutputTail {
    /// Reads everything, so that the server never blocks, and keeps the end.
    pub fn read_stderr(&self, mut stderr: ChildStderr) {
        let kept = self.0.clone();
        tokio::spawn(async move {
            let mut buffer = [0; 1 << 12];
            while let Ok(read) = stderr.read(&mut buffer).await {
                if read == 0 {
                    return;
                }
                let mut kept = lock(&kept);
                kept.extend(buffer.get(..read).unwrap_or_default());
                let excess = kept.len().saturating_sub(KEPT);
                kept.drain(..excess);
            }
        });
    }

    /// Reports a line of the server's output that is no message.
    fn line(&self, line: &[u8]) {
        let line = line.trim_ascii();
        let start = line.get(..SHOWN).unwrap_or(line);
        let mut garbage = lock(&self.1);
        if garbage.0 == 0 {
            garbage.1 = crate::process::last_words(&String::from_utf8_lossy(start));
        }
        garbage.0 += 1;
    }

    /// The first line of the output, if the server writes lines that are no messages.
    pub fn first_garbage_line(&self) -> Option<String> {
        let garbage = lock(&self.1);
        if garbage.0 >= GARBAGE { Some(garbage.1.clone()) } else { None }
    }

    /// The kept text.
    pub fn stderr_text(&self) -> String {
        let kept: Vec<u8> = lock(&self.0).iter().copied().collect();
        crate::process::last_words(&String::from_utf8_lossy(&kept))
    }
}
