//! The arguments that a program reads as options, and the program that it starts.

use super::options::{OptionSyntax, ProgramStarter, last_takes, option_syntax, takes_next};
use super::value_uses::{ShellUseKind, ShellValueFlow};
use super::words::{ValueNames, WordValues};
use super::xargs::is_builtin;

impl ShellValueFlow<'_> {
    /// Values that a program would read as options if they started with a dash, and values that name the program which
    /// it starts.
    pub(super) fn follow_options(&mut self, program: &str, operands: &[WordValues], input: &ValueNames, appends: bool) {
        let Some(reading) = option_syntax(program, command_of(program, operands)) else { return };
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
                OptionSyntax::Started(ProgramStarter { operands: own, programs, .. }) if !dashed => {
                    if taken {
                        continue;
                    }
                    if word.assigned_name().is_some() {
                        self.follow_assignment(word, false);
                        continue;
                    }
                    count += 1;
                    if count >= own + programs {
                        return self.follow_started_program(program, word, behind, input, appends);
                    }
                    if count > own {
                        self.record_use(word.leading_names(), &ShellUseKind::Program);
                    }
                }
                OptionSyntax::Started(ProgramStarter { takes, long, .. }) => {
                    let takes_one = |w| long.contains(&w) || (!w.starts_with("--") && last_takes(w, takes));
                    wanted = u32::from(whole.is_some_and(takes_one));
                }
                OptionSyntax::Actions if matches!(whole, Some("-exec" | "-execdir" | "-ok" | "-okdir")) => {
                    if let [inner, arguments @ ..] = behind {
                        self.follow_started_program(program, inner, arguments, &ValueNames::new(), false);
                    }
                    return;
                }
                _ if whole == Some("--") => {
                    ended = true;
                }
                _ if dashed && !ended => {
                    let letters = if let OptionSyntax::Anywhere(letters) = reading { letters } else { None };
                    wanted = whole.map_or(0, |w| takes_next(program, w, letters));
                }
                _ => {
                    count += 1;
                    if word.lead.is_empty() && !ended && !taken {
                        self.record_use(word.leading_names(), &ShellUseKind::Option(program.to_owned()));
                    }
                    if matches!(reading, OptionSyntax::BeforeOperands) {
                        return;
                    }
                }
            }
        }
    }

    /// The program that another one starts, with its arguments.
    fn follow_started_program(
        &mut self,
        outer: &str,
        program: &WordValues,
        operands: &[WordValues],
        input: &ValueNames,
        appends: bool,
    ) {
        if program.whole.is_none() && program.lead.is_empty() {
            self.record_use(program.value_names(), &ShellUseKind::Program);
        }
        if is_builtin(program.program_name()) {
            return;
        }
        let mut operands = operands.to_vec();
        if outer == "xargs" && appends {
            operands.push(WordValues::from_appended(input.clone()));
        }
        // Its input is what `xargs` leaves, which is nothing.
        let nothing = ValueNames::new();
        self.follow_program(program, &operands, if outer == "xargs" { &nothing } else { input }, appends);
    }
}

/// The first argument without a dash: the subcommand of `git` or `docker`.
fn command_of<'w>(program: &str, operands: &'w [WordValues]) -> &'w str {
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
