//! Reads keys and lines from the terminal. If stdin is not a terminal, each line counts as a key.

use std::io::{BufRead, IsTerminal as _, Write as _};
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

/// Reads a line. What was typed while single keys were read ends with a carriage return.
fn line() -> Option<String> {
    line_of(&mut std::io::stdin().lock())
}

fn line_of(from: &mut impl BufRead) -> Option<String> {
    let mut line = Vec::new();
    loop {
        let read = from.fill_buf().ok()?;
        if read.is_empty() {
            return (!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned());
        }
        let Some(end) = read.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            let all = read.len();
            line.extend_from_slice(read);
            from.consume(all);
            continue;
        };
        line.extend(read.iter().take(end));
        let is_pair = read.get(end..).is_some_and(|rest| rest.starts_with(b"\r\n"));
        from.consume(end + if is_pair { 2 } else { 1 });
        return Some(String::from_utf8_lossy(&line).into_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_of_a_line_is_one() {
        let mut from: &[u8] = b"one\rtwo\r\nthree\n\nlast";
        let lines: Vec<String> = std::iter::from_fn(|| line_of(&mut from)).collect();
        assert_eq!(lines, ["one", "two", "three", "", "last"]);
    }
}
