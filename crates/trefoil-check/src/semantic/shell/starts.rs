//! The arguments that a program reads as options, and the program that it starts.

use super::options::{Options, Started, last_takes, options, takes_next};
use super::uses::{Follow, How};
use super::words::{Names, Seen};
use super::xargs::is_builtin;

impl Follow<'_> {
    /// Values that a program would read as options if they started with a dash, and values that name the program which
    /// it starts.
    pub(super) fn options(&mut self, program: &str, operands: &[Seen], input: &Names, appends: bool) {
        let Some(reading) = options(program, command_of(program, operands)) else { return };
        let mut ended = false;
        // The preceding arguments may be an option that takes this one.
        let mut wanted = 0_u32;
        let mut count = 0;
        let mut rest = operands;
        while let [word, behind @ ..] = rest {
            rest = behind;
            let whole = word.whole.as_deref();
            let dashed = word.lead.len() > 1 && word.lead.starts_with('-');
            let taken = wanted > 0;
            wanted = wanted.saturating_sub(1);
            match reading {
                Options::Started(Started { operands: own, programs, .. }) if !dashed => {
                    if taken {
                        continue;
                    }
                    if word.assigns().is_some() {
                        self.assignment(word, false);
                        continue;
                    }
                    count += 1;
                    if count >= own + programs {
                        return self.started(program, word, behind, input, appends);
                    }
                    if count > own {
                        self.note(word.first(), &How::Program);
                    }
                }
                Options::Started(Started { takes, long, .. }) => {
                    let takes_one = |w| long.contains(&w) || (!w.starts_with("--") && last_takes(w, takes));
                    wanted = u32::from(whole.is_some_and(takes_one));
                }
                Options::Actions if matches!(whole, Some("-exec" | "-execdir" | "-ok" | "-okdir")) => {
                    if let [inner, arguments @ ..] = behind {
                        self.started(program, inner, arguments, &Names::new(), false);
                    }
                    return;
                }
                _ if whole == Some("--") => {
                    ended = true;
                }
                _ if dashed && !ended => {
                    let letters = if let Options::Anywhere(letters) = reading { letters } else { None };
                    wanted = whole.map_or(0, |w| takes_next(program, w, letters));
                }
                _ => {
                    count += 1;
                    if word.lead.is_empty() && !ended && !taken {
                        self.note(word.first(), &How::Option(program.to_owned()));
                    }
                    if matches!(reading, Options::BeforeOperands) {
                        return;
                    }
                }
            }
        }
    }

    /// The program that another one starts, with its arguments.
    fn started(&mut self, outer: &str, program: &Seen, operands: &[Seen], input: &Names, appends: bool) {
        if program.whole.is_none() && program.lead.is_empty() {
            self.note(program.names(), &How::Program);
        }
        if is_builtin(program.program()) {
            return;
        }
        let mut operands = operands.to_vec();
        if outer == "xargs" && appends {
            operands.push(Seen::appended(input.clone()));
        }
        // Its input is what `xargs` leaves, which is nothing.
        let nothing = Names::new();
        self.runs(program, &operands, if outer == "xargs" { &nothing } else { input }, appends);
    }
}

/// The first argument without a dash: the subcommand of `git` or `docker`.
fn command_of<'w>(program: &str, operands: &'w [Seen]) -> &'w str {
    let mut rest = operands.iter();
    while let Some(word) = rest.next() {
        let whole = word.whole.as_deref().unwrap_or_default();
        match whole {
            "-C" | "-c" | "-n" if matches!(program, "git" | "kubectl") => {
                rest.next();
            }
            _ if whole.starts_with('-') => {}
            _ => return whole,
        }
    }
    ""
}
