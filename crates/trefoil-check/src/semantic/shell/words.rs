//! A word of a command as the one who follows values sees it.

use std::collections::BTreeSet;

use super::read::{Part, Word, written};

pub(super) type Names = BTreeSet<String>;

/// A word, and the values in it.
#[derive(Debug, Default, Clone)]
pub(super) struct Seen {
    /// The text before the first value, all of it if there is none.
    pub lead: String,
    /// Each with the text before it, and whether the shell splits it.
    pub values: Vec<(String, Names, bool)>,
    pub whole: Option<String>,
    /// All of its text, with a mark for each value.
    pub text: String,
    /// The same as a file's name, with the names of the variables: two words with one name are one file.
    pub key: Option<String>,
    /// What the program is called that it names, as far as one can tell.
    pub guess: Option<Guess>,
    /// It stands for as many words as there are.
    pub many: bool,
}

/// Stands for a value in a text.
pub(super) const VALUE: char = '\u{fffd}';

impl Seen {
    /// What `xargs` puts behind the words of its own.
    pub fn appended(names: Names) -> Self {
        let values = vec![(String::new(), names, false)];
        Seen { values, text: VALUE.into(), many: true, ..Seen::default() }
    }
    pub fn names(&self) -> Names {
        self.values.iter().flat_map(|(_, names, _)| names.iter().cloned()).collect()
    }
    /// The values in the first bytes of its text.
    pub fn names_before(&self, end: usize) -> Names {
        self.values.iter().filter(|(before, ..)| before.len() < end).flat_map(|(_, names, _)| names.clone()).collect()
    }
    /// The values that decide how it begins.
    pub fn first(&self) -> Names {
        match self.values.first() {
            Some((before, names, _)) if before.is_empty() => names.clone(),
            _ => Names::new(),
        }
    }
    /// The last part of a written path.
    pub fn program(&self) -> &str {
        let path = self.whole.as_deref().unwrap_or_default();
        path.rsplit('/').next().unwrap_or(path)
    }
    pub fn assigns(&self) -> Option<&str> {
        let (name, _) = self.lead.split_once('=')?;
        let name = name.strip_suffix('+').unwrap_or(name);
        is_name(name).then_some(name)
    }
    /// `NAME[...]=`: where the subscript begins and ends.
    pub fn assigns_element(&self) -> Option<(&str, usize, usize)> {
        let (name, rest) = self.text.split_once('[')?;
        let end = rest.find("]=").or_else(|| rest.find("]+="))?;
        let from = name.len() + 1;
        is_name(name).then_some((name, from, from + end))
    }
    pub fn is_keyword(&self) -> bool {
        let words =
            ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "exec", "command", "builtin"];
        self.whole.as_deref().is_some_and(|w| words.contains(&w))
    }
    /// The same with values where a mark stands; none: it stands nowhere.
    pub fn filled(&self, mark: &str, names: &Names) -> Option<Self> {
        let whole = self.whole.as_deref().filter(|w| !mark.is_empty() && w.contains(mark))?;
        let mut seen = Seen::default();
        let mut before = String::new();
        for (i, text) in whole.split(mark).enumerate() {
            if i > 0 {
                if i == 1 {
                    seen.lead.clone_from(&before);
                }
                seen.values.push((before.clone(), names.clone(), false));
                before.push(VALUE);
            }
            before.push_str(text);
        }
        seen.text = before;
        Some(seen)
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A word as the name of a file; none: a command prints it.
pub(super) fn key(word: &Word) -> Option<String> {
    word.iter()
        .map(|part| match part {
            Part::Text(text) => Some(text.clone()),
            Part::Variable(name, _) => Some(format!("${{{name}}}")),
            Part::Output(_) => None,
        })
        .collect()
}

/// The name of a program that is not written as a whole.
#[derive(Debug, Clone)]
pub(super) struct Guess {
    pub name: String,
    /// It is written: `"$BIN/tool"`, `$(which tool)`.
    pub sure: bool,
}

/// The program that a word with values names: `"$BIN/sh"`, `$(which sh)`, and perhaps `${SHELL:-sh}`, `"$PYTHON"`.
pub(super) fn guess(word: &Word) -> Option<Guess> {
    let text: String =
        word.iter().filter_map(|p| if let Part::Text(t) = p { Some(t.as_str()) } else { None }).collect();
    let last = text.rsplit('/').next().unwrap_or_default();
    if !last.is_empty() {
        let ends = matches!(word.last(), Some(Part::Text(end)) if end.contains('/'));
        return Some(Guess { name: last.to_owned(), sure: ends });
    }
    match word.iter().find(|p| !matches!(p, Part::Text(_)))? {
        Part::Output(commands) => match commands.as_slice() {
            [command] => {
                let words: Vec<String> = command.words.iter().map(written).collect::<Option<_>>()?;
                let finds = matches!(words.first().map(String::as_str), Some("which" | "command" | "type"));
                Some(Guess { name: words.last().filter(|_| finds)?.clone(), sure: true })
            }
            _ => None,
        },
        Part::Variable(name, _) if name == "SHELL" => Some(Guess { name: "sh".to_owned(), sure: false }),
        Part::Variable(name, _) => Some(Guess { name: name.to_ascii_lowercase(), sure: false }),
        Part::Text(_) => None,
    }
}
