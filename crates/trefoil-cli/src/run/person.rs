//! Asking the person at the terminal.

use std::io::{BufRead as _, Write as _};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use trefoil::ir::OnTimeout;
use trefoil::runtime::{HumanInbox, HumanRequest, Key};

use super::Shown;
use super::words::{line, safe};

/// Asks on stderr, reads lines from stdin.
pub struct Terminal {
    shown: Arc<Shown>,
    /// What was typed. One question at a time.
    lines: Mutex<Option<UnboundedReceiver<String>>>,
}

impl Terminal {
    /// On the terminal that this shows the run on.
    pub fn new(shown: Arc<Shown>) -> Self {
        Self { shown, lines: Mutex::new(None) }
    }
}

/// Lines of stdin as they are typed. Reading cannot be called off, so a thread of its own does it for all questions; it
/// may wait for ever without holding anybody up.
fn read_along() -> UnboundedReceiver<String> {
    let (send, receive) = unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            if line.is_err() || line.is_ok_and(|line| send.send(line).is_err()) {
                break;
            }
        }
    });
    receive
}

#[async_trait]
impl HumanInbox for Terminal {
    async fn ask(&self, _key: &Key, request: &HumanRequest) -> Option<String> {
        let mut lines = self.lines.lock().await;
        let lines = lines.get_or_insert_with(read_along);
        // What was typed before the question does not answer it.
        while lines.try_recv().is_ok() {}
        let _paused = self.shown.pause();
        let prompt: String = request.prompt.to_text().chars().filter(|c| *c == '\n' || !c.is_control()).collect();
        let default = match &request.on_timeout {
            OnTimeout::Answer(default) if request.refused.is_none() => format!(" [{}]", safe(default)),
            OnTimeout::Answer(_) | OnTimeout::Fail => String::new(),
        };
        let words: Vec<String> = request.accepts.iter().map(|word| format!("`{}`", safe(word))).collect();
        let accepts = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
        let bold = anstyle::Style::new().bold();
        let mut err = anstream::stderr();
        let asked = match &request.refused {
            None => {
                write!(err, "\n{bold}{}{bold:#}\n{prompt}\n{}{default}> ", safe(&request.step), accepts.trim_start())
            }
            Some(refused) => write!(
                err,
                "no transition takes `{}`{}{accepts}> ",
                line(refused),
                if words.is_empty() { "; answer again" } else { "; answer one of" }
            ),
        };
        let _ = asked.and_then(|()| err.flush());
        let typed = lines.recv().await?;
        // Nothing typed is the default, where there is one.
        (!typed.is_empty() || default.is_empty()).then_some(typed)
    }
}
