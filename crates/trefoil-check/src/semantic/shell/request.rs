//! Requests of `curl` and `wget`: values that determine the host, and values in headers.

use super::options::{is_switch, value_letters};
use super::value_uses::{ShellUseKind, ShellValueFlow};
use super::words::WordValues;

impl ShellValueFlow<'_> {
    pub(super) fn follow_request(&mut self, program: &str, operands: &[WordValues]) {
        let takes = value_letters(program, "").unwrap_or_default();
        let mut rest = operands.iter();
        while let Some(word) = rest.next() {
            let lead = word.lead.as_str();
            if lead == "--" && word.whole.is_some() {
                continue;
            }
            if lead.len() < 2 || !lead.starts_with('-') {
                self.address(word, "");
                continue;
            }
            let (name, attached) = lead.split_once('=').map_or((lead, false), |(name, _)| (name, true));
            let (name, value) = if lead.starts_with("--") {
                if attached {
                    (name, Some(word))
                } else if is_switch(program, name) {
                    (name, None)
                } else {
                    (name, rest.next())
                }
            } else {
                let letters = lead.trim_start_matches('-');
                match letters.char_indices().find(|(_, c)| takes.contains(*c)) {
                    Some((at, c)) => {
                        let last = at + c.len_utf8() == letters.len() && word.whole.is_some();
                        let name = lead.get(at + 1..at + 2).unwrap_or_default();
                        (name, if last { rest.next() } else { Some(word) })
                    }
                    None => ("", None),
                }
            };
            let Some(value) = value else { continue };
            let curl = program == "curl";
            match name {
                "H" | "A" if curl => self.record_use(value.value_names(), &ShellUseKind::Header),
                "--header" | "--user-agent" => self.record_use(value.value_names(), &ShellUseKind::Header),
                "x" if curl => self.address(value, ""),
                "--url" | "--proxy" => self.address(value, if attached { lead_option(lead) } else { "" }),
                _ => {}
            }
        }
    }

    /// Values that determine the host: those before the first slash after `://`.
    fn address(&mut self, word: &WordValues, option: &str) {
        for (before, names, _) in &word.values {
            let before = before.strip_prefix(option).unwrap_or(before);
            let host = before.split_once("://").map_or(before, |(_, rest)| rest);
            if host.contains(['/', '?', '#']) {
                return;
            }
            self.record_use(names.clone(), &ShellUseKind::Host);
        }
    }
}

fn lead_option(lead: &str) -> &str {
    lead.find('=').and_then(|at| lead.get(..=at)).unwrap_or_default()
}
