//! Writing: results to stdout, everything else to stderr.
//!
//! A reader that closes the pipe (`trefoil check | head`) is not an error; further output is discarded. Any other
//! failure to write a result is an error, because a truncated file must not be mistaken for a complete one.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal as _, Write as _};

use trefoil_syntax::diagnostic::render::{TextOptions, text};
use trefoil_syntax::{Diagnostic, Files};

use crate::exit;
use crate::harmless::safe_lines;

/// Writes a result. The exit code says whether it could be written.
#[must_use]
pub fn result(text: &str) -> u8 {
    if colored_result() {
        let mut out = anstream::stdout().lock();
        return written(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    }
    // Strips colours first and writes everything in one piece, because the stripping writer would write each line
    // separately.
    let plain =
        if text.contains('\x1b') { anstream::adapter::strip_str(text).to_string().into() } else { Cow::Borrowed(text) };
    let mut out = std::io::stdout().lock();
    written(out.write_all(plain.as_bytes()).and_then(|()| out.flush()))
}

/// Whether stdout shows colours.
pub fn colored_result() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
}

/// Formats findings as a result, with colours if stdout shows them.
#[must_use]
pub fn findings(all: &[Diagnostic], files: &Files) -> String {
    laid_out(all, files, TextOptions { color: colored_result(), width: width() })
}

/// For up to this many findings, starting a thread costs more than it saves.
const FEW: usize = 64;

/// Formats findings as text. A generated file may have one for each of its thousand states, and formatting their
/// excerpts takes longer than finding them, so all cores are used.
fn laid_out(all: &[Diagnostic], files: &Files, options: TextOptions) -> String {
    let cores = if all.len() > FEW { std::thread::available_parallelism().map_or(1, usize::from) } else { 1 };
    let mut parts = all.chunks(all.len().div_ceil(cores).max(1));
    let first = parts.next().unwrap_or_default();
    std::thread::scope(|scope| {
        let others: Vec<_> = parts.map(|part| (part, scope.spawn(move || text(part, files, options)))).collect();
        let mut out = text(first, files, options);
        for (part, other) in others {
            out.push('\n');
            // If a thread panicked, its part is formatted here, where the panic is reported as usual.
            out.push_str(&other.join().unwrap_or_else(|_| text(part, files, options)));
        }
        out
    })
}

/// The exit code for a write to stdout. Reports a failure to the user.
#[must_use]
pub fn written(done: std::io::Result<()>) -> u8 {
    match done {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            refuse(&format!("cannot write the result: {error}"), None);
            exit::FAILED
        }
        _ => exit::OK,
    }
}

/// Prints a message on a separate line.
pub fn say(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = writeln!(out, "{text}");
}

/// Prints a run's result. On a terminal, escapes control characters, because a model wrote the text. Returns the exit
/// code like [`result`].
#[must_use]
pub fn answer(text: &str) -> u8 {
    let out = std::io::stdout();
    let shown = if out.is_terminal() { safe_lines(text) } else { text.into() };
    let mut out = out.lock();
    written(writeln!(out, "{shown}").and_then(|()| out.flush()))
}

/// Prints a note.
pub fn note(text: &str) {
    let text = safe_lines(text);
    let green = anstyle::AnsiColor::BrightGreen.on_default().bold();
    say(&format!("{green}note{green:#}: {text}"));
}

/// Prints less important information, dimmed.
pub fn aside(text: &str) {
    let dim = anstyle::Style::new().dimmed();
    say(&format!("{dim}{text}{dim:#}"));
}

/// Prints a note that must be noticed.
pub fn loud(text: &str) {
    let text = safe_lines(text);
    let green = anstyle::AnsiColor::BrightGreen.on_default().bold();
    let bold = anstyle::Style::new().bold();
    say(&format!("{green}note{green:#}: {bold}{text}{bold:#}"));
}

/// Prints a warning.
pub fn warning(text: &str) {
    let text = safe_lines(text);
    let yellow = anstyle::AnsiColor::Yellow.on_default().bold();
    say(&format!("{yellow}warning{yellow:#}: {text}"));
}

/// Whether stderr gets colours.
pub fn colored() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

/// The current rows and columns of the terminal.
pub fn screen() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    let size = size.filter(|(width, height)| width.0 > 0 && height.0 > 0);
    size.map_or((24, 80), |(width, height)| (usize::from(height.0), usize::from(width.0)))
}

/// Prints an error and how to fix it.
pub fn refuse(message: &str, help: Option<&str>) {
    let red = anstyle::AnsiColor::BrightRed.on_default().bold();
    let blue = anstyle::AnsiColor::BrightCyan.on_default().bold();
    say(&format!("{red}error{red:#}: {}", safe_lines(message)));
    if let Some(help) = help {
        say(&format!("{blue}help{blue:#}: {}", safe_lines(help)));
    }
}

/// Formats findings for stderr.
pub fn diagnostics(all: &[Diagnostic], files: &Files) -> String {
    laid_out(all, files, TextOptions { color: true, width: width() })
}

/// The columns of the terminal.
pub fn width() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stderr()).or_else(terminal_size::terminal_size);
    size.map_or(120, |(width, _)| usize::from(width.0)).clamp(40, 200)
}

/// Whether the user can be prompted.
pub fn interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}
