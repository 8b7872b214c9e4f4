//! Keys and lines of whoever sits at the terminal. Where stdin is no terminal, each line is a key.

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::sync::mpsc::{Receiver, Sender, channel};

use console::{Key, Term};
use tokio::sync::mpsc::UnboundedSender;

use super::Happening;

/// Reads on a thread of its own, and only what was asked for: between two keys, the terminal is as it was.
pub struct Keyboard {
    wanted: Sender<Wanted>,
    /// What the thread waits for.
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
    /// Starts to listen. What is typed is sent.
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

    /// The next key is to be sent.
    pub fn want_key(&mut self) {
        self.want(Wanted::Key);
    }

    /// Asks for a line, which is to be sent.
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

    /// What was asked for has come.
    pub fn came(&mut self) {
        self.asked = None;
    }
}

/// Whoever is waiting for a key has put the terminal into another mode.
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
                // Ctrl-C is a signal, and told as one.
                Err(_) => continue,
            },
            _ => match line() {
                Some(line) if wanted == Wanted::Key => Happening::Key(line.chars().next().unwrap_or('\n')),
                Some(line) => Happening::Line(Some(line)),
                // Nobody types anything any more. What was asked for has no answer.
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
