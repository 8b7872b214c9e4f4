//! Values that determine the host of a request by `curl` or `wget`.

use super::value_uses::{ShellUseKind, ShellValueFlow};
use super::words::WordValues;

impl ShellValueFlow<'_> {
    pub(super) fn follow_request(&mut self, program: &str, operands: &[WordValues]) {
        let mut previous = "";
        for word in operands {
            // `--url=`
            let option = match word.lead.split_inclusive('=').next() {
                Some(option) if word.is_option() && option.ends_with('=') => option,
                _ => "",
            };
            let is_address = match option {
                "--url=" => true,
                _ if word.is_option() => false,
                _ => previous == "--url" || !takes_next(program, previous),
            };
            if is_address {
                self.record_host(word, option);
            }
            previous = word.whole.as_deref().unwrap_or_default();
        }
    }

    /// Values that determine the host: those before the first slash after `://`.
    fn record_host(&mut self, address: &WordValues, option: &str) {
        for value in &address.values {
            let before = value.before.strip_prefix(option).unwrap_or(&value.before);
            let host = before.split_once("://").map_or(before, |(_, rest)| rest);
            if host.contains(['/', '?', '#']) {
                return;
            }
            self.record_use(value.names.clone(), &ShellUseKind::Host);
        }
    }
}

/// Whether an argument is an option that takes the next argument.
fn takes_next(program: &str, argument: &str) -> bool {
    let letters = if program == "curl" { "AbcCdDeEFhHKmoPQrtTuUwxXyYz" } else { "oaeiBtOTwQPUlADIXR" };
    match argument.strip_prefix('-') {
        None | Some("" | "-") => false,
        Some(long) if long.starts_with('-') => {
            let is_switch = matches!(
                long,
                "-compressed"
                    | "-fail"
                    | "-get"
                    | "-head"
                    | "-include"
                    | "-insecure"
                    | "-location"
                    | "-quiet"
                    | "-remote-name"
                    | "-show-error"
                    | "-silent"
                    | "-spider"
                    | "-verbose"
            );
            !is_switch && !long.contains('=')
        }
        // A value that is attached to its letter ends the letters.
        Some(short) => short.find(|c| letters.contains(c)).is_some_and(|at| at + 1 == short.len()),
    }
}
