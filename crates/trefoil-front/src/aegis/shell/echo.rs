//! A plain `echo`: words and quoted text, nothing that a shell would expand. It needs no shell and no permission.

use super::scan::{Piece, pieces};

/// Text and placeholders of what an `echo` prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// Text.
    Text(String),
    /// The placeholder (or block) of these bytes.
    Value(std::ops::Range<usize>),
}

/// Whether a command is a plain `echo`.
pub fn is_plain_echo(command: &str) -> bool {
    words(command).is_some()
}

/// What a plain `echo` prints, line end included; none: it is not one.
pub fn words(command: &str) -> Option<Vec<Word>> {
    let mut out: Vec<Word> = Vec::new();
    let mut quote: Option<char> = None;
    // Position in the list of words: the first one is the program.
    let mut started = false;
    let mut count = 0;
    let mut program = String::new();
    for piece in pieces(command) {
        match piece {
            Piece::Text(text) => {
                for c in text.trim_end_matches('\n').chars() {
                    match (quote, c) {
                        (Some(q), c) if c == q => quote = None,
                        (Some('"'), '$' | '`' | '\\') => return None,
                        (None, '\'' | '"') => {
                            quote = Some(c);
                            begin(&mut out, &mut started, &mut count);
                        }
                        (None, ' ' | '\t') => started = false,
                        (None, c) if special(c, started) => return None,
                        (_, '\\') => return None,
                        (_, c) => {
                            begin(&mut out, &mut started, &mut count);
                            if count == 1 { program.push(c) } else { push(&mut out, c) }
                        }
                    }
                }
            }
            Piece::Value(range) | Piece::Block { range, .. } => {
                begin(&mut out, &mut started, &mut count);
                if count == 1 {
                    return None;
                }
                out.push(Word::Value(range));
            }
        }
    }
    if program != "echo" || quote.is_some() {
        return None;
    }
    // Options that change what is printed.
    if let Some(Word::Text(first)) = out.first()
        && first.split(' ').next().is_some_and(|w| w.len() > 1 && w.strip_prefix('-').is_some_and(is_option))
    {
        return None;
    }
    push(&mut out, '\n');
    Some(out)
}

fn is_option(letters: &str) -> bool {
    letters.chars().all(|c| matches!(c, 'n' | 'e' | 'E'))
}

/// A new word: behind the first argument a space separates.
fn begin(out: &mut Vec<Word>, started: &mut bool, count: &mut usize) {
    if !std::mem::replace(started, true) {
        *count += 1;
        if *count > 2 {
            push(out, ' ');
        }
    }
}

fn push(out: &mut Vec<Word>, c: char) {
    match out.last_mut() {
        Some(Word::Text(text)) => text.push(c),
        _ => out.push(Word::Text(c.into())),
    }
}

/// Characters outside quotes that mean something to a shell.
fn special(c: char, inside_word: bool) -> bool {
    match c {
        '~' | '#' => !inside_word,
        '$' | '`' | ';' | '&' | '|' | '<' | '>' | '(' | ')' | '{' | '}' | '*' | '?' | '[' | ']' | '!' | '\\' | '\n'
        | '\r' => true,
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::{Word, words};

    fn printed(command: &str) -> Option<String> {
        let parts = words(command)?;
        Some(
            parts
                .into_iter()
                .map(|w| match w {
                    Word::Text(t) => t,
                    Word::Value(r) => format!("<{}>", &command[r]),
                })
                .collect(),
        )
    }

    #[test]
    fn a_plain_echo_prints_what_a_shell_would() {
        let cases = [
            ("echo", Some("\n")),
            ("  echo  ", Some("\n")),
            ("echo done", Some("done\n")),
            ("echo a   b", Some("a b\n")),
            ("echo 'a   b' \"c\"d", Some("a   b cd\n")),
            ("echo 'it {{x}}' {{y}}!", None),
            ("echo 'it {{x}}' {{y}}.", Some("it <{{x}}> <{{y}}>.\n")),
            ("echo ''", Some("\n")),
            ("echo '' a", Some(" a\n")),
            ("echo don#t a#b", Some("don#t a#b\n")),
            ("echo \"a\nb\"", Some("a\nb\n")),
        ];
        for (command, expected) in cases {
            assert_eq!(printed(command).as_deref(), expected, "{command}");
        }
    }

    #[test]
    fn what_a_shell_would_expand_is_not_plain() {
        for command in [
            "echo $HOME",
            "echo \"$(ls)\"",
            "echo `ls`",
            "echo a; rm b",
            "echo a > f",
            "echo *",
            "echo a | b",
            "echo -n a",
            "echo -e 'a\\n'",
            "echo 'open",
            "echoes",
            "/bin/echo a",
            "{{x}}",
            "echo a\necho b",
            "echo a \\\nb",
            "echo # c",
            "echo ~",
        ] {
            assert_eq!(printed(command), None, "{command}");
        }
    }
}
