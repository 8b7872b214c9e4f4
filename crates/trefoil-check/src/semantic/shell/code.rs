//! The words of a program that it reads as code.

use std::collections::BTreeMap;

use trefoil_shell::read;

use super::awk;
use super::languages::{Language, Operands};
use super::options::last_takes;
use super::uses::{Follow, How, file};
use super::words::{DESCRIPTOR, Names, Seen};

/// Names of the input, where a file is asked for.
fn is_input(name: &str) -> bool {
    matches!(name, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

impl Follow<'_> {
    pub(super) fn language(&mut self, program: &str, language: &Language, operands: &[Seen], input: &Names) {
        let mut given = false;
        let mut switched = false;
        let mut count = 0;
        let mut ended = false;
        // What its variables hold, and its code that is written out.
        let mut told = input.clone();
        let mut written = Vec::new();
        let mut rest = operands.iter();
        while let Some(word) = rest.next() {
            let lead = word.lead.as_str();
            let plain = word.whole.is_some();
            if !ended && lead == "--" && plain {
                ended = true;
            } else if !ended && language.switched && lead.len() > 1 && lead.starts_with('+') {
                if plain && last_takes(lead, language.takes) {
                    rest.next();
                }
            } else if language.plus && lead.starts_with('+') {
                self.code(program, language, word, &[], input);
            } else if !ended && lead.len() > 1 && lead.starts_with('-') {
                let (name, attached) = lead.split_once('=').map_or((lead, false), |(name, _)| (name, true));
                let takes_code = language.long.contains(&name);
                if takes_code || matches!(name, "--file" | "--makefile") {
                    given = true;
                    match if attached { Some(word) } else { rest.next() } {
                        Some(code) if takes_code => self.code(program, language, code, &[], input),
                        Some(named) => self.file_of_code(program, named, input),
                        None => {}
                    }
                    continue;
                }
                if lead.starts_with("--") {
                    if language.long_takes.contains(&lead) {
                        rest.next();
                    }
                    continue;
                }
                let letters = lead.trim_start_matches('-');
                if language.switched {
                    switched |= letters.contains(|c| language.code.contains(c));
                    // `-s`: all words are the script's.
                    if !switched && letters.contains('s') {
                        break;
                    }
                    if plain && letters.contains(|c| language.takes.contains(c)) {
                        rest.next();
                    }
                    continue;
                }
                let setting = language.settings.map(|s| s.letter);
                let found = letters.char_indices().find(|(_, c)| {
                    [language.code, language.file, language.takes].iter().any(|all| all.contains(*c))
                        || setting == Some(*c)
                });
                let Some((at, letter)) = found else { continue };
                // `node -pe CODE`
                let behind = letters.get(at + 1..).unwrap_or_default().trim_matches(|c| language.code.contains(c));
                let value = if behind.is_empty() && plain { rest.next() } else { Some(word) };
                let Some(value) = value else { break };
                if setting == Some(letter) {
                    self.setting(program, language, value, count == 0);
                } else if language.code.contains(letter) {
                    given = true;
                    written.extend(value.whole.clone());
                    self.code(program, language, value, &[], input);
                } else if language.file.contains(letter) {
                    given = true;
                    self.file_of_code(program, value, input);
                    if letter == 'm' {
                        break;
                    }
                } else if language.assigns.contains(letter) {
                    told.extend(value.names());
                }
            } else if !ended && lead == "-" && plain && language.input {
                if language.operands == Operands::File {
                    break;
                }
            } else {
                count += 1;
                match language.operands {
                    _ if switched => {
                        let arguments: Vec<Seen> = rest.cloned().collect();
                        self.code(program, language, word, &arguments, input);
                        given = true;
                        break;
                    }
                    Operands::Program(own) if count > own => break,
                    Operands::File if given => break,
                    Operands::File => {
                        self.file_of_code(program, word, input);
                        given = true;
                        break;
                    }
                    Operands::Code if !given => {
                        given = true;
                        written.extend(word.whole.clone());
                        self.code(program, language, word, &[], input);
                    }
                    Operands::Rest(skip) if count > skip => {
                        given = true;
                        self.code(program, language, word, &[], input);
                        self.elsewhere(word, input);
                    }
                    _ if !language.assigns.is_empty() && word.assigns().is_some() => told.extend(word.names()),
                    _ => {}
                }
            }
        }
        if !language.assigns.is_empty() {
            self.awk(program, &written, told);
        }
        if language.input && !given {
            self.note(input.clone(), &How::Code(program.to_owned()));
        }
    }

    /// Values that a program of `awk` runs.
    fn awk(&mut self, program: &str, written: &[String], mut told: Names) {
        for code in written {
            let held = self.variables.iter().filter(|(name, _)| awk::reads(code, name));
            told.extend(held.flat_map(|(_, names)| names.clone()));
            let names = code.split('"').filter(|name| awk::reads(code, name) && (self.known)(name));
            told.extend(names.map(str::to_owned));
            if awk::runs(code) {
                self.note(told.clone(), &How::Code(program.to_owned()));
            }
            for command in awk::prints_to(code) {
                self.all(&read(&command, &[]).commands, &told);
            }
        }
    }

    /// `KEY=VALUE`, where the key may say that the value is code; `sure`: it is no option of a command of the program.
    fn setting(&mut self, program: &str, language: &Language, word: &Seen, sure: bool) {
        for (before, names, _) in &word.values {
            let runs = |key: &str| language.settings.is_some_and(|s| s.runs(key));
            if before.split_once(['=', ' ']).map_or(sure, |(key, _)| runs(key)) {
                self.note(names.clone(), &How::Code(program.to_owned()));
            }
        }
    }

    /// Code that a shell on another machine runs: it has no variables of this one, but reads the same input.
    fn elsewhere(&mut self, word: &Seen, input: &Names) {
        if let Some(script) = word.whole.as_deref().filter(|_| !input.is_empty()) {
            let mut there = Follow::new(&|_| false, BTreeMap::new());
            there.all(&read(script, &[]).commands, input);
            self.uses.extend(there.uses);
        }
    }

    fn code(&mut self, program: &str, language: &Language, word: &Seen, arguments: &[Seen], input: &Names) {
        self.note(word.names(), &How::Code(program.to_owned()));
        // What an inner shell reads has variables of its own; the parameters are not those of the script.
        if let (true, Some(script)) = (language.shell, &word.whole) {
            let outer = self.variables.clone();
            let many = arguments.last().filter(|w| w.many);
            let given = |n: usize| arguments.get(n).or(many).map(Seen::names).unwrap_or_default();
            self.variables.extend((0..10).map(|n| (n.to_string(), given(n))));
            let skipped = if arguments.len() == 1 && many.is_some() { 0 } else { 1 };
            let all: Names = arguments.iter().skip(skipped).flat_map(Seen::names).collect();
            self.variables.extend(["@", "*"].map(|name| (name.to_owned(), all.clone())));
            self.all(&read(script, &[]).commands, input);
            self.variables = outer;
        }
    }

    fn file_of_code(&mut self, program: &str, word: &Seen, input: &Names) {
        let how = How::Code(program.to_owned());
        if word.whole.as_deref().is_some_and(is_input) {
            self.note(input.clone(), &how);
        }
        if let Some(held) = word.key.as_deref().and_then(|name| self.files.get(file(name))) {
            self.note(held.clone(), &how);
        }
        // `source` reads it into the very shell, and `<( )` is no name but the text.
        let names = word.names();
        let whole = word.lead.is_empty();
        match program {
            "source" | "." => self.note(names, &how),
            _ if word.lead == DESCRIPTOR => self.note(names, &how),
            _ if whole => self.note(names, &How::Program),
            _ => {}
        }
    }
}
