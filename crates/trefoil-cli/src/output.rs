//! Writing: results to stdout, everything else to stderr.
//!
//! A reader that closes the pipe (`trefoil check | head`) is not an error; further output is discarded. Any other
//! failure to write a result is an error, because a truncated file must not be mistaken for a complete one.
//!
//! This is the only place that writes to the streams of this process, and it takes [`TerminalText`]: raw text becomes that by
//! being escaped. Data for programs ([`write_data`]) is not changed in a pipe or a file.

use std::io::{ErrorKind, IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use trefoil_machine::moment::rfc3339_ms;
use trefoil_syntax::diagnostic::render::TextOptions;
use trefoil_syntax::{Diagnostic, SourceFiles};

use crate::terminal_text::{TerminalText, escape_json, escape_lines};
use crate::{exit, shown};

// The streams of this process. Nothing else in this crate may write to them: `clippy.toml` says so.

#[allow(clippy::disallowed_methods, reason = "what is written to it comes from this file only")]
fn stdout() -> std::io::Stdout {
    std::io::stdout()
}

#[allow(clippy::disallowed_methods, reason = "what is written to it comes from this file only")]
fn stderr() -> std::io::Stderr {
    std::io::stderr()
}

/// Whether results are shown on a terminal.
pub fn is_result_shown() -> bool {
    stdout().is_terminal()
}

/// Whether messages are shown on a terminal.
pub fn is_terminal() -> bool {
    stderr().is_terminal()
}

/// Writes a result for people. The exit code says whether it could be written.
#[must_use]
pub fn write_result(text: impl Into<TerminalText>) -> u8 {
    let text = text.into();
    // Written in one piece, because a writer that strips colours would write each line separately.
    let shown = if has_result_colors() { text.as_str().into() } else { text.without_colors() };
    let mut out = stdout().lock();
    write_exit_code(write_at_once(&mut out, shown.as_bytes()))
}

fn write_at_once(out: &mut impl Write, bytes: &[u8]) -> std::io::Result<()> {
    out.write_all(bytes)?;
    out.flush()
}

/// Writes a result for programs, byte by byte as it is. On a terminal, people see it, so it is escaped there.
#[must_use]
pub fn write_data(text: &str) -> u8 {
    if is_result_shown() {
        return write_result(text);
    }
    let mut out = stdout().lock();
    write_exit_code(write_at_once(&mut out, text.as_bytes()))
}

/// Writes JSON with a line break at the end. Characters that a terminal would obey are escaped in its strings everywhere,
/// which means the same to a reader.
#[must_use]
pub fn json_result(value: &impl ToString) -> u8 {
    write_exit_code(json_line(value))
}

/// Writes text that is JSON, in its own layout. See [`json_result`].
#[must_use]
pub fn json_text(text: &str) -> u8 {
    json_result(&text.strip_suffix('\n').unwrap_or(text))
}

/// Like [`json_result`], for callers that report failures themselves.
pub fn json_line(value: &impl ToString) -> std::io::Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{}", escape_json(value))?;
    out.flush()
}

/// The answers of a protocol, one JSON text in each line. On a terminal they are escaped.
pub struct LineProtocol(std::io::BufWriter<std::io::StdoutLock<'static>>, bool);

impl LineProtocol {
    /// Takes stdout.
    pub fn on_stdout() -> Self {
        Self(std::io::BufWriter::new(stdout().lock()), is_result_shown())
    }
    /// Adds a line.
    pub fn write_line(&mut self, line: &str) -> std::io::Result<()> {
        let line = if self.1 { escape_lines(line) } else { line.into() };
        writeln!(self.0, "{line}")
    }
    /// Sends what was added.
    pub fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Whether stdout shows colours.
pub fn has_result_colors() -> bool {
    anstream::AutoStream::choice(&stdout()) != anstream::ColorChoice::Never
}

/// Formats findings as a result, with colours if stdout shows them.
#[must_use]
pub fn format_result_findings(all: &[Diagnostic], files: &SourceFiles) -> TerminalText {
    layout_findings(all, files, TextOptions { color: has_result_colors(), width: terminal_width() })
}

/// For up to this many findings, starting a thread costs more than it saves.
const FEW: usize = 64;

/// Formats findings as text. A generated file may have one for each of its thousand states, and formatting their
/// excerpts takes longer than finding them, so all cores are used.
fn layout_findings(all: &[Diagnostic], files: &SourceFiles, options: TextOptions) -> TerminalText {
    let text = TerminalText::from_findings;
    let cores = if all.len() > FEW { std::thread::available_parallelism().map_or(1, usize::from) } else { 1 };
    let mut parts = all.chunks(all.len().div_ceil(cores).max(1));
    let first = parts.next().unwrap_or_default();
    std::thread::scope(|scope| {
        let others: Vec<_> = parts.map(|part| (part, scope.spawn(move || text(part, files, options)))).collect();
        let mut out = text(first, files, options);
        for (part, other) in others {
            out.push("\n");
            // If a thread panicked, its part is formatted here, where the panic is reported as usual.
            out.push(other.join().unwrap_or_else(|_| text(part, files, options)));
        }
        out
    })
}

/// Whether something that was written to stdout was not read, because its reader had ended. Not a failure of this program.
static UNREAD: AtomicBool = AtomicBool::new(false);

/// Who gets what is written to stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdoutReader {
    /// A person, a program or a file.
    Somebody,
    /// Nobody: its reader has ended, or it is discarded.
    Nobody,
    /// Nobody: it was closed when this process started.
    Closed,
}

/// Who gets what was written to stdout.
pub fn stdout_reader() -> StdoutReader {
    if UNREAD.load(Ordering::Relaxed) { StdoutReader::Nobody } else { of_device() }
}

#[cfg(unix)]
fn of_device() -> StdoutReader {
    use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat, stat};
    let (Ok(out), Ok(null)) = (fstat(stdout()), stat("/dev/null")) else { return StdoutReader::Somebody };
    if FileType::from_raw_mode(out.st_mode) != FileType::CharacterDevice || out.st_rdev != null.st_rdev {
        return StdoutReader::Somebody;
    }
    // The standard library opens the null device in place of a closed stream, for reading as well. A shell opens it for writing only.
    match fcntl_getfl(stdout()) {
        Ok(flags) if flags.contains(OFlags::RDWR) => StdoutReader::Closed,
        _ => StdoutReader::Nobody,
    }
}

#[cfg(not(unix))]
fn of_device() -> StdoutReader {
    StdoutReader::Somebody
}

/// The exit code for a write to stdout. Reports a failure to the user.
#[must_use]
pub fn write_exit_code(done: std::io::Result<()>) -> u8 {
    match done {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {
            UNREAD.store(true, Ordering::Relaxed);
            exit::OK
        }
        Err(error) => {
            print_error(&format!("cannot write the result: {error}"), None);
            exit::FAILED
        }
        Ok(()) => exit::OK,
    }
}

/// How messages are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum LogStyle {
    /// For whoever has typed the command.
    Plain,
    /// Into a log: each with its time.
    Timed,
    /// Into a log: each as a JSON object with `time`, `level` and `message`.
    Json,
}

static LOG_STYLE: AtomicU8 = AtomicU8::new(LogStyle::Plain as u8);

/// Writes all further messages in this style.
#[cfg(feature = "server")]
pub fn set_log_style(style: LogStyle) {
    LOG_STYLE.store(style as u8, Ordering::Relaxed);
}

/// The time now, for a log: RFC 3339, UTC.
pub fn log_time() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    rfc3339_ms(u64::try_from(since.as_millis()).unwrap_or_default())
}

/// Writes a JSON object of a log on a line.
pub fn print_log_object(json: &str) {
    draw(&format!("{}\n", escape_json(&json)));
}

/// Prints a message on a separate line.
pub fn print_line(text: impl Into<TerminalText>) {
    print_message("info", text.into(), |text| text);
}

/// Prints a message on a separate line. `shape`: how it is printed where nobody reads its level.
fn print_message(level: &str, text: TerminalText, shape: impl FnOnce(TerminalText) -> TerminalText) {
    let style = LOG_STYLE.load(Ordering::Relaxed);
    if style == LogStyle::Json as u8 {
        let message = text.without_colors();
        let object = serde_json::json!({ "time": log_time(), "level": level, "message": message.trim_end() });
        return print_log_object(&object.to_string());
    }
    let mut line = shape(text);
    if style == LogStyle::Timed as u8 {
        line = shown!("{} {}", log_time(), line);
    }
    line.push("\n");
    print_part(line);
}

/// Prints a part of a line, such as a prompt.
pub fn print_part(text: impl Into<TerminalText>) {
    let text = text.into();
    let shown = if has_colors() { text.as_str().into() } else { text.without_colors() };
    draw(&shown);
}

/// Draws on the terminal, with the movements of the cursor that are in the text.
pub fn draw_picture(text: &TerminalText) {
    draw(text.as_str());
}

fn draw(text: &str) {
    let mut out = stderr().lock();
    // A failure to write to stderr cannot be reported.
    let _ = write_at_once(&mut out, text.as_bytes());
}

/// Prints a run's result. On a terminal, escapes control characters, because a model wrote the text. Returns the exit
/// code like [`write_result`].
#[must_use]
pub fn write_answer(text: &str) -> u8 {
    write_data(&format!("{text}\n"))
}

fn print_labelled(color: anstyle::AnsiColor, word: &'static str, text: impl Into<TerminalText>) {
    print_message(word, text.into(), |text| {
        shown!("{}: {}", TerminalText::with_style(color.on_default().bold(), word), text)
    });
}

/// Prints a note.
pub fn print_note(text: impl Into<TerminalText>) {
    print_labelled(anstyle::AnsiColor::BrightGreen, "note", text);
}

/// Prints less important information, dimmed.
pub fn print_dimmed(text: impl Into<TerminalText>) {
    print_line(TerminalText::with_style(anstyle::Style::new().dimmed(), text));
}

/// Prints a note that must be noticed.
pub fn print_bold_note(text: impl Into<TerminalText>) {
    print_note(TerminalText::with_style(anstyle::Style::new().bold(), text));
}

/// Prints a warning.
pub fn print_warning(text: impl Into<TerminalText>) {
    print_labelled(anstyle::AnsiColor::Yellow, "warning", text);
}

/// Whether stderr gets colours.
pub fn has_colors() -> bool {
    anstream::AutoStream::choice(&stderr()) != anstream::ColorChoice::Never
}

/// The current rows and columns of the terminal.
pub fn screen_size() -> (usize, usize) {
    match terminal_size::terminal_size_of(stderr()) {
        Some((width, height)) if width.0 > 0 && height.0 > 0 => (usize::from(height.0), usize::from(width.0)),
        _ => (24, 80),
    }
}

/// Prints an error and how to fix it.
pub fn print_error(message: &str, help: Option<&str>) {
    print_labelled(anstyle::AnsiColor::BrightRed, "error", message);
    if let Some(help) = help {
        print_labelled(anstyle::AnsiColor::BrightCyan, "help", help);
    }
}

/// Says what went wrong, and returns the exit code for it.
#[must_use]
pub fn report_failure(message: &str, help: Option<&str>) -> u8 {
    print_error(message, help);
    exit::FAILED
}

/// Says why nothing starts, and returns the exit code for it.
#[must_use]
pub fn report_not_started(message: &str, help: Option<&str>) -> u8 {
    print_error(message, help);
    exit::NOT_STARTED
}

/// Formats findings for stderr.
pub fn format_message_findings(all: &[Diagnostic], files: &SourceFiles) -> TerminalText {
    layout_findings(all, files, TextOptions { color: true, width: terminal_width() })
}

/// The columns of the terminal.
pub fn terminal_width() -> usize {
    let size = terminal_size::terminal_size_of(stderr()).or_else(terminal_size::terminal_size);
    let width = match size {
        Some((width, _)) => usize::from(width.0),
        None => 120,
    };
    width.clamp(40, 200)
}

/// Whether the user can be prompted.
pub fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && is_terminal()
}
