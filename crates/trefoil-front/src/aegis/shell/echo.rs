//! A plain `echo`: words and quoted text without shell expansions. It needs no shell and no permission.

use std::ops::Range;

use trefoil_shell::{QuoteStyle, ShellWordPart, word_text};

use super::HoledScript;
use super::command_pieces::{CommandPiece, split_command};

/// A part of the output of an `echo`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EchoPart {
    /// Text.
    Text(String),
    /// The placeholder (or block) of these bytes.
    Value(Range<usize>),
}

/// Whether a command is a plain `echo`.
pub fn is_plain_echo(command: &str) -> bool {
    let pieces = split_command(command);
    echo_parts(&pieces, &HoledScript::read(&pieces)).is_some()
}

/// The output of a plain `echo`, including the line end; `None` if it is not one.
pub fn echo_parts(pieces: &[CommandPiece], holed: &HoledScript) -> Option<Vec<EchoPart>> {
    let script = &holed.script;
    // The meaning of a backslash differs between shells.
    let backslash = pieces.iter().any(|piece| matches!(piece, CommandPiece::Text(text) if text.contains('\\')));
    let [command] = script.commands.as_slice() else { return None };
    let [program, arguments @ ..] = command.words.as_slice() else { return None };
    if backslash || script.compound || script.open.is_some() || word_text(program)? != "echo" {
        return None;
    }
    let mut out = Vec::new();
    let mut values = pieces.iter().filter_map(|piece| match piece {
        CommandPiece::Value(range) | CommandPiece::Block { range, .. } => Some(range),
        CommandPiece::Text(_) => None,
    });
    for (index, word) in arguments.iter().enumerate() {
        if index > 0 {
            push(&mut out, " ");
        }
        if matches!(word.first(), Some(ShellWordPart::Text(text, QuoteStyle::Not)) if text.starts_with('~')) {
            return None;
        }
        for part in word {
            match part {
                ShellWordPart::Text(text, QuoteStyle::Not) if text.contains(special) => return None,
                ShellWordPart::Text(text, _) => push(&mut out, text),
                ShellWordPart::Hole { .. } => out.push(EchoPart::Value(values.next()?.clone())),
                _ => return None,
            }
        }
    }
    // Reject options that change the output.
    if let Some(EchoPart::Text(first)) = out.first()
        && let Some(letters) = first.split(' ').next().unwrap_or_default().strip_prefix('-')
        && !letters.is_empty()
        && is_option(letters)
    {
        return None;
    }
    push(&mut out, "\n");
    Some(out)
}

fn is_option(letters: &str) -> bool {
    letters.chars().all(|c| matches!(c, 'n' | 'e' | 'E'))
}

fn push(out: &mut Vec<EchoPart>, more: &str) {
    match out.last_mut() {
        Some(EchoPart::Text(text)) => text.push_str(more),
        _ if more.is_empty() => {}
        _ => out.push(EchoPart::Text(more.into())),
    }
}

/// Characters that are special to a shell outside quotes but are not operators: patterns, braces, history.
fn special(c: char) -> bool {
    matches!(c, '$' | '{' | '}' | '*' | '?' | '[' | ']' | '!')
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::super::HoledScript;
    use super::super::command_pieces::split_command;
    use super::{EchoPart, echo_parts};

    fn printed(command: &str) -> Option<String> {
        let pieces = split_command(command);
        let parts = echo_parts(&pieces, &HoledScript::read(&pieces))?;
        Some(
            parts
                .into_iter()
                .map(|w| match w {
                    EchoPart::Text(t) => t,
                    EchoPart::Value(r) => format!("<{}>", &command[r]),
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
            "echo a\n{{x}}",
            "echo a &",
            "echo a \\\nb",
            "echo # c",
            "echo ~",
        ] {
            assert_eq!(printed(command), None, "{command}");
        }
    }
}
