//! Properties of a single word.

use crate::{ShellWord, ShellWordPart};

/// The text of a word that consists only of text.
pub fn word_text(word: &ShellWord) -> Option<String> {
    let mut whole = String::new();
    for part in word {
        let ShellWordPart::Text(text, _) = part else { return None };
        whole.push_str(text);
    }
    Some(whole)
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
    let name = name.strip_suffix('+').unwrap_or(name);
    if is_name(name) { Some(name) } else { None }
}
