//! Reads a line from the terminal without showing it. `None`: more lines followed at once, so a text of several lines was
//! pasted.

#[cfg(not(unix))]
pub use other::{has_terminal, read_hidden_line};
#[cfg(unix)]
pub use unix::{has_terminal, read_hidden_line};

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io::{BufRead as _, BufReader, IsTerminal as _};
    use std::os::fd::{AsFd as _, OwnedFd};
    use std::time::Duration;

    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcgetpgrp, tcsetattr};

    /// How long the next line of a pasted text may take to arrive. A person needs longer.
    const NEXT_LINE: Duration = Duration::from_millis(150);

    /// The terminal of this process, even if its input is something else.
    fn terminal() -> std::io::Result<File> {
        let stdin = std::io::stdin();
        if stdin.is_terminal() {
            return Ok(File::from(stdin.as_fd().try_clone_to_owned()?));
        }
        File::open("/dev/tty")
    }

    /// Whether a person at the terminal can be asked: reading it in the background would stop this process.
    pub fn has_terminal() -> bool {
        let own = rustix::process::getpgrp();
        matches!(File::open("/dev/tty"), Ok(terminal) if tcgetpgrp(&terminal) == Ok(own))
    }

    /// Restores the terminal, and drops the input that was not read: a shell would run it as commands.
    struct TerminalModeGuard(OwnedFd, Termios);

    impl Drop for TerminalModeGuard {
        fn drop(&mut self) {
            let _ = tcsetattr(&self.0, OptionalActions::Flush, &self.1);
        }
    }

    /// `ask` shows the question. What was typed before is dropped, and nothing that is typed after it.
    pub fn read_hidden_line(ask: impl FnOnce()) -> std::io::Result<Option<String>> {
        let terminal = terminal()?;
        let before = tcgetattr(&terminal)?;
        let mut hidden = before.clone();
        hidden.local_modes &= !LocalModes::ECHO;
        let restored = TerminalModeGuard(terminal.as_fd().try_clone_to_owned()?, before);
        tcsetattr(&terminal, OptionalActions::Flush, &hidden)?;
        ask();
        let mut line = String::new();
        let mut reader = BufReader::new(&terminal);
        reader.read_line(&mut line)?;
        // Without line mode, a last line that has no end counts as well.
        let mut bare = hidden;
        bare.local_modes &= !LocalModes::ICANON;
        tcsetattr(&terminal, OptionalActions::Now, &bare)?;
        std::thread::sleep(NEXT_LINE);
        let more = !reader.buffer().is_empty() || rustix::io::ioctl_fionread(&terminal)? > 0;
        drop(restored);
        crate::output::print_line("");
        Ok(if more { None } else { Some(line.trim_end_matches(['\r', '\n']).to_owned()) })
    }
}

#[cfg(not(unix))]
mod other {
    pub fn has_terminal() -> bool {
        false
    }

    pub fn read_hidden_line(ask: impl FnOnce()) -> std::io::Result<Option<String>> {
        ask();
        #[allow(clippy::disallowed_methods, reason = "reads a line")]
        console::Term::stderr().read_secure_line().map(Some)
    }
}
