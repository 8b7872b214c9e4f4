//! Values followed through a script: into words of programs, through variables, pipes and files.

use std::collections::{BTreeMap, BTreeSet};

use super::languages::{Language, Operands, Options, decides_code, language, options, starts_another};
use super::read::{Command, Part, Redirect, Word, commands, written};

/// What becomes of a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// This program reads it as code.
    Code(String),
    /// The shell computes with it: subscripts in it can run commands.
    Arithmetic,
    /// It is this variable, which decides which code programs run.
    Setting(String),
    /// It names the program, or a file of code.
    Program,
    /// This program takes it for one of its options if it begins like one.
    Option(String),
    /// Split into words, and taken for patterns.
    Bare,
    /// It decides which host a request goes to.
    Host,
    /// It gets into a header of a request.
    Header,
}

/// A value and what becomes of it.
pub type Use = (String, How);

type Names = BTreeSet<String>;

struct Follow<'k> {
    known: &'k dyn Fn(&str) -> bool,
    /// What variables hold that the script sets.
    variables: BTreeMap<String, Names>,
    /// Variables that hold a text which is written out.
    constants: BTreeMap<String, String>,
    /// What files hold that it writes.
    files: BTreeMap<String, Names>,
    uses: BTreeSet<Use>,
}

/// A word, and the values in it.
#[derive(Debug, Default)]
struct Seen {
    /// The text before the first value, all of it if there is none.
    lead: String,
    /// Each with the text before it, and whether the shell splits it.
    values: Vec<(String, Names, bool)>,
    whole: Option<String>,
    /// All of its text, with a mark for each value.
    text: String,
}

/// Stands for a value in a text.
const VALUE: char = '\u{fffd}';

impl Seen {
    fn names(&self) -> Names {
        self.values.iter().flat_map(|(_, names, _)| names.iter().cloned()).collect()
    }
    /// The last part of a written path.
    fn program(&self) -> &str {
        let path = self.whole.as_deref().unwrap_or_default();
        path.rsplit('/').next().unwrap_or(path)
    }
    fn assigns(&self) -> Option<&str> {
        let (name, _) = self.lead.split_once('=')?;
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
        (!name.is_empty() && name.chars().all(letters)).then_some(name)
    }
    fn is_keyword(&self) -> bool {
        let words =
            ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "exec", "command", "builtin"];
        self.whole.as_deref().is_some_and(|w| words.contains(&w))
    }
}

/// What becomes of the values of the variables and parameters that `known` knows. `constants`: variables whose text is
/// written out where they are set.
pub fn uses(script: &str, known: &dyn Fn(&str) -> bool, constants: BTreeMap<String, String>) -> BTreeSet<Use> {
    let (variables, files, uses) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    let mut follow = Follow { known, variables, constants, files, uses };
    follow.all(&commands(script));
    follow.uses
}

fn file(name: &str) -> &str {
    name.strip_prefix("./").unwrap_or(name)
}

impl Follow<'_> {
    /// What the last of some commands prints.
    fn all(&mut self, commands: &[Command]) -> Names {
        let mut printed = Names::new();
        let mut piped = false;
        for command in commands {
            let input = if piped { std::mem::take(&mut printed) } else { Names::new() };
            printed = self.command(command, input);
            piped = command.piped;
        }
        printed
    }

    fn see(&mut self, word: &Word) -> Seen {
        let mut seen = Seen { whole: written(word), ..Seen::default() };
        let mut before = String::new();
        for part in word {
            let (names, splits) = match part {
                Part::Text(text) => {
                    before.push_str(text);
                    continue;
                }
                Part::Variable(name, quoted) => match self.variables.get(name) {
                    Some(names) => (names.clone(), !quoted),
                    None if (self.known)(name) => (Names::from([name.clone()]), !quoted),
                    None => (Names::new(), !quoted),
                },
                Part::Output(commands) => (self.all(commands), false),
            };
            if seen.values.is_empty() {
                seen.lead.clone_from(&before);
            }
            seen.values.push((before.clone(), names, splits));
            before.push(VALUE);
        }
        seen.text.clone_from(&before);
        if seen.values.is_empty() {
            seen.lead = before;
        }
        seen
    }

    fn note(&mut self, names: Names, how: &How) {
        self.uses.extend(names.into_iter().map(|name| (name, how.clone())));
    }

    /// Notes what becomes of the values in a command; returns what it prints of them.
    fn command(&mut self, command: &Command, mut input: Names) -> Names {
        let mut written_to = Vec::new();
        for (kind, word) in &command.redirects {
            let seen = self.see(word);
            match (kind, seen.whole.as_deref().map(file)) {
                (Redirect::Text, _) => input.extend(seen.names()),
                (Redirect::From, Some(name)) => input.extend(self.files.get(name).cloned().unwrap_or_default()),
                (Redirect::To, Some(name)) => written_to.push(name.to_owned()),
                _ => {}
            }
        }
        let all: Vec<Word> = command.words.iter().flat_map(|word| self.expanded(word)).collect();
        let all: Vec<Seen> = all.iter().map(|w| self.see(w)).collect();
        let mut words = all.as_slice();
        while let [first, rest @ ..] = words
            && (first.is_keyword() || first.assigns().is_some())
        {
            self.assignment(first, rest.iter().all(|w| w.assigns().is_some()));
            words = rest;
        }
        let printed = self.simple(words, &input);
        if written_to.is_empty() {
            return printed;
        }
        for name in written_to {
            self.files.entry(name).or_default().extend(printed.iter().cloned());
        }
        Names::new()
    }

    /// A word with the texts of variables that are written out; such a text may be several words.
    fn expanded(&self, word: &Word) -> Vec<Word> {
        let text = |part: &Part| match part {
            Part::Variable(name, quoted) => Some((self.constants.get(name)?, *quoted)),
            _ => None,
        };
        match word.as_slice() {
            [only] => match text(only) {
                Some((text, false)) => text.split_whitespace().map(|w| vec![Part::Text(w.to_owned())]).collect(),
                Some((text, true)) => vec![vec![Part::Text(text.clone())]],
                None => vec![word.clone()],
            },
            parts => {
                let known = |part: &Part| text(part).map_or_else(|| part.clone(), |(t, _)| Part::Text(t.clone()));
                vec![parts.iter().map(known).collect()]
            }
        }
    }

    fn assignment(&mut self, word: &Seen, stays: bool) {
        let Some(name) = word.assigns() else { return };
        match &word.whole {
            Some(whole) if stays => {
                let value = whole.split_once('=').map_or("", |(_, value)| value);
                self.constants.insert(name.to_owned(), value.to_owned());
            }
            _ => {
                self.constants.remove(name);
            }
        }
        if decides_code(name) {
            self.note(word.names(), &How::Setting(name.to_owned()));
        }
        if stays {
            self.variables.insert(name.to_owned(), word.names());
        }
    }

    fn simple(&mut self, words: &[Seen], input: &Names) -> Names {
        let [first, operands @ ..] = words else { return input.clone() };
        self.program(first);
        let program = first.program();
        match program {
            "export" | "local" | "readonly" | "declare" | "typeset" => {
                // `declare -i n=...`
                if operands.iter().any(|w| w.lead.starts_with(['-', '+']) && w.lead.contains('i')) {
                    operands.iter().for_each(|w| self.computed(w));
                }
                operands.iter().for_each(|w| self.assignment(w, true));
                return Names::new();
            }
            "let" => {
                operands.iter().for_each(|w| self.computed(w));
                return Names::new();
            }
            "[[" | "[" | "test" => {
                let names_a_variable = |w: &Seen| matches!(w.whole.as_deref(), Some("-v" | "-R"));
                let numbers = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];
                let compares = |w: &Seen| program == "[[" && w.whole.as_deref().is_some_and(|w| numbers.contains(&w));
                if operands.iter().any(|w| names_a_variable(w) || compares(w)) {
                    operands.iter().for_each(|w| self.computed(w));
                }
            }
            "read" => {
                for name in operands.iter().filter_map(|w| w.whole.clone()).filter(|w| !w.starts_with('-')) {
                    self.variables.insert(name, input.clone());
                }
                return Names::new();
            }
            "for" => {
                if let Some(name) = operands.first().and_then(|w| w.whole.clone()) {
                    let held = operands.iter().flat_map(Seen::names).collect();
                    self.variables.insert(name, held);
                }
            }
            "env" | "sudo" | "docker" | "podman" => {
                operands.iter().for_each(|w| self.assignment(w, false));
            }
            _ => {}
        }
        if !matches!(program, "case" | "[[") {
            let split = operands.iter().flat_map(|w| &w.values).filter(|(_, _, splits)| *splits);
            let bare: Names = split.flat_map(|(_, names, _)| names.clone()).collect();
            self.note(bare, &How::Bare);
        }
        if let Some(language) = language(program) {
            self.language(program, &language, operands, input);
        }
        self.options(program, operands, input);
        if starts_another(program) {
            let mut rest = operands;
            while let [next, behind @ ..] = rest {
                // Those that are part of the shell cannot be started.
                let inner = Some(next.program()).filter(|p| !matches!(*p, "." | "source" | "eval" | "alias" | "trap"));
                if let Some((inner, known)) = inner.and_then(|p| Some((p, language(p)?))) {
                    self.language(inner, &known, behind, input);
                    // `xargs -I X sh -c 'X'`
                    let mark = operands.iter().skip_while(|w| w.lead != "-I").nth(1).and_then(|w| w.whole.as_deref());
                    let put = |word: &Seen| mark.is_some_and(|m| word.lead.contains(m));
                    if known.shell && program == "xargs" && behind.iter().any(put) {
                        self.note(input.clone(), &How::Code(inner.to_owned()));
                    }
                    break;
                }
                rest = behind;
            }
        }
        if matches!(program, "curl" | "wget") {
            self.request(program, operands);
        }
        self.printed(program, operands, input)
    }

    /// A word that the shell computes with: values, and variables by their bare names.
    fn computed(&mut self, word: &Seen) {
        let mut names = word.names();
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
        self.note(names, &How::Arithmetic);
    }

    /// Values that a program would take for options if they began like one, and those that name the program which it
    /// starts.
    fn options(&mut self, program: &str, operands: &[Seen], input: &Names) {
        let Some(reading) = options(program) else { return };
        let mut ended = false;
        // The word before may be an option that takes this one.
        let mut after_option = false;
        let mut count = 0;
        let mut rest = operands;
        while let [word, behind @ ..] = rest {
            rest = behind;
            let whole = word.whole.as_deref();
            let dashed = word.lead.len() > 1 && word.lead.starts_with('-');
            let taken = std::mem::take(&mut after_option);
            match reading {
                Options::Started { operands: own, .. } if !dashed => {
                    if taken || word.assigns().is_some() {
                        continue;
                    }
                    count += 1;
                    if count > own {
                        return self.started(program, word, behind, input);
                    }
                }
                Options::Started { takes, .. } => {
                    let letters = word.lead.trim_start_matches('-');
                    let last = letters.chars().last();
                    after_option =
                        whole.is_some() && !word.lead.starts_with("--") && last.is_some_and(|c| takes.contains(c));
                }
                Options::Actions if matches!(whole, Some("-exec" | "-execdir" | "-ok" | "-okdir")) => {
                    if let [inner, arguments @ ..] = behind {
                        self.started(program, inner, arguments, &Names::new());
                    }
                    return;
                }
                _ if whole == Some("--") => {
                    ended = true;
                }
                _ if dashed && !ended => {
                    after_option = whole.is_some() && !word.lead.contains('=') && !matches!(reading, Options::Switches);
                }
                _ => {
                    count += 1;
                    if word.lead.is_empty() && !ended && !taken {
                        let names = word.values.first().map(|(_, names, _)| names.clone()).unwrap_or_default();
                        self.note(names, &How::Option(program.to_owned()));
                    }
                    if matches!(reading, Options::BeforeOperands) {
                        return;
                    }
                }
            }
        }
    }

    /// The program that another one starts, with its words.
    fn started(&mut self, outer: &str, program: &Seen, operands: &[Seen], input: &Names) {
        if program.whole.is_none() && program.lead.is_empty() {
            self.note(program.names(), &How::Program);
        }
        let name = program.program().to_owned();
        self.options(&name, operands, &Names::new());
        // What `xargs` reads it puts at the end.
        let ended = operands.iter().any(|w| w.whole.as_deref() == Some("--"));
        if outer == "xargs" && !ended && options(&name).is_some_and(|o| !matches!(o, Options::BeforeOperands)) {
            self.note(input.clone(), &How::Option(name));
        }
    }

    /// The name of the program: a placeholder there is reported when the script is made.
    fn program(&mut self, word: &Seen) {
        if let Some(held) = word.whole.as_deref().and_then(|name| self.files.get(file(name))) {
            let name = word.program().to_owned();
            self.note(held.clone(), &How::Code(name));
        }
        let Some((before, names, splits)) = word.values.first() else { return };
        if before.is_empty() {
            let named = names.iter().filter(|n| *splits || !n.starts_with(|c: char| c.is_ascii_digit())).cloned();
            let how = if *splits { How::Code("the shell".into()) } else { How::Program };
            self.note(named.collect(), &how);
        }
    }

    fn printed(&mut self, program: &str, operands: &[Seen], input: &Names) -> Names {
        let named = operands.iter().filter_map(|w| self.files.get(file(w.whole.as_deref()?))).flatten().cloned();
        let mut all: Names = named.collect();
        match program {
            "echo" | "printf" | "cat" => all.extend(operands.iter().flat_map(Seen::names)),
            "tee" => {
                for name in operands.iter().filter_map(|w| w.whole.as_deref()) {
                    self.files.entry(file(name).to_owned()).or_default().extend(input.iter().cloned());
                }
            }
            "wc" | "md5sum" | "sha1sum" | "sha256sum" | "test" | "[" => return Names::new(),
            _ => {}
        }
        if program != "echo" && program != "printf" {
            all.extend(input.iter().cloned());
        }
        all
    }

    fn language(&mut self, program: &str, language: &Language, operands: &[Seen], input: &Names) {
        let mut given = false;
        let mut from_input = language.input;
        // A shell's `-c` is a switch: the first word behind all options is the code.
        let mut switched = false;
        let mut count = 0;
        let mut ended = false;
        let mut rest = operands.iter();
        while let Some(word) = rest.next() {
            let lead = word.lead.as_str();
            let plain = word.whole.is_some();
            if !ended && lead == "--" && plain {
                ended = true;
            } else if !ended && lead.len() > 1 && lead.starts_with('-') {
                let (name, attached) = lead.split_once('=').map_or((lead, false), |(name, _)| (name, true));
                if language.long.contains(&name) {
                    given = true;
                    if let Some(code) = if attached { Some(word) } else { rest.next() } {
                        self.code(program, language, code, &[]);
                    }
                } else if name == "--file" {
                    given = true;
                    rest.next();
                } else if !lead.starts_with("--") {
                    let letters = lead.trim_start_matches('-');
                    let found = letters.char_indices().find(|(_, c)| {
                        language.code.contains(*c) || language.file.contains(*c) || language.takes.contains(*c)
                    });
                    let Some((at, letter)) = found else {
                        // `-s`: all words are the script's.
                        if language.shell && letters.contains('s') {
                            break;
                        }
                        continue;
                    };
                    if language.shell && language.code.contains(letter) {
                        switched = true;
                        continue;
                    }
                    // `node -pe CODE`
                    let behind = letters.get(at + 1..).unwrap_or_default().trim_matches(|c| language.code.contains(c));
                    let value = if behind.is_empty() && plain { rest.next() } else { Some(word) };
                    let Some(value) = value else { break };
                    if language.code.contains(letter) {
                        given = true;
                        self.code(program, language, value, &[]);
                    } else if language.file.contains(letter) {
                        given = true;
                        self.file_of_code(program, value);
                        if letter == 'm' {
                            break;
                        }
                    }
                }
            } else if !ended && lead == "-" && plain {
                break;
            } else {
                count += 1;
                match language.operands {
                    _ if switched => {
                        let arguments: Vec<Names> = rest.map(Seen::names).collect();
                        self.code(program, language, word, &arguments);
                        given = true;
                        break;
                    }
                    Operands::File if given => break,
                    Operands::File => {
                        self.file_of_code(program, word);
                        given = !matches!(word.whole.as_deref(), Some("/dev/stdin"));
                        break;
                    }
                    Operands::Code if !given => {
                        given = true;
                        self.code(program, language, word, &[]);
                    }
                    Operands::Rest(skip) if count > skip => {
                        given = true;
                        self.code(program, language, word, &[]);
                    }
                    _ => {}
                }
            }
        }
        from_input &= !given;
        if from_input {
            self.note(input.clone(), &How::Code(program.to_owned()));
        }
    }

    fn code(&mut self, program: &str, language: &Language, word: &Seen, arguments: &[Names]) {
        self.note(word.names(), &How::Code(program.to_owned()));
        // What an inner shell reads has variables of its own; the parameters are not those of the script.
        if let (true, Some(script)) = (language.shell, &word.whole) {
            let outer = self.variables.clone();
            let given = |n: usize| arguments.get(n).cloned().unwrap_or_default();
            self.variables.extend((0..10).map(|n| (n.to_string(), given(n))));
            let all: Names = arguments.iter().skip(1).flatten().cloned().collect();
            self.variables.extend(["@", "*"].map(|name| (name.to_owned(), all.clone())));
            self.all(&commands(script));
            self.variables = outer;
        }
    }

    fn file_of_code(&mut self, program: &str, word: &Seen) {
        let how = How::Code(program.to_owned());
        if let Some(held) = word.whole.as_deref().and_then(|name| self.files.get(file(name))) {
            self.note(held.clone(), &how);
        }
        // `source` reads it into the very shell.
        let names = word.names();
        let whole = word.lead.is_empty();
        match program {
            "source" | "." => self.note(names, &how),
            _ if whole => self.note(names, &How::Program),
            _ => {}
        }
    }

    fn request(&mut self, program: &str, operands: &[Seen]) {
        let takes = if program == "curl" { "AbcCdDeEFHhKmoPQrtTuUwxXyYz" } else { "oaeiBtOTwQPUlADIXR" };
        let switches = [
            "--silent",
            "--show-error",
            "--fail",
            "--location",
            "--insecure",
            "--compressed",
            "--include",
            "--head",
            "--get",
            "--verbose",
            "--globoff",
            "--fail-with-body",
            "--quiet",
            "--no-check-certificate",
            "--spider",
            "--continue",
            "--no-verbose",
            "--remote-name",
            "--content-disposition",
            "--no-clobber",
            "--recursive",
            "--ipv4",
            "--http2",
            "--no-buffer",
            "--no-progress-meter",
            "--http1.1",
            "--tlsv1.2",
            "--raw",
            "--location-trusted",
        ];
        let mut rest = operands.iter();
        while let Some(word) = rest.next() {
            let lead = word.lead.as_str();
            if lead.len() < 2 || !lead.starts_with('-') {
                self.address(word, "");
                continue;
            }
            let (name, attached) = lead.split_once('=').map_or((lead, false), |(name, _)| (name, true));
            let (name, value) = if lead.starts_with("--") {
                if attached {
                    (name, Some(word))
                } else if switches.contains(&name) {
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
                "H" | "A" if curl => self.note(value.names(), &How::Header),
                "--header" | "--user-agent" => self.note(value.names(), &How::Header),
                "x" if curl => self.address(value, ""),
                "--url" | "--proxy" => self.address(value, if attached { lead_option(lead) } else { "" }),
                _ => {}
            }
        }
    }

    /// Values that decide the host: those before the first slash behind `://`.
    fn address(&mut self, word: &Seen, option: &str) {
        for (before, names, _) in &word.values {
            let before = before.strip_prefix(option).unwrap_or(before);
            let host = before.split_once("://").map_or(before, |(_, rest)| rest);
            if host.contains(['/', '?', '#']) {
                return;
            }
            self.note(names.clone(), &How::Host);
        }
    }
}

fn lead_option(lead: &str) -> &str {
    lead.find('=').and_then(|at| lead.get(..=at)).unwrap_or_default()
}
