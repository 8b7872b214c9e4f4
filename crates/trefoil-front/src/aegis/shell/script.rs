//! A script with positional parameters instead of placeholders: `"${1}"` where the shell reads words, the same between
//! closing and reopening quotes inside single quotes, bare inside double quotes. The value of a parameter is never read
//! as code. Where a shell would read it again (`eval`, `sh -c`, arithmetic, here-documents), a placeholder is a
//! mistake.

use std::ops::Range;

use trefoil_shell::{CommandSubstitution, QuoteStyle, ShellCommand, ShellWordPart, assigned_variable, is_keyword};

use super::HoledScript;
use super::command_pieces::CommandPiece;

/// A script, and the spans of the placeholders that became its parameters, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ParameterizedScript {
    /// For `sh -c`.
    pub text: String,
    /// The parameters, starting with number 1.
    pub parameters: Vec<Range<usize>>,
    /// Set if the program itself is a placeholder.
    pub program_from_data: Option<Range<usize>>,
    /// The quote that is still open at its end, if any.
    pub open: Option<char>,
    /// Placeholders that cannot be parameters.
    pub mistakes: Vec<PlaceholderMistake>,
}

/// A placeholder that cannot be a parameter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlaceholderMistake {
    /// Its span.
    pub range: Range<usize>,
    /// The reason.
    pub message: &'static str,
}

const AGAIN: &str = "a placeholder is not allowed in text that a shell parses again as code";
const BACKTICKS: &str = "a placeholder is not allowed inside backticks: write `$( )`";
const BACKSLASH: &str = "a placeholder is not allowed after a backslash";
const BLOCK: &str = "a block is not allowed around shell syntax";
const COMPUTED: &str = "a placeholder is not allowed in shell arithmetic, which evaluates its value as code";
const COMPUTES: &str = "a placeholder is not allowed here: the shell may evaluate its value as arithmetic";
const EXPANSION: &str = "a placeholder is not allowed inside `${ }`";
const HERE_DOCUMENT: &str = "a placeholder is not allowed in or after a here-document";
const MOVED: &str = "a placeholder is not allowed in a script that defines functions or uses `set`, `shift` or `$1`";

/// A hole at its place in the script.
#[derive(Debug, Clone, Copy)]
struct ScriptHole {
    quoted: QuoteStyle,
    /// Why it cannot be a parameter.
    refused: Option<&'static str>,
    /// Whether it names a program.
    is_program: bool,
    /// Whether it is its whole word.
    alone: bool,
    /// Whether the enclosing command may do arithmetic with its words.
    computes: bool,
}

/// A hole that was not found in the commands: it is nested too deeply, or in text that the shell reads only later.
const UNREAD: ScriptHole =
    ScriptHole { quoted: QuoteStyle::Not, refused: Some(AGAIN), is_program: false, alone: false, computes: false };

/// The holes of a script.
struct ScriptHoles {
    all: Vec<ScriptHole>,
    /// Whether the script has function definitions, `set` or `shift`, which change the parameters.
    moves_parameters: bool,
}

/// The context of a word.
#[derive(Clone, Copy)]
struct WordContext<'w> {
    /// Why no hole in it can be a parameter.
    refused: Option<&'static str>,
    /// Whether an enclosing command, other than the word's own, reads its words as code.
    again: bool,
    /// The words before it in its command; `None`: it is not a word of a command.
    before: Option<&'w [String]>,
    /// Whether its command may do arithmetic with its words.
    computes: bool,
}

/// Makes the script from a split command line.
pub fn build_script(pieces: &[CommandPiece], holed: &HoledScript) -> ParameterizedScript {
    let read = &holed.script;
    let mut holes = ScriptHoles { all: vec![UNREAD; holed.count], moves_parameters: false };
    holes.commands(&read.commands, None, false);
    let mut out = ParameterizedScript::default();
    let mut number = 0;
    for piece in pieces {
        let (range, inner) = match piece {
            CommandPiece::Text(text) => {
                out.text.push_str(text);
                continue;
            }
            CommandPiece::Value(range) => (range, None),
            CommandPiece::Block { range, inner } => (range, Some(inner)),
        };
        let hole = holes.all.get(number).copied().unwrap_or(UNREAD);
        let late = matches!(read.here_document, Some(first) if number >= first);
        let comment = read.comments.contains(&number);
        number += 1;
        if comment {
            continue;
        }
        let refused = match inner {
            Some(inner) if !is_data(inner, hole.quoted) => Some(BLOCK),
            _ if late => Some(HERE_DOCUMENT),
            _ => hole.refused,
        };
        if let Some(message) = refused {
            out.mistakes.push(PlaceholderMistake { range: range.clone(), message });
            continue;
        }
        if hole.is_program {
            out.program_from_data.get_or_insert(range.clone());
        }
        if hole.computes {
            out.mistakes.push(PlaceholderMistake { range: range.clone(), message: COMPUTES });
        }
        out.parameters.push(range.clone());
        let n = out.parameters.len();
        out.text.push_str(&match hole.quoted {
            QuoteStyle::Single => format!("'\"${{{n}}}\"'"),
            // Directly after a `$`, the parameter would be read as the process id followed by text.
            QuoteStyle::Double if ends_in_dollar(&out.text) => format!("\"\"${{{n}}}"),
            QuoteStyle::Double => format!("${{{n}}}"),
            // An unquoted block that renders to nothing must not become an empty word.
            QuoteStyle::Not if hole.alone && inner.is_some() => format!("${{{n}:+\"${{{n}}}\"}}"),
            QuoteStyle::Not => format!("\"${{{n}}}\""),
        });
    }
    if holes.moves_parameters
        && let Some(first) = out.parameters.first()
    {
        out.mistakes.push(PlaceholderMistake { range: first.clone(), message: MOVED });
    }
    // The contents of a here-document are not parsed.
    if read.here_document.is_none() && out.mistakes.is_empty() {
        out.open = read.open;
    }
    out
}

/// Whether a script ends in a `$` that no backslash escapes.
fn ends_in_dollar(script: &str) -> bool {
    let Some(before) = script.strip_suffix('$') else { return false };
    let backslashes = before.len() - before.trim_end_matches('\\').len();
    backslashes % 2 == 0
}

/// Whether the texts inside a block are only data for the shell.
fn is_data(inner: &str, quoted: QuoteStyle) -> bool {
    match quoted {
        QuoteStyle::Single => !inner.contains('\''),
        QuoteStyle::Double => !inner.contains(['"', '$', '`', '\\']),
        QuoteStyle::Not => inner.chars().all(|c| c.is_alphanumeric() || "_-./:=@%+,".contains(c)),
    }
}

impl ScriptHoles {
    fn commands(&mut self, commands: &[ShellCommand], refused: Option<&'static str>, again: bool) {
        for command in commands {
            let words: Vec<String> = command.words.iter().map(|word| text(word)).collect();
            let computes = computes(&words);
            self.moves_parameters |= command.defines || moves_parameters(&words);
            for (at, word) in command.words.iter().enumerate() {
                let before = words.get(..at);
                let again = again || reads_code(before.unwrap_or_default());
                self.word(word, WordContext { refused, again, before, computes });
            }
            for (_, word) in &command.redirects {
                let again = again || reads_code(&words);
                self.word(word, WordContext { refused, again, before: None, computes });
            }
        }
    }

    fn word(&mut self, parts: &[ShellWordPart], around: WordContext<'_>) {
        let within = |message| WordContext { refused: around.refused.or(Some(message)), before: None, ..around };
        let mut starts = true;
        for part in parts {
            match part {
                ShellWordPart::Hole { number, quoted, escaped } => {
                    let is_first = matches!(around.before, Some(words) if words.iter().all(|word| precedes(word)));
                    let refused = match around.refused {
                        Some(message) => Some(message),
                        None if *escaped && *quoted != QuoteStyle::Single => Some(BACKSLASH),
                        None if around.again => Some(AGAIN),
                        None => None,
                    };
                    let hole = ScriptHole {
                        quoted: *quoted,
                        refused,
                        is_program: starts && is_first,
                        alone: parts.len() == 1,
                        computes: around.computes,
                    };
                    if let Some(place) = self.all.get_mut(*number) {
                        *place = hole;
                    }
                }
                ShellWordPart::Text(text, _) => starts &= text.is_empty(),
                ShellWordPart::Variable(name, _) => {
                    self.moves_parameters |= is_positional(name);
                    starts = false;
                }
                ShellWordPart::Expansion { name, parts } => {
                    self.moves_parameters |= is_positional(name);
                    self.word(parts, within(EXPANSION));
                    starts = false;
                }
                ShellWordPart::Commands(from, commands) => {
                    let refused = match around.refused {
                        None if *from == CommandSubstitution::Backtick => Some(BACKTICKS),
                        refused => refused,
                    };
                    self.commands(commands, refused, around.again);
                }
                ShellWordPart::Arithmetic(inner) | ShellWordPart::Subscript(_, inner) => {
                    self.word(inner, within(COMPUTED))
                }
                ShellWordPart::Indirect(_) | ShellWordPart::Evaluated(_) => {}
            }
        }
    }
}

/// A word as text, to recognise programs and options.
fn text(word: &[ShellWordPart]) -> String {
    let mut all = String::new();
    for part in word {
        match part {
            ShellWordPart::Text(text, _) => all.push_str(text),
            ShellWordPart::Variable(name, _) => all.extend(["$", name]),
            _ => {}
        }
    }
    all
}

/// Whether a word comes before the program of its command.
fn precedes(word: &str) -> bool {
    is_keyword(word) || assigned_variable(word).is_some()
}

fn is_positional(name: &str) -> bool {
    matches!(name, "@" | "*" | "#") || name.starts_with(|c: char| matches!(c, '1'..='9'))
}

/// The words of a command, starting with its program.
fn from_program(words: &[String]) -> impl Iterator<Item = &str> {
    words.iter().map(String::as_str).skip_while(|word| precedes(word))
}

/// Whether a command changes the parameters of the script.
fn moves_parameters(words: &[String]) -> bool {
    let mut words = from_program(words);
    match words.next() {
        Some("shift" | "function" | "getopts") => true,
        Some("set") => sets_parameters(words),
        _ => false,
    }
}

/// `set -e` only sets an option; `set -- a` and `set a` set new parameters.
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

/// Whether a command does arithmetic with its words, or reads them as variable names with computed subscripts. Bash,
/// which may be the shell, runs commands in such expressions.
fn computes(words: &[String]) -> bool {
    let mut words = from_program(words);
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
fn reads_code(words: &[String]) -> bool {
    // Whether an interpreter was named, followed only by its options.
    let mut interpreter = false;
    // Whether the current word is its code.
    let mut code = false;
    for word in words {
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
            // The words after the code are its arguments.
            _ if code && !word.starts_with('-') => code = false,
            // The options of a script do not matter here.
            _ => interpreter = word.starts_with('-'),
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::super::HoledScript;
    use super::super::command_pieces::split_command;
    use super::ParameterizedScript;

    fn script(command: &str) -> ParameterizedScript {
        let pieces = split_command(command);
        super::build_script(&pieces, &HoledScript::read(&pieces))
    }

    fn made(command: &str) -> String {
        let script = script(command);
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
            ("cmd \"costs ${{x}} or \\${{y}}\"", "cmd \"costs $\"\"${1} or \\$${2}\""),
            ("diff <(cmd {{x}}) b", "diff <(cmd \"${1}\") b"),
            ("cmd ${#NAME} {{x}}", "cmd ${#NAME} \"${1}\""),
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
            "sh 2>log -c {{x}}",
            "sh 2>&1 -c {{x}}",
            "cmd $[ {{x}} + 1 ]",
            "cmd $(( $1 + 1 )) {{x}}",
            "cmd `ls $1` {{x}}",
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
        assert!(script("{{x}} -v").program_from_data.is_some());
        assert!(script("A=b {{x}}").program_from_data.is_some());
        assert!(script("cmd {{x}}").program_from_data.is_none());
        assert!(script("> {{x}} cmd").program_from_data.is_none());
        assert!(script("cmd; {{x}}").program_from_data.is_some());
    }
}
