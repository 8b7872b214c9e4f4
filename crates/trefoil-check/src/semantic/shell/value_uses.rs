//! Follows values through a script: through variables and pipes, into the arguments of programs.

use std::collections::{BTreeMap, BTreeSet};

use trefoil_shell::{QuoteStyle, ShellCommand, ShellRedirect, ShellWord, ShellWordPart, parse_script};

use super::interpreters::{CodeInterpreter, decides_code, runs_its_folder, starts_another};
use super::words::{InsertedNames, VALUE, ValueNames, WordValues, flat_text, flatten_parts};

/// The use of a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShellUseKind {
    /// This program reads it as code.
    Code(String),
    /// The shell evaluates it as arithmetic; subscripts in it can run commands.
    Arithmetic,
    /// It is the value of this variable, which determines what code programs run.
    Setting(String),
    /// It names the program, or a file with code.
    Program,
    /// It names a file that is written.
    File,
    /// It is split into words and expanded as patterns.
    Bare,
    /// It determines the host of a request.
    Host,
}

/// A value and its use.
pub type ShellValueUse = (String, ShellUseKind);

pub(super) struct ShellValueFlow<'k> {
    known: &'k dyn Fn(&str) -> bool,
    /// The values of variables that the script sets.
    pub(super) variables: BTreeMap<String, ValueNames>,
    /// Variables with a literal text.
    constants: BTreeMap<String, String>,
    /// The previous values of variables that are set only for the current command.
    outer: Vec<(String, Option<ValueNames>)>,
    /// The values that determine the current folder.
    pub(super) folder: ValueNames,
    uses: BTreeSet<ShellValueUse>,
}

/// The name of the value that is the working folder of a script.
pub const FOLDER: &str = "./";

/// The uses of the values of variables and parameters in `known`. `constants`: variables that are set to a literal
/// text.
pub fn find_uses(
    script: &str,
    known: &dyn Fn(&str) -> bool,
    constants: BTreeMap<String, String>,
) -> BTreeSet<ShellValueUse> {
    let mut flow = ShellValueFlow {
        known,
        variables: BTreeMap::new(),
        constants,
        outer: Vec::new(),
        folder: ValueNames::new(),
        uses: BTreeSet::new(),
    };
    if known(FOLDER) {
        flow.folder.insert(FOLDER.to_owned());
    }
    flow.follow_commands(&parse_script(script, &[]).commands, &ValueNames::new());
    flow.uses
}

impl ShellValueFlow<'_> {
    /// The output of the last command of several, all of which can read this input.
    pub(super) fn follow_commands(&mut self, commands: &[ShellCommand], input: &ValueNames) -> ValueNames {
        let mut printed = ValueNames::new();
        let mut piped = false;
        for command in commands {
            let input = if piped { std::mem::take(&mut printed) } else { input.clone() };
            printed = self.follow_command(command, input);
            piped = command.piped;
        }
        printed
    }

    /// Records the uses of values in a command; returns the values in its output.
    fn follow_command(&mut self, command: &ShellCommand, mut input: ValueNames) -> ValueNames {
        let mut is_written = false;
        for (kind, word) in &command.redirects {
            let target = self.word_values(word);
            match kind {
                ShellRedirect::Text => input.extend(target.value_names()),
                ShellRedirect::Write => {
                    is_written = true;
                    self.record_use(target.names_after(""), &ShellUseKind::File);
                }
                ShellRedirect::Read | ShellRedirect::Errors => {}
            }
        }
        let mut all = Vec::new();
        for word in &command.words {
            for word in self.expanded_words(word) {
                all.push(self.word_values(&word));
            }
        }
        let outer = self.outer.len();
        let mut words = all.as_slice();
        while let [first, rest @ ..] = words
            && (first.is_keyword() || first.assigned_name().is_some())
        {
            self.follow_assignment(first, rest.iter().all(|word| word.assigned_name().is_some()));
            words = rest;
        }
        let printed = match words {
            [program, operands @ ..] => self.follow_call(program, operands, &input),
            [] => input,
        };
        while self.outer.len() > outer
            && let Some((name, previous)) = self.outer.pop()
        {
            match previous {
                Some(previous) => self.variables.insert(name, previous),
                None => self.variables.remove(&name),
            };
        }
        if is_written { ValueNames::new() } else { printed }
    }

    /// The values in a word. Records the uses of those that are evaluated in it.
    fn word_values(&mut self, word: &ShellWord) -> WordValues {
        let mut seen = WordValues { whole: flat_text(word), ..WordValues::default() };
        for part in flatten_parts(word) {
            let (names, splits) = match part {
                ShellWordPart::Text(text, _) => {
                    seen.text.push_str(text);
                    continue;
                }
                ShellWordPart::Variable(name, quoted) => (self.variable_values(name), *quoted == QuoteStyle::Not),
                ShellWordPart::Commands(_, commands) => (self.follow_commands(commands, &ValueNames::new()), false),
                ShellWordPart::Arithmetic(inner) => {
                    let inner = self.word_values(inner);
                    self.record_arithmetic(&inner);
                    (ValueNames::new(), false)
                }
                ShellWordPart::Subscript(_, inner) => {
                    self.word_values(inner);
                    (ValueNames::new(), false)
                }
                _ => (ValueNames::new(), false),
            };
            if seen.values.is_empty() {
                seen.lead.clone_from(&seen.text);
            }
            seen.values.push(InsertedNames { before: seen.text.clone(), names, splits });
            seen.text.push(VALUE);
        }
        if seen.values.is_empty() {
            seen.lead.clone_from(&seen.text);
        }
        seen
    }

    /// The values in a variable.
    pub(super) fn variable_values(&self, name: &str) -> ValueNames {
        match self.variables.get(name) {
            Some(names) => names.clone(),
            None if (self.known)(name) => ValueNames::from([name.to_owned()]),
            None => ValueNames::new(),
        }
    }

    pub(super) fn record_use(&mut self, names: ValueNames, kind: &ShellUseKind) {
        for name in names {
            self.uses.insert((name, kind.clone()));
        }
    }

    /// A word that the shell evaluates as arithmetic: values, and variables by their bare names.
    fn record_arithmetic(&mut self, word: &WordValues) {
        let mut names = word.value_names();
        for name in word.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            if !name.starts_with(|c: char| c.is_ascii_digit()) {
                names.extend(self.variable_values(name));
            }
        }
        self.record_use(names, &ShellUseKind::Arithmetic);
    }

    /// A word with literal variables expanded; such a text may become several words.
    fn expanded_words(&self, word: &ShellWord) -> Vec<ShellWord> {
        let mut parts = Vec::new();
        for part in flatten_parts(word) {
            match part {
                ShellWordPart::Variable(name, quoted) if let Some(text) = self.constants.get(name) => {
                    parts.push(ShellWordPart::Text(text.clone(), *quoted));
                }
                part => parts.push(part.clone()),
            }
        }
        match (word.as_slice(), parts.as_slice()) {
            ([ShellWordPart::Variable(..)], [ShellWordPart::Text(text, QuoteStyle::Not)]) => {
                text.split_whitespace().map(|w| vec![ShellWordPart::Text(w.to_owned(), QuoteStyle::Not)]).collect()
            }
            _ => vec![parts],
        }
    }

    /// Records that a variable is set, permanently or for one command.
    fn follow_assignment(&mut self, word: &WordValues, stays: bool) {
        let Some(name) = word.assigned_name() else { return };
        if decides_code(name) {
            self.record_use(word.value_names(), &ShellUseKind::Setting(name.to_owned()));
        }
        let previous = self.variables.insert(name.to_owned(), word.value_names());
        if !stays {
            self.outer.push((name.to_owned(), previous));
        }
        match word.whole.as_deref().and_then(|whole| whole.split_once('=')) {
            Some((_, value)) if stays => {
                self.constants.insert(name.to_owned(), value.to_owned());
            }
            _ => {
                self.constants.remove(name);
            }
        }
    }

    /// Follows values into a call of a program or builtin; returns the values in its output.
    fn follow_call(&mut self, program: &WordValues, operands: &[WordValues], input: &ValueNames) -> ValueNames {
        self.follow_program_word(program);
        let name = program.program_name();
        match name {
            "export" | "local" | "readonly" | "declare" | "typeset" => {
                operands.iter().for_each(|word| self.follow_assignment(word, true));
                return ValueNames::new();
            }
            "read" => {
                for variable in operands.iter().filter_map(|word| word.whole.clone()) {
                    self.variables.insert(variable, input.clone());
                }
                return ValueNames::new();
            }
            "for" => {
                if let Some(variable) = operands.first().and_then(|word| word.whole.clone()) {
                    let names = operands.iter().flat_map(WordValues::value_names).collect();
                    self.variables.insert(variable, names);
                }
            }
            "cd" | "pushd" => match operands.iter().find(|word| !word.lead.starts_with('-')) {
                // What follows is still below the same folder.
                Some(folder) if folder.is_local() => {}
                Some(folder) => self.folder = folder.value_names(),
                None => self.folder = ValueNames::new(),
            },
            "dd" => {
                operands.iter().for_each(|word| self.record_use(word.names_after("of="), &ShellUseKind::File));
            }
            "tee" => operands.iter().for_each(|word| self.record_use(word.names_after(""), &ShellUseKind::File)),
            "curl" | "wget" => self.follow_request(name, operands),
            _ => {}
        }
        if !matches!(name, "case" | "[[") {
            for value in operands.iter().flat_map(|word| &word.values).filter(|value| value.splits) {
                self.record_use(value.names.clone(), &ShellUseKind::Bare);
            }
        }
        self.follow_program(program, operands, input);
        printed_values(name, operands, input)
    }

    /// The word that names the program. A placeholder there is reported when the script is made.
    fn follow_program_word(&mut self, program: &WordValues) {
        let Some(value) = program.values.first().filter(|value| value.before.is_empty()) else { return };
        if value.splits {
            self.record_use(value.names.clone(), &ShellUseKind::Code("the shell".to_owned()));
        } else {
            let mut names = value.names.clone();
            names.retain(|name| !name.starts_with(|c: char| c.is_ascii_digit()));
            self.record_use(names, &ShellUseKind::Program);
        }
    }

    /// A program and its arguments.
    fn follow_program(&mut self, program: &WordValues, operands: &[WordValues], input: &ValueNames) {
        let name = program.program_name();
        let is_path = program.is_local() && program.whole.as_deref().is_some_and(|path| path.contains('/'));
        if is_path || runs_its_folder(name) {
            self.record_use(self.folder.clone(), &ShellUseKind::Program);
        }
        if let Some(interpreter) = CodeInterpreter::for_program(name) {
            self.follow_interpreter(name, &interpreter, operands, input);
        }
        match name {
            "find" => {
                let action = |word: &WordValues| matches!(word.whole.as_deref(), Some("-exec" | "-execdir" | "-ok"));
                if let Some(at) = operands.iter().position(action) {
                    self.follow_started_program(operands.get(at + 1..).unwrap_or_default(), input, false);
                }
            }
            _ if starts_another(name) => self.follow_started_program(operands, input, name == "timeout"),
            _ => {}
        }
    }

    /// The program that `env`, `sudo` or `timeout 5` starts. `after_number`: a number is before it.
    fn follow_started_program(&mut self, operands: &[WordValues], input: &ValueNames, mut after_number: bool) {
        // Which options have a value is not known.
        let mut may_be_value = false;
        for (at, word) in operands.iter().enumerate() {
            if word.assigned_name().is_some() {
                self.follow_assignment(word, false);
            } else if word.lead.starts_with('-') {
                may_be_value = !word.is_written("--") && !word.lead.contains('=');
            } else if word.lead.starts_with(|c: char| c.is_ascii_digit()) || after_number && word.whole.is_none() {
                may_be_value = false;
                after_number = false;
            } else {
                let name = word.program_name();
                if !may_be_value || starts_another(name) || CodeInterpreter::for_program(name).is_some() {
                    self.record_use(word.names_after(""), &ShellUseKind::Program);
                    return self.follow_program(word, operands.get(at + 1..).unwrap_or_default(), input);
                }
                may_be_value = false;
            }
        }
    }
}

/// The values in the output of a program.
fn printed_values(program: &str, operands: &[WordValues], input: &ValueNames) -> ValueNames {
    match program {
        "echo" | "printf" => operands.iter().flat_map(WordValues::value_names).collect(),
        "wc" | "md5sum" | "sha1sum" | "sha256sum" | "test" | "[" => ValueNames::new(),
        _ => input.clone(),
    }
}
