//! Reads keys and lines from the terminal. If stdin is not a terminal, each line counts as a key.

use std::io::{BufRead, IsTerminal as _};
use std::sync::mpsc::{Receiver, Sender, channel};

use console::{Key, Term};
use tokio::sync::mpsc::UnboundedSender;

use super::DevEvent;
use crate::output;
use crate::terminal_text::TerminalText;

/// Reads on a separate thread, and only on request, so that the terminal is in its normal mode between two keys.
pub struct KeyboardReader {
    wanted: Sender<KeyboardRequest>,
    /// What the thread is reading.
    asked: Option<KeyboardRequest>,
    /// Whether single keys can be read.
    pub keys: bool,
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyboardRequest {
    Key,
    Line,
}

/// What came instead of a requested line, or the line.
#[derive(Debug, PartialEq, Eq)]
pub enum PromptResult {
    /// A line.
    Line(String),
    /// Esc.
    Cancelled,
    /// stdin has ended.
    Ended,
}

impl KeyboardReader {
    /// Starts the thread. It sends the keys and lines to `typed`.
    pub fn new(typed: UnboundedSender<DevEvent>) -> std::io::Result<Self> {
        let (wanted, asked) = channel();
        let keys = std::io::stdin().is_terminal() && output::is_terminal();
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
        self.want(KeyboardRequest::Key);
    }

    /// Prints a question, and requests a line.
    pub fn want_line(&mut self, question: &str) {
        output::print_part(TerminalText::from_line(question));
        self.want(KeyboardRequest::Line);
    }

    fn want(&mut self, wanted: KeyboardRequest) {
        if self.asked.is_none() && self.wanted.send(wanted).is_ok() {
            self.asked = Some(wanted);
        }
    }

    /// Marks the request as answered.
    pub fn finish_request(&mut self) {
        self.asked = None;
    }
}

/// Restores the mode of the terminal, because reading a key changes it.
impl Drop for KeyboardReader {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(before) = &self.before {
            let _ = rustix::termios::tcsetattr(std::io::stdin(), rustix::termios::OptionalActions::Now, before);
        }
    }
}

fn listen(wanted: &Receiver<KeyboardRequest>, typed: &UnboundedSender<DevEvent>, keys: bool) {
    #[allow(clippy::disallowed_methods, reason = "only reads keys")]
    let term = Term::stderr();
    while let Ok(wanted) = wanted.recv() {
        let happening = match wanted {
            KeyboardRequest::Key if keys => match term.read_key() {
                Ok(Key::Char(key)) => DevEvent::Key(key),
                Ok(Key::Enter) => DevEvent::Key('\n'),
                Ok(_) => DevEvent::Key('\0'),
                // Ctrl-C arrives as a signal.
                Err(_) => continue,
            },
            KeyboardRequest::Line if keys => match edited(|| term.read_key()) {
                Ok(typed) => DevEvent::Line(typed),
                // Ctrl-C arrives as a signal.
                Err(_) => continue,
            },
            _ => match line().inspect(|_| ends(wanted)) {
                Some(line) if wanted == KeyboardRequest::Key => DevEvent::Key(line.chars().next().unwrap_or('\n')),
                Some(line) if line == ESC => DevEvent::Line(PromptResult::Cancelled),
                Some(line) => DevEvent::Line(PromptResult::Line(line)),
                // Stdin has ended, so the requested line has no answer.
                None if wanted == KeyboardRequest::Line => DevEvent::Line(PromptResult::Ended),
                None => return,
            },
        };
        if typed.send(happening).is_err() {
            return;
        }
    }
}

/// Ends the line of a prompt, because nobody has seen the end of the typed line.
fn ends(wanted: KeyboardRequest) {
    if wanted == KeyboardRequest::Line {
        output::print_line("");
    }
}

/// A line with only this key cancels the prompt if stdin is not a terminal.
const ESC: &str = "\u{1b}";
/// Ctrl-D, which ends the input on an empty line.
const END: char = '\u{4}';
/// Ctrl-U, which clears the line.
const CLEAR: char = '\u{15}';

/// Reads a line from the terminal key by key, because the terminal itself does not report Esc before the end of a line.
fn edited(key: impl FnMut() -> std::io::Result<Key>) -> std::io::Result<PromptResult> {
    let _silent = TerminalEchoGuard::new();
    let typed = typed(key, |echo| output::draw_picture(&echo));
    output::print_line("");
    typed
}

/// Reads keys up to the end of a line, and shows it.
fn typed(
    mut key: impl FnMut() -> std::io::Result<Key>,
    mut show: impl FnMut(TerminalText),
) -> std::io::Result<PromptResult> {
    let mut line: Vec<char> = Vec::new();
    // What is shown of a character is wiped column by column.
    let wipe = |c: char| -> TerminalText {
        let columns = TerminalText::from_line(c.encode_utf8(&mut [0; 4])).column_count();
        std::iter::repeat_n(TerminalText::from_constant("\u{8} \u{8}"), columns).collect()
    };
    loop {
        let echo = match key()? {
            Key::Enter => return Ok(PromptResult::Line(line.into_iter().collect())),
            Key::Escape => return Ok(PromptResult::Cancelled),
            Key::Char(END) if line.is_empty() => return Ok(PromptResult::Ended),
            Key::Char(CLEAR) => line.drain(..).map(wipe).collect(),
            Key::Backspace => line.pop().map(wipe).unwrap_or_default(),
            Key::Char(c) if !c.is_control() => {
                line.push(c);
                TerminalText::from_line(c.encode_utf8(&mut [0; 4]))
            }
            _ => TerminalText::default(),
        };
        show(echo);
    }
}

/// While this exists, the terminal neither shows what is typed nor waits for the end of a line, also between two keys.
struct TerminalEchoGuard {
    #[cfg(unix)]
    before: Option<rustix::termios::Termios>,
}

impl TerminalEchoGuard {
    #[cfg(unix)]
    fn new() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let before = tcgetattr(std::io::stdin()).ok();
        if let Some(before) = &before {
            let mut silent = before.clone();
            silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON);
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &silent);
        }
        Self { before }
    }

    #[cfg(not(unix))]
    fn new() -> Self {
        Self {}
    }
}

impl Drop for TerminalEchoGuard {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(before) = &self.before {
            let _ = rustix::termios::tcsetattr(std::io::stdin(), rustix::termios::OptionalActions::Now, before);
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
            return if line.is_empty() { None } else { Some(String::from_utf8_lossy(&line).into_owned()) };
        }
        let Some(end) = read.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
            let all = read.len();
            line.extend_from_slice(read);
            from.consume(all);
            continue;
        };
        line.extend(read.iter().take(end));
        let is_pair = matches!(read.get(end..), Some(rest) if rest.starts_with(b"\r\n"));
        from.consume(end + if is_pair { 2 } else { 1 });
        return Some(String::from_utf8_lossy(&line).into_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_and_can_be_cancelled() {
        let keys = |keys: Vec<Key>| {
            let (mut keys, mut shown) = (keys.into_iter(), String::new());
            let typed = typed(|| Ok(keys.next().unwrap()), |echo| shown.push_str(echo.as_str())).unwrap();
            (typed, shown)
        };
        let (a, b) = (Key::Char('a'), Key::Char('水'));
        let line = |text: &str| PromptResult::Line(text.to_owned());
        assert_eq!(keys(vec![a.clone(), b.clone(), Key::Enter]), (line("a水"), "a水".to_owned()));
        let (typed, shown) = keys(vec![a.clone(), b, Key::Backspace, Key::ArrowLeft, Key::Enter]);
        assert_eq!((typed, shown), (line("a"), format!("a水{}", "\u{8} \u{8}".repeat(2))));
        assert_eq!(keys(vec![a.clone(), Key::Char(CLEAR), Key::Enter]).0, line(""));
        assert_eq!(keys(vec![a.clone(), Key::Escape]).0, PromptResult::Cancelled);
        assert_eq!(keys(vec![Key::Char(END)]).0, PromptResult::Ended);
        assert_eq!(keys(vec![a, Key::Char(END), Key::Enter]).0, line("a"));
    }

    #[test]
    fn every_end_of_a_line_is_one() {
        let mut from: &[u8] = b"one\rtwo\r\nthree\n\nlast";
        let lines: Vec<String> = std::iter::from_fn(|| line_of(&mut from)).collect();
        assert_eq!(lines, ["one", "two", "three", "", "last"]);
    }
}
