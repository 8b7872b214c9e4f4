//! A script whose placeholders are positional parameters: `"${1}"` wherever the shell reads words, the same with the
//! quotes closed and opened again inside single quotes, bare inside double quotes. The value of a parameter is never read
//! as code; where a shell would read it again (`eval`, `sh -c`, arithmetic, here-documents), a placeholder is a mistake.

use std::ops::Range;

use super::scan::Piece;

/// A script and the bytes of the placeholders that are its parameters, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Script {
    /// For `sh -c`.
    pub text: String,
    /// Parameter 1 and on.
    pub parameters: Vec<Range<usize>>,
    /// The program itself is a placeholder.
    pub program_from_data: Option<Range<usize>>,
    /// The quote that is open at its end, if any.
    pub open: Option<char>,
    /// Placeholders that cannot be parameters.
    pub mistakes: Vec<Mistake>,
}

/// A placeholder that cannot be a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Its bytes.
    pub range: Range<usize>,
    /// Why.
    pub message: &'static str,
}

/// What the shell is reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Words of commands, at the top or in `( )` and `$( )`.
    Words,
    Single,
    Double,
    Comment,
    Backtick,
    /// `${...}`
    Expansion,
    /// `$((...))`, with the open parentheses inside.
    Arithmetic(u32),
}

/// What is known of the simple command being read.
#[derive(Debug, Clone, Default)]
struct Command {
    words: Vec<String>,
    word: String,
    /// A placeholder is part of the word.
    has_value: bool,
    /// The placeholders in it so far.
    values: Vec<Range<usize>>,
}

struct Reader {
    stack: Vec<Reading>,
    /// One for every `Words` on the stack.
    commands: Vec<Command>,
    here_document: bool,
    /// Function definitions, `set` and `shift`, which move the parameters.
    moves_parameters: bool,
    out: Script,
}

/// Makes the script of a cut command line.
pub fn script(pieces: &[Piece]) -> Script {
    let mut reader = Reader {
        stack: vec![Reading::Words],
        commands: vec![Command::default()],
        here_document: false,
        moves_parameters: false,
        out: Script::default(),
    };
    for (i, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Text(text) => reader.text(text),
            Piece::Value(range) => reader.value(range.clone(), false),
            Piece::Block { range, inner } => {
                let alone = reader.between_words() && starts_new_word(pieces.get(i + 1));
                if reader.block_is_data(inner) {
                    reader.value(range.clone(), alone);
                } else {
                    reader.out.mistakes.push(Mistake {
                        range: range.clone(),
                        message: "a block around shell syntax cannot be kept apart from it",
                    });
                }
            }
        }
    }
    reader.end_command();
    if reader.moves_parameters && !reader.out.parameters.is_empty() {
        reader.out.mistakes.extend(reader.out.parameters.first().cloned().map(|range| Mistake {
            range,
            message: "a placeholder cannot stand in a script that defines functions or uses `set`, `shift` or `$1`",
        }));
    }
    // What a here-document holds is not read here.
    if !reader.here_document && reader.out.mistakes.is_empty() {
        let quotes = reader.stack.iter().find_map(|reading| match reading {
            Reading::Single => Some('\''),
            Reading::Double => Some('"'),
            Reading::Backtick => Some('`'),
            _ => None,
        });
        reader.out.open = quotes;
    }
    reader.out
}

fn starts_new_word(next: Option<&Piece>) -> bool {
    match next {
        None => true,
        Some(Piece::Text(text)) => text.starts_with([' ', '\t', '\n', ';', '&', '|', ')', '<', '>']),
        Some(_) => false,
    }
}

impl Reader {
    fn reading(&self) -> Reading {
        self.stack.last().copied().unwrap_or(Reading::Words)
    }

    fn command(&mut self) -> Option<&mut Command> {
        self.commands.last_mut()
    }

    fn between_words(&self) -> bool {
        self.reading() == Reading::Words && self.commands.last().is_some_and(|c| c.word.is_empty() && !c.has_value)
    }

    fn pop(&mut self) {
        if self.stack.len() > 1 {
            self.stack.pop();
        }
    }

    fn text(&mut self, text: &str) {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let length = match self.reading() {
                Reading::Words => self.in_words(rest, c),
                Reading::Single => {
                    if c == '\'' {
                        self.pop();
                    } else {
                        self.letter(c);
                    }
                    c.len_utf8()
                }
                Reading::Double => match c {
                    '"' => {
                        self.pop();
                        1
                    }
                    _ => self.expansions(rest, c),
                },
                Reading::Comment => {
                    if c == '\n' {
                        self.pop();
                        self.end_command();
                    }
                    c.len_utf8()
                }
                Reading::Backtick => match c {
                    '`' => {
                        self.pop();
                        1
                    }
                    '\\' => escaped(rest),
                    _ => c.len_utf8(),
                },
                Reading::Expansion => match c {
                    '}' => {
                        self.pop();
                        1
                    }
                    '\'' => self.push(Reading::Single, 1),
                    '"' => self.push(Reading::Double, 1),
                    _ => self.expansions(rest, c),
                },
                Reading::Arithmetic(depth) => self.in_arithmetic(rest, c, depth),
            };
            let (done, left) = rest.split_at_checked(length).unwrap_or((rest, ""));
            self.out.text.push_str(done);
            rest = left;
        }
    }

    fn push(&mut self, reading: Reading, length: usize) -> usize {
        self.stack.push(reading);
        if reading == Reading::Words {
            self.commands.push(Command::default());
        }
        length
    }

    fn letter(&mut self, c: char) {
        if let Some(command) = self.command() {
            command.word.push(c);
        }
    }

    /// `$`, backtick and backslash, which mean the same in words and in double quotes.
    fn expansions(&mut self, rest: &str, c: char) -> usize {
        let next = rest.get(1..).unwrap_or_default();
        match c {
            '\\' => {
                let length = escaped(rest);
                self.letter(rest.chars().nth(1).unwrap_or('\\'));
                length
            }
            '`' => self.push(Reading::Backtick, 1),
            '$' if next.starts_with("((") => self.push(Reading::Arithmetic(0), 3),
            '$' if next.starts_with('(') => self.push(Reading::Words, 2),
            '$' if next.starts_with('{') => {
                self.moves_parameters |= next.get(1..).is_some_and(starts_with_positional);
                self.push(Reading::Expansion, 2)
            }
            '$' => {
                self.moves_parameters |= starts_with_positional(next);
                self.letter('$');
                1
            }
            c => {
                self.letter(c);
                c.len_utf8()
            }
        }
    }

    fn in_words(&mut self, rest: &str, c: char) -> usize {
        match c {
            '\'' => {
                // An empty quoted word is a word.
                self.push(Reading::Single, 1)
            }
            '"' => self.push(Reading::Double, 1),
            ' ' | '\t' | '\r' => {
                self.end_word();
                1
            }
            '\n' | ';' | '&' | '|' => {
                self.end_command();
                1
            }
            '#' if self.between_words() => self.push(Reading::Comment, 1),
            '(' if rest.starts_with("((") && self.starts_command() => self.push(Reading::Arithmetic(0), 2),
            '(' => {
                // `name()` defines a function.
                let defines = self.commands.last().is_some_and(|c| !c.word.is_empty() || !c.words.is_empty());
                self.moves_parameters |= defines;
                self.push(Reading::Words, 1)
            }
            ')' => {
                self.end_command();
                if self.stack.len() > 1 {
                    self.commands.pop();
                    self.pop();
                }
                1
            }
            '<' if rest.starts_with("<<") => {
                self.here_document |= !rest.starts_with("<<<");
                self.end_word();
                if rest.starts_with("<<<") { 3 } else { 2 }
            }
            '<' | '>' => {
                self.end_word();
                1
            }
            c => self.expansions(rest, c),
        }
    }

    /// Whether the next word would be the name of a program.
    fn starts_command(&self) -> bool {
        self.between_words() && self.commands.last().is_some_and(|c| c.words.iter().all(|w| is_keyword(w)))
    }

    fn in_arithmetic(&mut self, rest: &str, c: char, depth: u32) -> usize {
        let set = |this: &mut Self, depth| {
            if let Some(top) = this.stack.last_mut() {
                *top = Reading::Arithmetic(depth);
            }
        };
        match c {
            '(' => set(self, depth + 1),
            ')' if depth > 0 => set(self, depth - 1),
            ')' if rest.starts_with("))") => {
                self.pop();
                return 2;
            }
            _ => {}
        }
        c.len_utf8()
    }

    fn end_word(&mut self) {
        if let Some(command) = self.commands.last_mut() {
            let word = std::mem::take(&mut command.word);
            if !word.is_empty() || std::mem::take(&mut command.has_value) {
                command.words.push(word);
            }
            command.has_value = false;
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        if let Some(command) = self.commands.last_mut() {
            let words = std::mem::take(&mut command.words);
            let values = std::mem::take(&mut command.values);
            if computes(&words) {
                let message =
                    "a placeholder cannot stand where a shell may compute with it, which reads its value as code";
                self.out.mistakes.extend(values.into_iter().map(|range| Mistake { range, message }));
            }
            let mut words = words.iter().map(String::as_str).skip_while(|w| is_keyword(w) || is_assignment(w));
            self.moves_parameters |= match words.next() {
                Some("shift" | "function" | "getopts") => true,
                Some("set") => sets_parameters(words),
                _ => false,
            };
        }
    }

    /// Whether the shell sees the texts inside a block as data only.
    fn block_is_data(&self, inner: &str) -> bool {
        match self.reading() {
            Reading::Single => !inner.contains('\''),
            Reading::Double => !inner.contains(['"', '$', '`', '\\']),
            _ => inner.chars().all(|c| c.is_alphanumeric() || "_-./:=@%+,".contains(c)),
        }
    }

    fn value(&mut self, range: Range<usize>, may_vanish: bool) {
        if let Some(message) = self.unsafe_here() {
            self.out.mistakes.push(Mistake { range, message });
            return;
        }
        if self.reading() == Reading::Comment {
            return;
        }
        if self.is_program() {
            self.out.program_from_data.get_or_insert(range.clone());
        }
        if let Some(command) = self.command() {
            command.values.push(range.clone());
        }
        self.out.parameters.push(range);
        let n = self.out.parameters.len();
        let text = match self.reading() {
            Reading::Single => format!("'\"${{{n}}}\"'"),
            Reading::Double => format!("${{{n}}}"),
            // A block that renders to nothing is no word, as it would be if it were written out.
            _ if may_vanish => format!("${{{n}:+\"${{{n}}}\"}}"),
            _ => format!("\"${{{n}}}\""),
        };
        self.out.text.push_str(&text);
        if let Some(command) = self.command() {
            command.has_value = true;
        }
    }

    /// Whether the placeholder at hand is the name of the program.
    fn is_program(&self) -> bool {
        let Some(command) = self.commands.last() else { return false };
        self.reading() != Reading::Comment
            && command.word.is_empty()
            && command.words.iter().all(|w| is_keyword(w) || is_assignment(w))
    }

    fn unsafe_here(&self) -> Option<&'static str> {
        if self.reading() == Reading::Comment {
            return None;
        }
        if self.here_document {
            return Some("a placeholder cannot be in or after a here-document");
        }
        if self.stack.contains(&Reading::Backtick) {
            return Some("a placeholder cannot stand inside backticks: write `$( )`");
        }
        if self.stack.iter().any(|r| matches!(r, Reading::Arithmetic(_))) {
            return Some("a placeholder cannot stand in shell arithmetic, which reads its value as code");
        }
        if self.stack.contains(&Reading::Expansion) {
            return Some("a placeholder cannot stand inside `${ }`");
        }
        let dangling = self.out.text.chars().rev().take_while(|c| *c == '\\').count() % 2 == 1;
        if dangling && self.reading() != Reading::Single {
            return Some("a placeholder cannot follow a backslash");
        }
        if self.commands.iter().any(reads_code) {
            return Some("a placeholder cannot stand in text that a shell reads as code again");
        }
        None
    }
}

fn escaped(rest: &str) -> usize {
    rest.chars().take(2).map(char::len_utf8).sum()
}

fn starts_with_positional(text: &str) -> bool {
    text.starts_with(|c: char| matches!(c, '1'..='9' | '@' | '*' | '#'))
}

fn is_keyword(word: &str) -> bool {
    matches!(word, "if" | "then" | "else" | "elif" | "do" | "while" | "until" | "!" | "{" | "time" | "exec" | "command")
}

/// `set -e` only switches something on; `set -- a` and `set a` give new parameters.
fn sets_parameters<'w>(mut arguments: impl Iterator<Item = &'w str>) -> bool {
    while let Some(argument) = arguments.next() {
        if argument == "--" || !argument.starts_with(['-', '+']) {
            return true;
        }
        if argument.ends_with('o') {
            arguments.next();
        }
    }
    false
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !word.starts_with('-')
    })
}

/// Whether a command computes with its words, or reads them as names of variables with computed subscripts: bash, which
/// may be the shell, runs the commands that it finds in them.
fn computes(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str).skip_while(|w| is_keyword(w) || is_assignment(w));
    let Some(program) = words.next() else { return false };
    let mut has = |what: &dyn Fn(&str) -> bool| words.any(what);
    match program {
        "let" => true,
        "[[" => has(&|w| matches!(w, "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge" | "-v" | "-R")),
        "[" | "test" => has(&|w| matches!(w, "-v" | "-R")),
        "declare" | "typeset" | "local" | "readonly" | "export" => {
            has(&|w| w.starts_with(['-', '+']) && w.contains('i'))
        }
        _ => false,
    }
}

/// `eval X`, `sh -c X`, `python -c X`, `ssh HOST X` and the like.
fn reads_code(command: &Command) -> bool {
    // Whether an interpreter was named and only its options followed.
    let mut interpreter = false;
    // Whether the word at hand is its code.
    let mut code = false;
    for word in &command.words {
        let name = word.rsplit('/').next().unwrap_or(word);
        match name {
            "eval" | "ssh" | "trap" => return true,
            "sh" | "bash" | "dash" | "zsh" | "ksh" | "mksh" | "ash" | "csh" | "tcsh" | "fish" | "su" | "python"
            | "python3" | "perl" | "ruby" | "node" | "php" => {
                interpreter = true;
            }
            _ if !interpreter => {}
            // `sh +e -c X`
            _ if word.starts_with("--") || word.starts_with('+') => {}
            _ if word.starts_with('-') && word.ends_with(['c', 'e', 'r']) => code = true,
            // The words behind the code are its arguments.
            _ if code && !word.starts_with('-') => code = false,
            // A script's own options are its own business.
            _ => interpreter = word.starts_with('-'),
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::super::scan::pieces;
    use super::script;

    fn made(command: &str) -> String {
        let script = script(&pieces(command));
        match script.mistakes.first() {
            Some(mistake) => format!("! {}", mistake.message),
            None => script.text,
        }
    }

    #[test]
    fn a_placeholder_is_quoted_for_where_it_stands() {
        let cases = [
            ("cmd {{x}}", "cmd \"${1}\""),
            ("cmd --id={{x}} {{y}}", "cmd --id=\"${1}\" \"${2}\""),
            ("cmd 'a {{x}} b'", "cmd 'a '\"${1}\"' b'"),
            ("cmd \"a {{x}} b\"", "cmd \"a ${1} b\""),
            ("cmd \"$(cat {{x}})\"", "cmd \"$(cat \"${1}\")\""),
            ("cmd \"it's {{x}}\" 'say \"{{y}}\"'", "cmd \"it's ${1}\" 'say \"'\"${2}\"'\"'"),
            ("cmd \\\" {{x}}", "cmd \\\" \"${1}\""),
            ("cat > {{x}} && ls {{x}}", "cat > \"${1}\" && ls \"${2}\""),
            ("A={{x}} cmd # about {{y}}", "A=\"${1}\" cmd # about "),
            ("cmd {{#if x}}--verbose{{/if}} b", "cmd ${1:+\"${1}\"} b"),
            ("cmd --level={{#if x}}high{{else}}low{{/if}}", "cmd --level=\"${1}\""),
            ("cmd 'a{{#if x}} and $b{{/if}}'", "cmd 'a'\"${1}\"''"),
            ("set -euo pipefail; cmd {{x}}", "set -euo pipefail; cmd \"${1}\""),
            ("if test {{x}}; then cmd; fi", "if test \"${1}\"; then cmd; fi"),
            ("[ {{x}} -eq 3 ] && cmd", "[ \"${1}\" -eq 3 ] && cmd"),
            ("[[ {{x}} == a ]] && cmd", "[[ \"${1}\" == a ]] && cmd"),
            ("(cmd {{x}})", "(cmd \"${1}\")"),
            ("declare n={{x}}", "declare n=\"${1}\""),
        ];
        for (command, expected) in cases {
            assert_eq!(made(command), expected, "{command}");
        }
    }

    #[test]
    fn where_a_shell_would_read_the_value_as_code_it_is_refused() {
        for command in [
            "eval {{x}}",
            "eval \"a {{x}}\"",
            "sh -c 'echo {{x}}'",
            "/bin/bash -lc \"{{x}}\"",
            "sh +e -c {{x}}",
            "tcsh -c {{x}}",
            "python3 -c \"print('{{x}}')\"",
            "ssh host ls {{x}}",
            "echo $(( {{x}} + 1 ))",
            "echo ${a:-{{x}}}",
            "echo `cat {{x}}`",
            "cat <<EOF\n{{x}}\nEOF",
            "cmd {{#if x}}--flag value{{/if}}",
            "(( {{x}} > 1 )) && cmd",
            "if (( a < {{x}} )); then cmd; fi",
            "[[ {{x}} -eq 3 ]] && cmd",
            "if [[ 3 -lt {{x}} ]]; then cmd; fi",
            "let n={{x}}",
            "declare -i n={{x}}; cmd $n",
            "[ -v {{x}} ] && cmd",
            "test -v {{x}}",
            "cmd {{#if x}}; rm -rf y{{/if}}",
            "f() { echo {{x}}; }; f a",
            "set -- a; echo {{x}}",
            "echo \"$1\" {{x}}",
            r"cmd \\{{x}}",
        ] {
            assert!(made(command).starts_with('!'), "{command}: {}", made(command));
        }
    }

    #[test]
    fn the_options_of_a_script_are_not_those_of_its_interpreter() {
        assert_eq!(made("python main.py -r {{x}}"), "python main.py -r \"${1}\"");
        assert!(made("bash -x -c {{x}}").starts_with('!'));
        assert_eq!(made("python -c 'import sys' {{x}}"), "python -c 'import sys' \"${1}\"");
        assert!(made("perl -e 'a' -e {{x}}").starts_with('!'));
    }

    #[test]
    fn a_script_without_placeholders_is_left_as_it_is() {
        let text = "f() { echo \"$1\"; }; set -- a b; for i in \"$@\"; do f $i; done; cat <<EOF\n$(( 1 + 2 ))\nEOF";
        assert_eq!(made(text), text);
    }

    #[test]
    fn a_program_that_comes_from_data_is_noticed() {
        assert!(script(&pieces("{{x}} -v")).program_from_data.is_some());
        assert!(script(&pieces("A=b {{x}}")).program_from_data.is_some());
        assert!(script(&pieces("cmd {{x}}")).program_from_data.is_none());
        assert!(script(&pieces("cmd; {{x}}")).program_from_data.is_some());
    }
}
