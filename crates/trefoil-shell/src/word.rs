//! Properties of a single word.

use crate::{ShellWord, ShellWordPart};

/// The text of a word that consists only of text.
pub fn word_text(word: &ShellWord) -> Option<String> {
    word.iter().map(|part| if let ShellWordPart::Text(text, _) = part { Some(text.as_str()) } else { None }).collect()
}

/// Whether a word before a program is a shell keyword or builtin and not the program itself.
pub fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "if" | "then"
            | "else"
            | "elif"
            | "do"
            | "while"
            | "until"
            | "!"
            | "{"
            | "time"
            | "exec"
            | "command"
            | "builtin"
    )
}

/// Whether a text can be the name of a variable.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The variable that a word sets: `NAME=...`, `NAME+=...`.
pub fn assigned_variable(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('=')?;
    Some(name.strip_suffix('+').unwrap_or(name)).filter(|name| is_name(name))
}
