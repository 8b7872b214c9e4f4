//! Writing: results to stdout, everything else to stderr.
//!
//! A reader that goes away (`trefoil check | head`) is no mistake: what is written then goes nowhere. Anything else that
//! keeps a result from being written is one: whoever reads the file later must not take half of it for all.

use std::borrow::Cow;
use std::io::{ErrorKind, IsTerminal as _, Write as _};

use trefoil_syntax::diagnostic::render::{TextOptions, text};
use trefoil_syntax::{Diagnostic, Files};

use crate::exit;
use crate::harmless::safe_lines;

/// A result. The exit code: whether it could be written.
#[must_use]
pub fn result(text: &str) -> u8 {
    if colored_result() {
        let mut out = anstream::stdout().lock();
        return written(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
    }
    // In one piece: what strips colours on the way writes each line by itself.
    let plain =
        if text.contains('\x1b') { anstream::adapter::strip_str(text).to_string().into() } else { Cow::Borrowed(text) };
    let mut out = std::io::stdout().lock();
    written(out.write_all(plain.as_bytes()).and_then(|()| out.flush()))
}

/// Whether stdout shows colours.
pub fn colored_result() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
}

/// Findings as a result: with colours where stdout shows them.
#[must_use]
pub fn findings(all: &[Diagnostic], files: &Files) -> String {
    laid_out(all, files, TextOptions { color: colored_result(), width: width() })
}

/// Up to this many findings, starting a thread costs more than it saves.
const FEW: usize = 64;

/// Findings as text. A generated file can have one for each of its thousand states, and laying out their excerpts takes longer
/// than finding them, so all cores do it.
fn laid_out(all: &[Diagnostic], files: &Files, options: TextOptions) -> String {
    let cores = if all.len() > FEW { std::thread::available_parallelism().map_or(1, usize::from) } else { 1 };
    let mut parts = all.chunks(all.len().div_ceil(cores).max(1));
    let first = parts.next().unwrap_or_default();
    std::thread::scope(|scope| {
        let others: Vec<_> = parts.map(|part| (part, scope.spawn(move || text(part, files, options)))).collect();
        let mut out = text(first, files, options);
        for (part, other) in others {
            out.push('\n');
            // What a thread could not lay out is laid out here, where it fails as it would have without threads.
            out.push_str(&other.join().unwrap_or_else(|_| text(part, files, options)));
        }
        out
    })
}

/// The exit code of what was written to stdout, with a word to the person if it was not.
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

/// Something for the person, on a line of its own.
pub fn say(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = writeln!(out, "{text}");
}

/// A run's result. On a terminal, without what would move the cursor or worse: a model wrote it. The exit code as for
/// [`result`].
#[must_use]
pub fn answer(text: &str) -> u8 {
    let out = std::io::stdout();
    let shown = if out.is_terminal() { safe_lines(text) } else { text.into() };
    let mut out = out.lock();
    written(writeln!(out, "{shown}").and_then(|()| out.flush()))
}

/// Something worth knowing.
pub fn note(text: &str) {
    let text = safe_lines(text);
    let green = anstyle::AnsiColor::BrightGreen.on_default().bold();
    say(&format!("{green}note{green:#}: {text}"));
}

/// Something beside the matter, dimmed.
pub fn aside(text: &str) {
    let dim = anstyle::Style::new().dimmed();
    say(&format!("{dim}{text}{dim:#}"));
}

/// Something worth knowing that must not be missed.
pub fn loud(text: &str) {
    let text = safe_lines(text);
    let green = anstyle::AnsiColor::BrightGreen.on_default().bold();
    let bold = anstyle::Style::new().bold();
    say(&format!("{green}note{green:#}: {bold}{text}{bold:#}"));
}

/// Something that may not be as meant.
pub fn warning(text: &str) {
    let text = safe_lines(text);
    let yellow = anstyle::AnsiColor::Yellow.on_default().bold();
    say(&format!("{yellow}warning{yellow:#}: {text}"));
}

/// Whether stderr gets colours.
pub fn colored() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

/// Rows and columns of the terminal that a person looks at, as they are at this moment.
pub fn screen() -> (usize, usize) {
    let size = terminal_size::terminal_size_of(std::io::stderr());
    let size = size.filter(|(width, height)| width.0 > 0 && height.0 > 0);
    size.map_or((24, 80), |(width, height)| (usize::from(height.0), usize::from(width.0)))
}

/// Why something did not happen, and what to do about it.
pub fn refuse(message: &str, help: Option<&str>) {
    let red = anstyle::AnsiColor::BrightRed.on_default().bold();
    let blue = anstyle::AnsiColor::BrightCyan.on_default().bold();
    say(&format!("{red}error{red:#}: {}", safe_lines(message)));
    if let Some(help) = help {
        say(&format!("{blue}help{blue:#}: {}", safe_lines(help)));
    }
}

/// Findings, for a person who reads stderr.
pub fn diagnostics(all: &[Diagnostic], files: &Files) -> String {
    laid_out(all, files, TextOptions { color: true, width: width() })
}

/// Columns of the terminal that a person looks at.
pub fn width() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stderr()).or_else(terminal_size::terminal_size);
    size.map_or(120, |(width, _)| usize::from(width.0)).clamp(40, 200)
}

/// Whether somebody can be asked, and sees it.
pub fn interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}
