//! Writing: results to stdout, everything else to stderr.
//!
//! A reader that goes away (`trefoil check | head`) is no mistake: what is written then goes nowhere.

use std::io::{IsTerminal as _, Write as _};

use trefoil::syntax::diagnostic::render::{TextOptions, text};
use trefoil::syntax::{Diagnostic, Files};

/// A result.
pub fn result(text: &str) {
    let mut out = anstream::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Something for the person, on a line of its own.
pub fn say(text: &str) {
    let mut out = anstream::stderr().lock();
    let _ = writeln!(out, "{text}");
}

/// Why something did not happen, and what to do about it.
pub fn refuse(message: &str, help: Option<&str>) {
    let red = anstyle::AnsiColor::BrightRed.on_default().bold();
    let blue = anstyle::AnsiColor::BrightCyan.on_default().bold();
    say(&format!("{red}error{red:#}: {message}"));
    if let Some(help) = help {
        say(&format!("{blue}help{blue:#}: {help}"));
    }
}

/// Findings, for a person.
pub fn diagnostics(all: &[Diagnostic], files: &Files) -> String {
    text(all, files, TextOptions { color: true, width: width() })
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
