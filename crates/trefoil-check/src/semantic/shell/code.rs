//! The arguments of a program that it reads as code.

use trefoil_shell::parse_script;

use super::interpreters::{CodeInterpreter, OperandMeaning};
use super::value_uses::{ShellUseKind, ShellValueFlow};
use super::words::{ValueNames, WordValues};

/// What an option means for the arguments of an interpreter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CodeOption {
    /// A switch.
    Switch,
    /// It has a value, which is data.
    Data,
    /// Its value is code.
    Code,
    /// Its value names a file or module with code.
    File,
}

/// A call of an interpreter.
struct CodeCall<'w> {
    program: &'w str,
    interpreter: &'w CodeInterpreter,
    input: &'w ValueNames,
}

impl ShellValueFlow<'_> {
    /// Follows values into the code of an interpreter.
    pub(super) fn follow_interpreter(
        &mut self,
        program: &str,
        interpreter: &CodeInterpreter,
        operands: &[WordValues],
        input: &ValueNames,
    ) {
        let call = CodeCall { program, interpreter, input };
        if !self.follow_arguments(&call, operands) && interpreter.input {
            self.record_use(input.clone(), &ShellUseKind::Code(program.to_owned()));
        }
    }

    /// Reads the arguments of an interpreter; returns whether one of them was its code.
    fn follow_arguments(&mut self, call: &CodeCall<'_>, operands: &[WordValues]) -> bool {
        let interpreter = call.interpreter;
        let mut has_code = false;
        let mut has_ended = false;
        // Whether the first argument after the options is code.
        let mut is_switched = false;
        let mut count = 0;
        let mut rest = operands.iter();
        while let Some(word) = rest.next() {
            if !has_ended && word.is_written("--") {
                has_ended = true;
                continue;
            }
            let is_plus = interpreter.has_code_switch() && word.lead.starts_with('+') && word.lead.len() > 1;
            if !has_ended && (word.is_option() || is_plus) {
                if interpreter.has_code_switch() && !word.lead.starts_with("--") {
                    // An interactive shell reads the file that this variable names.
                    if word.lead.contains('i') {
                        self.record_use(self.variable_values("ENV"), &ShellUseKind::Setting("ENV".to_owned()));
                    }
                    is_switched |= !is_plus && word.lead.contains('c');
                    // `-s`: all arguments belong to the script, which is the input.
                    if !is_switched && word.lead.contains('s') {
                        return false;
                    }
                }
                let (option, is_attached) = interpreter.read_option(word);
                let value = match option {
                    CodeOption::Switch => continue,
                    _ if is_attached => Some(word),
                    _ => rest.next(),
                };
                match (option, value) {
                    (CodeOption::Code, Some(value)) => self.follow_code(call, value, &[]),
                    (CodeOption::File, Some(value)) => self.follow_code_file(call, value),
                    _ => continue,
                }
                has_code = true;
                // `python -m NAME`: the rest are its arguments.
                if interpreter.operands == OperandMeaning::File && option == CodeOption::File {
                    return true;
                }
                continue;
            }
            count += 1;
            match interpreter.operands {
                _ if is_switched => {
                    self.follow_code(call, word, rest.as_slice());
                    return true;
                }
                OperandMeaning::File if has_code => return true,
                OperandMeaning::File if word.is_written("-") || word.is_written("/dev/stdin") => return false,
                OperandMeaning::File => {
                    self.follow_code_file(call, word);
                    return true;
                }
                OperandMeaning::Code if !has_code => {
                    self.follow_code(call, word, &[]);
                    has_code = true;
                }
                OperandMeaning::CodeAfter(skipped) if count > skipped => {
                    self.follow_code(call, word, &[]);
                    has_code = true;
                }
                // `deno run FILE`
                OperandMeaning::CodeAfter(_) if call.program == "deno" && !word.is_written("eval") => return true,
                OperandMeaning::Data | OperandMeaning::Code | OperandMeaning::CodeAfter(_) => {}
            }
        }
        has_code
    }

    fn follow_code(&mut self, call: &CodeCall<'_>, code: &WordValues, arguments: &[WordValues]) {
        self.record_use(code.value_names(), &ShellUseKind::Code(call.program.to_owned()));
        let Some(script) = code.whole.as_deref().filter(|_| call.interpreter.shell) else { return };
        // An inner shell has its own variables and parameters.
        let outer = self.variables.clone();
        let mut all = ValueNames::new();
        for number in 0..10 {
            let names = arguments.get(number).map(WordValues::value_names).unwrap_or_default();
            if number > 0 {
                all.extend(names.iter().cloned());
            }
            self.variables.insert(number.to_string(), names);
        }
        self.variables.insert("@".to_owned(), all.clone());
        self.variables.insert("*".to_owned(), all);
        self.follow_commands(&parse_script(script, &[]).commands, call.input);
        self.variables = outer;
    }

    fn follow_code_file(&mut self, call: &CodeCall<'_>, file: &WordValues) {
        if file.is_local() {
            self.record_use(self.folder.clone(), &ShellUseKind::Program);
        }
        // `source` reads it into the current shell.
        if matches!(call.program, "source" | ".") {
            self.record_use(file.value_names(), &ShellUseKind::Code(call.program.to_owned()));
        } else {
            self.record_use(file.names_after(""), &ShellUseKind::Program);
        }
    }
}

impl CodeInterpreter {
    /// The meaning of an option, and whether its value is attached to it.
    fn read_option(&self, word: &WordValues) -> (CodeOption, bool) {
        let (name, is_attached) = word.lead.split_once('=').map_or((&*word.lead, false), |(name, _)| (name, true));
        if self.long.contains(&name) {
            return (CodeOption::Code, is_attached);
        }
        if name.starts_with("--") {
            return (CodeOption::Switch, false);
        }
        let letters = word.lead.trim_start_matches(['-', '+']);
        for (at, letter) in letters.char_indices() {
            let option = if self.code.contains(letter) && !self.has_code_switch() {
                CodeOption::Code
            } else if self.file.contains(letter) {
                CodeOption::File
            } else if self.takes.contains(letter) {
                CodeOption::Data
            } else {
                continue;
            };
            // `node -pe CODE`
            let behind = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            let is_last = behind.chars().all(|c| self.code.contains(c)) && word.whole.is_some();
            return (option, !is_last);
        }
        (CodeOption::Switch, false)
    }
}
