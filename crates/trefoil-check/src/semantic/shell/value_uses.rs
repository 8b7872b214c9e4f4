//! Follows values through a script: into arguments of programs, and through variables, pipes and files.

use std::collections::{BTreeMap, BTreeSet};

use trefoil_shell::{
    CommandSubstitution, QuoteStyle, ShellCommand, ShellRedirect, ShellWord, ShellWordPart, parse_script,
};

use super::autorun_files::run_later;
use super::languages::{UNNAMED, decides_code, find_language, runs_its_folder};
use super::options::{is_known, starts_another};
use super::variable_names;
use super::words::{DESCRIPTOR, VALUE, ValueNames, WordValues, file_name_key, flat_text, flatten_parts, guess_program};
use super::xargs::{fill_arguments, is_builtin};

/// The use of a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShellUseKind {
    /// This program reads it as code.
    Code(String),
    /// The shell evaluates it as arithmetic; subscripts in it can run commands.
    Arithmetic,
    /// The shell uses it as the name of a variable, which may be any variable; bash evaluates its subscript.
    Name,
    /// It is the value of this variable, which determines what code programs run.
    Setting(String),
    /// It names the program, or a file with code.
    Program,
    /// This program reads it as an option if it starts like one.
    Option(String),
    /// It is written to this file, which is run later.
    Later(String),
    /// It names a file that is written.
    File,
    /// It is split into words and expanded as patterns.
    Bare,
    /// It determines the host of a request.
    Host,
    /// It becomes part of a request's header.
    Header,
}

/// A value and its use.
pub type ShellValueUse = (String, ShellUseKind);

pub(super) struct ShellValueFlow<'k> {
    pub(super) known: &'k dyn Fn(&str) -> bool,
    /// The values of variables that the script sets.
    pub(super) variables: BTreeMap<String, ValueNames>,
    /// Variables with a literal text.
    constants: BTreeMap<String, String>,
    /// The previous values of variables that are set only for the current command.
    outer: Vec<(String, Option<ValueNames>)>,
    /// Variables that are associative arrays.
    maps: BTreeSet<String>,
    /// The values in files that the script writes.
    pub(super) files: BTreeMap<String, ValueNames>,
    /// The values that determine the current folder.
    pub(super) folder: ValueNames,
    pub(super) uses: BTreeSet<ShellValueUse>,
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
    let mut follow = ShellValueFlow::new(known, constants);
    follow.folder.extend(known(FOLDER).then(|| FOLDER.to_owned()));
    follow.follow_commands(&parse_script(script, &[]).commands, &ValueNames::new());
    follow.uses
}

pub(super) fn file_key(name: &str) -> &str {
    name.strip_prefix("./").unwrap_or(name)
}

impl<'k> ShellValueFlow<'k> {
    pub(super) fn new(known: &'k dyn Fn(&str) -> bool, constants: BTreeMap<String, String>) -> Self {
        ShellValueFlow {
            known,
            variables: BTreeMap::new(),
            constants,
            outer: Vec::new(),
            maps: BTreeSet::new(),
            files: BTreeMap::new(),
            folder: ValueNames::new(),
            uses: BTreeSet::new(),
        }
    }

    /// The output of the last command of several, all of which can read this input.
    pub(super) fn follow_commands(&mut self, commands: &[ShellCommand], input: &ValueNames) -> ValueNames {
        let mut printed = ValueNames::new();
        let mut piped = false;
        for command in commands {
            let input = if piped { std::mem::take(&mut printed) } else { input.clone() };
            printed = self.command(command, input);
            piped = command.piped;
        }
        printed
    }

    fn see(&mut self, word: &ShellWord) -> WordValues {
        let whole = flat_text(word);
        let named = if whole.is_none() { guess_program(word) } else { None };
        let mut seen = WordValues { whole, key: file_name_key(word), guess: named, ..WordValues::default() };
        for part in flatten_parts(word) {
            let (names, splits) = match part {
                ShellWordPart::Text(text, _) => {
                    seen.text.push_str(text);
                    continue;
                }
                ShellWordPart::Variable(name, quoted) => (self.variable_values(name), *quoted == QuoteStyle::Not),
                ShellWordPart::Commands(from, commands) => {
                    if *from == CommandSubstitution::Process {
                        seen.text.push_str(DESCRIPTOR);
                    }
                    (self.follow_commands(commands, &ValueNames::new()), false)
                }
                part => {
                    self.done_aside(part);
                    (ValueNames::new(), false)
                }
            };
            if seen.values.is_empty() {
                seen.lead.clone_from(&seen.text);
            }
            seen.values.push((seen.text.clone(), names, splits));
            seen.text.push(VALUE);
        }
        if seen.values.is_empty() {
            seen.lead.clone_from(&seen.text);
        }
        seen
    }

    /// Evaluates a part of a word that has side effects but contributes no value to the word.
    fn done_aside(&mut self, part: &ShellWordPart) {
        match part {
            ShellWordPart::Arithmetic(inner) => {
                let seen = self.see(inner);
                self.record_arithmetic(&seen);
            }
            ShellWordPart::Subscript(name, inner) => {
                let seen = self.see(inner);
                self.subscript(name, &seen, 0, seen.text.len().max(1));
            }
            ShellWordPart::Indirect(name) => self.record_use(self.variable_values(name), &ShellUseKind::Name),
            ShellWordPart::Evaluated(name) => {
                self.record_use(self.variable_values(name), &ShellUseKind::Code("eval".to_owned()))
            }
            _ => {}
        }
    }

    /// The values in a variable.
    pub(super) fn variable_values(&self, name: &str) -> ValueNames {
        match self.variables.get(name) {
            Some(names) => names.clone(),
            None if (self.known)(name) => ValueNames::from([name.to_owned()]),
            None => ValueNames::new(),
        }
    }

    pub(super) fn record_use(&mut self, names: ValueNames, how: &ShellUseKind) {
        self.uses.extend(names.into_iter().map(|name| (name, how.clone())));
    }

    /// Records the uses of values in a command; returns the values in its output.
    fn command(&mut self, command: &ShellCommand, mut input: ValueNames) -> ValueNames {
        let mut written_to = Vec::new();
        for (kind, word) in &command.redirects {
            let seen = self.see(word);
            match kind {
                ShellRedirect::Text => input.extend(seen.value_names()),
                ShellRedirect::Errors => {}
                ShellRedirect::Read => {
                    let held = seen.key.as_deref().and_then(|name| self.files.get(file_key(name)));
                    input.extend(held.into_iter().flatten().cloned());
                }
                ShellRedirect::Write => written_to.push(seen),
            }
        }
        let all: Vec<ShellWord> = command.words.iter().flat_map(|word| self.expanded(word)).collect();
        let all: Vec<WordValues> = all.iter().map(|w| self.see(w)).collect();
        let outer = self.outer.len();
        let mut words = all.as_slice();
        while let [first, rest @ ..] = words
            && (first.is_keyword() || first.assigned_name().is_some() || first.assigns_element().is_some())
        {
            self.follow_assignment(first, rest.iter().all(|w| w.assigned_name().is_some()));
            words = rest;
        }
        let printed = self.simple(words, &input);
        while self.outer.len() > outer
            && let Some((name, held)) = self.outer.pop()
        {
            match held {
                Some(held) => self.variables.insert(name, held),
                None => self.variables.remove(&name),
            };
        }
        if written_to.is_empty() {
            return printed;
        }
        for target in &written_to {
            self.write(target, &printed);
        }
        ValueNames::new()
    }

    /// Records a write to a file.
    fn write(&mut self, target: &WordValues, held: &ValueNames) {
        self.record_use(target.leading_names(), &ShellUseKind::File);
        if let Some(place) = run_later(&target.text) {
            self.record_use(held.clone(), &ShellUseKind::Later(place.to_owned()));
        }
        if let Some(name) = &target.key {
            self.files.entry(file_key(name).to_owned()).or_default().extend(held.iter().cloned());
        }
    }

    /// A word with literal variables expanded; such a text may become several words.
    fn expanded(&self, word: &ShellWord) -> Vec<ShellWord> {
        let text = |part: &ShellWordPart| match part {
            ShellWordPart::Variable(name, quoted) => Some((self.constants.get(name)?, *quoted)),
            _ => None,
        };
        let as_text = |text: &str, quoted| ShellWordPart::Text(text.to_owned(), quoted);
        let parts = flatten_parts(word);
        if let [only] = parts.as_slice()
            && let Some((text, QuoteStyle::Not)) = text(only)
        {
            return text.split_whitespace().map(|w| vec![as_text(w, QuoteStyle::Not)]).collect();
        }
        let known = |part: &ShellWordPart| text(part).map_or_else(|| part.clone(), |(t, quoted)| as_text(t, quoted));
        vec![parts.into_iter().map(known).collect()]
    }

    /// Records that a variable is set, permanently or for one command.
    pub(super) fn follow_assignment(&mut self, word: &WordValues, stays: bool) {
        if let Some((name, from, to)) = word.assigns_element() {
            self.subscript(name, word, from, to);
        }
        let Some(name) = word.assigned_name() else { return };
        if decides_code(name) {
            self.record_use(word.value_names(), &ShellUseKind::Setting(name.to_owned()));
        }
        let held = self.variables.insert(name.to_owned(), word.value_names());
        if !stays {
            self.outer.push((name.to_owned(), held));
        }
        match &word.whole {
            Some(whole) if stays => {
                let value = whole.split_once('=').map_or("", |(_, value)| value);
                self.constants.insert(name.to_owned(), value.to_owned());
            }
            _ => {
                self.constants.remove(name);
            }
        }
    }

    /// The subscript of a variable, between these bytes of a word.
    fn subscript(&mut self, name: &str, word: &WordValues, from: usize, to: usize) {
        if self.maps.contains(name) {
            return;
        }
        let inside = word.values.iter().filter(|(before, ..)| (from..to).contains(&before.len()));
        let values = inside.cloned().collect();
        let text = word.text.get(from..to).unwrap_or_default().to_owned();
        self.record_arithmetic(&WordValues { values, text, ..WordValues::default() });
    }

    /// Arguments that name variables: values in a name, and in its subscript.
    fn named(&mut self, program: &str, operands: &[WordValues]) {
        let maps = operands.iter().any(|w| w.lead.starts_with('-') && w.lead.contains('A'));
        for word in variable_names::name_arguments(program, operands) {
            let end = word.text.find('=').unwrap_or(word.text.len());
            self.record_use(word.names_before(end), &ShellUseKind::Name);
            if maps && let Some(name) = word.lead.split('=').next() {
                self.maps.insert(name.to_owned());
            }
        }
    }

    /// The names after a simple command. reason: a table of programs, one arm each.
    fn simple(&mut self, words: &[WordValues], input: &ValueNames) -> ValueNames {
        let [first, operands @ ..] = words else { return input.clone() };
        self.program(first);
        let program = first.program_name();
        self.named(program, operands);
        match program {
            "export" | "local" | "readonly" | "declare" | "typeset" => {
                // `declare -i n=...`, and `-n`, which uses the value as a name.
                if operands.iter().any(|w| w.lead.starts_with(['-', '+']) && w.lead.contains(['i', 'n'])) {
                    operands.iter().for_each(|w| self.record_arithmetic(w));
                }
                operands.iter().for_each(|w| self.follow_assignment(w, true));
                return ValueNames::new();
            }
            "let" => {
                operands.iter().for_each(|w| self.record_arithmetic(w));
                return ValueNames::new();
            }
            "[[" | "[" | "test" => {
                let names_a_variable = |w: &WordValues| matches!(w.whole.as_deref(), Some("-v" | "-R"));
                let numbers = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
                let compares =
                    |w: &WordValues| program == "[[" && w.whole.as_deref().is_some_and(|w| numbers.contains(&w));
                if operands.iter().any(|w| names_a_variable(w) || compares(w)) {
                    operands.iter().for_each(|w| self.record_arithmetic(w));
                }
            }
            "read" => {
                for name in operands.iter().filter_map(|w| w.whole.clone()).filter(|w| !w.starts_with('-')) {
                    self.variables.insert(name, input.clone());
                }
                return ValueNames::new();
            }
            "for" => {
                if let Some(name) = operands.first().and_then(|w| w.whole.clone()) {
                    let held = operands.iter().flat_map(WordValues::value_names).collect();
                    self.variables.insert(name, held);
                }
            }
            "cd" | "pushd" | "chdir" => {
                let to = operands.iter().find(|w| !w.lead.starts_with('-') || w.whole.is_none());
                match to {
                    // What follows is still below the same folder.
                    Some(to) if to.is_local() => {}
                    Some(to) => self.folder = to.value_names(),
                    None => self.folder = ValueNames::new(),
                }
            }
            "dd" => {
                for target in operands.iter().filter_map(|w| w.strip_start("of=")) {
                    self.write(&target, input);
                }
            }
            "env" | "sudo" | "docker" | "podman" => {
                operands.iter().for_each(|w| self.follow_assignment(w, false));
            }
            "tee" => {
                for target in operands.iter().filter(|w| !w.lead.starts_with('-')) {
                    self.write(target, input);
                }
            }
            _ => {}
        }
        if !matches!(program, "case" | "[[") {
            let split = operands.iter().flat_map(|w| &w.values).filter(|(_, _, splits)| *splits);
            let bare: ValueNames = split.flat_map(|(_, names, _)| names.clone()).collect();
            self.record_use(bare, &ShellUseKind::Bare);
        }
        let filled = if program == "xargs" { fill_arguments(operands, input) } else { None };
        let replaced = filled.is_some();
        let operands = filled.as_deref().unwrap_or(operands);
        self.follow_program(first, operands, input, !replaced);
        if starts_another(program) {
            let mut rest = operands;
            while let [next, behind @ ..] = rest {
                // Shell builtins cannot be started as programs.
                let inner = Some(next.program_name()).filter(|p| !is_builtin(p));
                if let Some((inner, known)) = inner.and_then(|p| Some((p, find_language(p)?))) {
                    self.follow_language(inner, &known, behind, input);
                    break;
                }
                rest = behind;
            }
        }
        if matches!(program, "curl" | "wget") {
            self.follow_request(program, operands);
        }
        self.printed(program, operands, input)
    }

    /// A program and its arguments; `appends`: it is started by `xargs`, which appends its input.
    pub(super) fn follow_program(
        &mut self,
        program: &WordValues,
        operands: &[WordValues],
        input: &ValueNames,
        appends: bool,
    ) {
        if program.whole.as_deref().is_some_and(|path| path.contains('/')) && program.is_local()
            || runs_its_folder(program.program_name())
        {
            self.record_use(self.folder.clone(), &ShellUseKind::Program);
        }
        let (name, sure) = match (&program.whole, &program.guess) {
            (Some(_), _) => (program.program_name(), true),
            (None, Some(guess)) => (guess.name.as_str(), guess.sure),
            (None, None) => ("", false),
        };
        match find_language(name) {
            Some(language) => self.follow_language(name, &language, operands, input),
            // It may be a shell.
            None if !sure && !is_known(name) => self.follow_language("the program", &UNNAMED, operands, input),
            None => {}
        }
        self.follow_options(name, operands, input, appends);
    }

    /// A word that the shell evaluates as arithmetic: values, and variables by their bare names.
    fn record_arithmetic(&mut self, word: &WordValues) {
        let mut names = word.value_names();
        for name in word.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            if name.starts_with(|c: char| c.is_ascii_digit()) {
                continue;
            }
            match self.variables.get(name) {
                Some(held) => names.extend(held.iter().cloned()),
                None if (self.known)(name) => {
                    names.insert(name.to_owned());
                }
                None => {}
            }
        }
        self.record_use(names, &ShellUseKind::Arithmetic);
    }

    /// The name of the program. A placeholder there is reported when the script is made.
    fn program(&mut self, word: &WordValues) {
        if let Some(held) = word.key.as_deref().and_then(|name| self.files.get(file_key(name))) {
            let name = word.text.rsplit('/').next().unwrap_or_default().replace(VALUE, "the program");
            self.record_use(held.clone(), &ShellUseKind::Code(name));
        }
        let Some((before, names, splits)) = word.values.first() else { return };
        if before.is_empty() {
            let named = names.iter().filter(|n| *splits || !n.starts_with(|c: char| c.is_ascii_digit())).cloned();
            let how = if *splits { ShellUseKind::Code("the shell".into()) } else { ShellUseKind::Program };
            self.record_use(named.collect(), &how);
        }
    }

    fn printed(&mut self, program: &str, operands: &[WordValues], input: &ValueNames) -> ValueNames {
        let named = operands.iter().filter_map(|w| self.files.get(file_key(w.key.as_deref()?))).flatten().cloned();
        let mut all: ValueNames = named.collect();
        match program {
            "echo" | "printf" | "cat" => all.extend(operands.iter().flat_map(WordValues::value_names)),
            "wc" | "md5sum" | "sha1sum" | "sha256sum" | "test" | "[" => return ValueNames::new(),
            _ => {}
        }
        if program != "echo" && program != "printf" {
            all.extend(input.iter().cloned());
        }
        all
    }
}
