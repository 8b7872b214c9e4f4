//! Reads keys and lines from the terminal. If stdin is not a terminal, each line counts as a key.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::sync::mpsc::{Receiver, Sender, channel};

use console::{Key, Term};
use tokio::sync::mpsc::UnboundedSender;

use super::Happening;

/// Reads on a separate thread, and only on request, so that the terminal is in its normal mode between two keys.
pub struct Keyboard {
    wanted: Sender<Wanted>,
    /// What the thread is reading.
    asked: Option<Wanted>,
    /// Whether single keys can be read.
    pub keys: bool,
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Key,
    Line,
}

impl Keyboard {
    /// Starts the thread. It sends the keys and lines to `typed`.
    pub fn new(typed: UnboundedSender<Happening>) -> std::io::Result<Self> {
        let (wanted, asked) = channel();
        let keys = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
        std::thread::Builder::new().name("keys".to_owned()).spawn(move || listen(&asked, &typed, keys))?;
        Ok(Self {
            wanted,
            asked: None,
            keys,
            #[cfg(unix)]
            before: keys.then(|| rustix::termios::tcgetattr(std::io::stdin()).ok()).flatten(),
        })
    }

    /// Requests the next key.
    pub fn want_key(&mut self) {
        self.want(Wanted::Key);
    }

    /// Prints a question, and requests a line.
    pub fn want_line(&mut self, question: &str) {
        let mut err = anstream::stderr();
        let _ = write!(err, "{question}").and_then(|()| err.flush());
        self.want(Wanted::Line);
    }

    fn want(&mut self, wanted: Wanted) {
        if self.asked.is_none() && self.wanted.send(wanted).is_ok() {
            self.asked = Some(wanted);
        }
    }

    /// Marks the request as answered.
    pub fn came(&mut self) {
        self.asked = None;
    }
}

/// Restores the mode of the terminal, because reading a key changes it.
impl Drop for Keyboard {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(before) = &self.before {
            let _ = rustix::termios::tcsetattr(std::io::stdin(), rustix::termios::OptionalActions::Now, before);
        }
    }
}

fn listen(wanted: &Receiver<Wanted>, typed: &UnboundedSender<Happening>, keys: bool) {
    let term = Term::stderr();
    while let Ok(wanted) = wanted.recv() {
        let happening = match wanted {
            Wanted::Key if keys => match term.read_key() {
                Ok(Key::Char(key)) => Happening::Key(key),
                Ok(Key::Enter) => Happening::Key('\n'),
                Ok(_) => Happening::Key('\0'),
                // Ctrl-C arrives as a signal.
                Err(_) => continue,
            },
            _ => match line() {
                Some(line) if wanted == Wanted::Key => Happening::Key(line.chars().next().unwrap_or('\n')),
                Some(line) => Happening::Line(Some(line)),
                // Stdin has ended, so the requested line has no answer.
                None if wanted == Wanted::Line => Happening::Line(None),
                None => return,
            },
        };
        if typed.send(happening).is_err() {
            return;
        }
    }
}

fn line() -> Option<String> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line).ok()?;
    (read > 0).then(|| line.trim_end_matches(['\n', '\r']).to_owned())
}
