//! Asking the person at the terminal.

use std::io::Write as _;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{Mutex, oneshot};
use trefoil::runtime::{HumanInbox, HumanRequest, Key};

use super::Shown;

/// Asks on stderr, reads a line from stdin.
pub struct Terminal {
    shown: Arc<Shown>,
    /// One question at a time.
    turn: Mutex<()>,
}

impl Terminal {
    /// On the terminal that this shows the run on.
    pub fn new(shown: Arc<Shown>) -> Self {
        Self { shown, turn: Mutex::new(()) }
    }
}

#[async_trait]
impl HumanInbox for Terminal {
    async fn ask(&self, _key: &Key, request: &HumanRequest) -> Option<String> {
        let _turn = self.turn.lock().await;
        let _paused = self.shown.pause();
        let prompt: String = request.prompt.to_text().chars().filter(|c| *c == '\n' || !c.is_control()).collect();
        let bold = anstyle::Style::new().bold();
        let mut out = anstream::stderr();
        let _ = write!(out, "\n{bold}{}{bold:#}\n{prompt}\n> ", request.step).and_then(|()| out.flush());
        // Reading cannot be called off; a thread of its own may wait for ever without holding anybody up.
        let (send, receive) = oneshot::channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let read = std::io::stdin().read_line(&mut line);
            let _ = send.send(read.ok().filter(|n| *n > 0).map(|_| line));
        });
        let line = receive.await.ok().flatten()?;
        Some(line.trim_end_matches(['\r', '\n']).to_owned())
    }
}
