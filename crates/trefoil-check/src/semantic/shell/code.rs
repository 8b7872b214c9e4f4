//! The arguments of a program that it reads as code.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use trefoil_shell::parse_script;

use super::awk;
use super::languages::{CodeLanguage, OperandMeaning};
use super::options::last_takes;
use super::value_uses::{ShellUseKind, ShellValueFlow, file_key};
use super::words::{DESCRIPTOR, ValueNames, WordValues};

/// Whether a file name refers to the standard input.
fn is_input(name: &str) -> bool {
    matches!(name, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

/// The state while reading the arguments of a program.
struct CodeArguments<'w> {
    program: &'w str,
    language: &'w CodeLanguage,
    input: &'w ValueNames,
    rest: std::slice::Iter<'w, WordValues>,
    /// Whether code was found.
    given: bool,
    /// Whether the code is the first argument after the options.
    switched: bool,
    /// Whether the options have ended.
    ended: bool,
    /// The number of arguments that are not options.
    count: usize,
    /// The values of its variables.
    told: ValueNames,
    /// Its literal code.
    written: Vec<String>,
}

impl ShellValueFlow<'_> {
    pub(super) fn follow_language(
        &mut self,
        program: &str,
        language: &CodeLanguage,
        operands: &[WordValues],
        input: &ValueNames,
    ) {
        let mut words = CodeArguments {
            program,
            language,
            input,
            rest: operands.iter(),
            given: false,
            switched: false,
            ended: false,
            count: 0,
            told: input.clone(),
            written: Vec::new(),
        };
        while let Some(word) = words.rest.next()
            && self.word(&mut words, word).is_continue()
        {}
        if !language.assigns.is_empty() {
            self.awk(program, &words.written, words.told);
        }
        if language.input && !words.given {
            self.record_use(input.clone(), &ShellUseKind::Code(program.to_owned()));
        }
    }

    /// Reads one argument of a program. `Break`: those after it are data.
    fn word<'w>(&mut self, words: &mut CodeArguments<'w>, word: &'w WordValues) -> ControlFlow<()> {
        let language = words.language;
        let lead = word.lead.as_str();
        let plain = word.whole.is_some();
        let dashed = !words.ended && lead.len() > 1 && lead.starts_with('-');
        if !words.ended && lead == "--" && plain {
            words.ended = true;
        } else if !words.ended && language.switched && lead.len() > 1 && lead.starts_with('+') {
            if plain && last_takes(lead, language.takes) {
                words.rest.next();
            }
        } else if language.plus && lead.starts_with('+') {
            self.code(words.program, language, word, &[], words.input);
        } else if dashed {
            return if self.long_option(words, word) { ControlFlow::Continue(()) } else { self.letters(words, word) };
        } else if !words.ended && lead == "-" && plain && language.input {
            if language.operands == OperandMeaning::File {
                return ControlFlow::Break(());
            }
        } else {
            return self.operand(words, word);
        }
        ControlFlow::Continue(())
    }

    /// Reads a long option; returns whether it was one.
    fn long_option<'w>(&mut self, words: &mut CodeArguments<'w>, word: &'w WordValues) -> bool {
        let lead = word.lead.as_str();
        let (name, attached) = lead.split_once('=').map_or((lead, false), |(name, _)| (name, true));
        let takes_code = words.language.long.contains(&name);
        if takes_code || matches!(name, "--file" | "--makefile" | "--directory") {
            words.given = true;
            match if attached { Some(word) } else { words.rest.next() } {
                Some(code) if takes_code => self.code(words.program, words.language, code, &[], words.input),
                Some(named) => self.file_of_code(words.program, named, words.input),
                None => {}
            }
            return true;
        }
        if lead.starts_with("--") && words.language.long_takes.contains(&lead) {
            words.rest.next();
        }
        lead.starts_with("--")
    }

    /// Reads combined one-letter options.
    fn letters<'w>(&mut self, words: &mut CodeArguments<'w>, word: &'w WordValues) -> ControlFlow<()> {
        let (program, language, input) = (words.program, words.language, words.input);
        let plain = word.whole.is_some();
        let letters = word.lead.trim_start_matches('-');
        if language.switched {
            // An interactive shell reads the file that this variable names.
            if letters.contains('i') {
                self.record_use(self.variable_values("ENV"), &ShellUseKind::Setting("ENV".to_owned()));
            }
            words.switched |= letters.contains(|c| language.code.contains(c));
            // `-s`: all arguments belong to the script.
            if !words.switched && letters.contains('s') {
                return ControlFlow::Break(());
            }
            if plain && letters.contains(|c| language.takes.contains(c)) {
                words.rest.next();
            }
            return ControlFlow::Continue(());
        }
        let setting = language.settings.map(|s| s.letter);
        let found = letters.char_indices().find(|(_, c)| {
            [language.code, language.file, language.takes].iter().any(|all| all.contains(*c)) || setting == Some(*c)
        });
        let Some((at, letter)) = found else { return ControlFlow::Continue(()) };
        // `vim -es` is silent; only `vim -s FILE` reads a file.
        let option_follows = words.rest.as_slice().first().is_some_and(|next| next.lead.starts_with(['-', '+']));
        if language.plus && letter == 's' && (letters.contains(['e', 'E']) || option_follows) {
            return ControlFlow::Continue(());
        }
        // `node -pe CODE`
        let behind = letters.get(at + 1..).unwrap_or_default().trim_matches(|c| language.code.contains(c));
        let value = if behind.is_empty() && plain { words.rest.next() } else { Some(word) };
        let Some(value) = value else { return ControlFlow::Break(()) };
        if setting == Some(letter) {
            self.setting(program, language, value, words.count == 0);
        } else if language.code.contains(letter) {
            words.given = true;
            words.written.extend(value.whole.clone());
            self.code(program, language, value, &[], input);
        } else if language.file.contains(letter) {
            words.given = true;
            self.file_of_code(program, value, input);
            if letter == 'm' {
                return ControlFlow::Break(());
            }
        } else if language.assigns.contains(letter) {
            words.told.extend(value.value_names());
        }
        ControlFlow::Continue(())
    }

    /// Reads an argument that is not an option.
    fn operand<'w>(&mut self, words: &mut CodeArguments<'w>, word: &'w WordValues) -> ControlFlow<()> {
        let (program, language, input) = (words.program, words.language, words.input);
        words.count += 1;
        match language.operands {
            _ if words.switched => {
                let arguments: Vec<WordValues> = words.rest.clone().cloned().collect();
                self.code(program, language, word, &arguments, input);
                words.given = true;
                return ControlFlow::Break(());
            }
            OperandMeaning::Program(own) if words.count > own => return ControlFlow::Break(()),
            OperandMeaning::File => {
                if !words.given {
                    self.file_of_code(program, word, input);
                    words.given = true;
                }
                return ControlFlow::Break(());
            }
            OperandMeaning::Code if !words.given => {
                words.given = true;
                words.written.extend(word.whole.clone());
                self.code(program, language, word, &[], input);
            }
            OperandMeaning::Rest(skip) if words.count > skip => {
                words.given = true;
                self.code(program, language, word, &[], input);
                self.elsewhere(word, input);
            }
            OperandMeaning::After(command) if words.count == 1 => {
                let said = word.whole.as_deref().is_some_and(|word| word.eq_ignore_ascii_case(command));
                return if said { ControlFlow::Continue(()) } else { ControlFlow::Break(()) };
            }
            OperandMeaning::After(_) => self.code(program, language, word, &[], input),
            _ if !language.assigns.is_empty() && word.assigned_name().is_some() => {
                words.told.extend(word.value_names())
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    /// Values that an `awk` program runs.
    fn awk(&mut self, program: &str, written: &[String], mut told: ValueNames) {
        for code in written {
            let held = self.variables.iter().filter(|(name, _)| awk::reads_variable(code, name));
            told.extend(held.flat_map(|(_, names)| names.clone()));
            let names = code.split('"').filter(|name| awk::reads_variable(code, name) && (self.known)(name));
            told.extend(names.map(str::to_owned));
            if awk::runs_computed_commands(code) {
                self.record_use(told.clone(), &ShellUseKind::Code(program.to_owned()));
            }
            for command in awk::prints_to(code) {
                self.follow_commands(&parse_script(&command, &[]).commands, &told);
            }
        }
    }

    /// `KEY=VALUE`, where the key may mean that the value is code; `sure`: it is not an option of a subcommand.
    fn setting(&mut self, program: &str, language: &CodeLanguage, word: &WordValues, sure: bool) {
        for (before, names, _) in &word.values {
            let runs = |key: &str| language.settings.is_some_and(|s| s.is_code_key(key));
            if before.split_once(['=', ' ']).map_or(sure, |(key, _)| runs(key)) {
                self.record_use(names.clone(), &ShellUseKind::Code(program.to_owned()));
            }
        }
    }

    /// Code that a shell on another machine runs. It does not have the local variables, but reads the same input.
    fn elsewhere(&mut self, word: &WordValues, input: &ValueNames) {
        if let Some(script) = word.whole.as_deref().filter(|_| !input.is_empty()) {
            let mut there = ShellValueFlow::new(&|_| false, BTreeMap::new());
            there.follow_commands(&parse_script(script, &[]).commands, input);
            self.uses.extend(there.uses);
        }
    }

    fn code(
        &mut self,
        program: &str,
        language: &CodeLanguage,
        word: &WordValues,
        arguments: &[WordValues],
        input: &ValueNames,
    ) {
        self.record_use(word.value_names(), &ShellUseKind::Code(program.to_owned()));
        // An inner shell has its own variables and parameters.
        if let (true, Some(script)) = (language.shell, &word.whole) {
            let outer = self.variables.clone();
            let many = arguments.last().filter(|w| w.many);
            let given = |n: usize| arguments.get(n).or(many).map(WordValues::value_names).unwrap_or_default();
            self.variables.extend((0..10).map(|n| (n.to_string(), given(n))));
            let skipped = if arguments.len() == 1 && many.is_some() { 0 } else { 1 };
            let all: ValueNames = arguments.iter().skip(skipped).flat_map(WordValues::value_names).collect();
            self.variables.extend(["@", "*"].map(|name| (name.to_owned(), all.clone())));
            self.follow_commands(&parse_script(script, &[]).commands, input);
            self.variables = outer;
        }
    }

    fn file_of_code(&mut self, program: &str, word: &WordValues, input: &ValueNames) {
        let how = ShellUseKind::Code(program.to_owned());
        if word.whole.as_deref().is_some_and(is_input) {
            self.record_use(input.clone(), &how);
        }
        if let Some(held) = word.key.as_deref().and_then(|name| self.files.get(file_key(name))) {
            self.record_use(held.clone(), &how);
        }
        if word.is_local() {
            self.record_use(self.folder.clone(), &ShellUseKind::Program);
        }
        // `source` reads it into the current shell, and `<( )` is the text itself rather than a name.
        let names = word.value_names();
        let whole = word.lead.is_empty();
        match program {
            "source" | "." => self.record_use(names, &how),
            _ if word.lead == DESCRIPTOR => self.record_use(names, &how),
            _ if whole => self.record_use(names, &ShellUseKind::Program),
            _ => {}
        }
    }
}
