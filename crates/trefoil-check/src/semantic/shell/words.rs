//! A word of a command, with the values in it.

use std::collections::BTreeSet;

use trefoil_shell::{ShellWord, ShellWordPart, assigned_variable, is_keyword, is_name};

pub(super) type ValueNames = BTreeSet<String>;

/// The number of values that are followed through one variable, so that a script which adds to one variable again and
/// again takes linear time.
const MOST: usize = 256;

/// A word, and the values in it.
#[derive(Debug, Default, Clone)]
pub(super) struct WordValues {
    /// The text before the first value; the whole text if there is none.
    pub lead: String,
    /// Each value with the text before it, and whether the shell splits it.
    pub values: Vec<(String, ValueNames, bool)>,
    pub whole: Option<String>,
    /// The whole text, with a marker for each value.
    pub text: String,
    /// The word as a file name, with the names of variables: words with equal keys are the same file.
    pub key: Option<String>,
    /// The name of the program, as far as it can be determined.
    pub guess: Option<ProgramGuess>,
    /// Whether it stands for any number of words.
    pub many: bool,
}

/// The marker for a value in a text.
pub(super) const VALUE: char = '\u{fffd}';

impl WordValues {
    /// The words that `xargs` appends to its own.
    pub fn from_appended(names: ValueNames) -> Self {
        let values = vec![(String::new(), names, false)];
        WordValues { values, text: VALUE.into(), many: true, ..WordValues::default() }
    }
    pub fn value_names(&self) -> ValueNames {
        self.values.iter().flat_map(|(_, names, _)| names.iter().cloned()).take(MOST).collect()
    }
    /// The values in the first bytes of its text.
    pub fn names_before(&self, end: usize) -> ValueNames {
        self.values.iter().filter(|(before, ..)| before.len() < end).flat_map(|(_, names, _)| names.clone()).collect()
    }
    /// The values that determine its first characters.
    pub fn leading_names(&self) -> ValueNames {
        match self.values.first() {
            Some((before, names, _)) if before.is_empty() => names.clone(),
            _ => ValueNames::new(),
        }
    }
    /// The last component of a literal path.
    pub fn program_name(&self) -> &str {
        let path = self.whole.as_deref().unwrap_or_default();
        path.rsplit('/').next().unwrap_or(path)
    }
    /// Whether it is a literal path from the current folder.
    pub fn is_local(&self) -> bool {
        self.whole.as_deref().is_some_and(|path| !path.is_empty() && !path.starts_with(['/', '~', '-']))
    }
    /// The rest of the word after a literal start.
    pub fn strip_start(&self, start: &str) -> Option<Self> {
        let cut = |text: &String| text.strip_prefix(start).map(str::to_owned);
        Some(WordValues {
            lead: cut(&self.lead)?,
            values: self
                .values
                .iter()
                .filter_map(|(b, names, splits)| Some((cut(b)?, names.clone(), *splits)))
                .collect(),
            whole: self.whole.as_ref().and_then(cut),
            text: cut(&self.text)?,
            key: self.key.as_ref().and_then(cut),
            guess: None,
            many: self.many,
        })
    }
    pub fn assigned_name(&self) -> Option<&str> {
        assigned_variable(&self.lead)
    }
    /// `NAME[...]=`: the name, and the start and end of the subscript.
    pub fn assigns_element(&self) -> Option<(&str, usize, usize)> {
        let (name, rest) = self.text.split_once('[')?;
        let end = rest.find("]=").or_else(|| rest.find("]+="))?;
        let from = name.len() + 1;
        is_name(name).then_some((name, from, from + end))
    }
    pub fn is_keyword(&self) -> bool {
        self.whole.as_deref().is_some_and(is_keyword)
    }
    /// The word with values at the markers `mark`; `None`: it contains none.
    pub fn fill_marks(&self, mark: &str, names: &ValueNames) -> Option<Self> {
        let whole = self.whole.as_deref().filter(|w| !mark.is_empty() && w.contains(mark))?;
        let mut seen = WordValues::default();
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

/// The folder of the files that `<( )` is replaced by.
pub(super) const DESCRIPTOR: &str = "/dev/fd/";

/// The parts of a word, with the possible replacements of `${ }`.
pub(super) fn flatten_parts(word: &[ShellWordPart]) -> Vec<&ShellWordPart> {
    let mut all = Vec::new();
    for part in word {
        match part {
            ShellWordPart::Expansion { parts, .. } => all.extend(flatten_parts(parts)),
            part => all.push(part),
        }
    }
    all
}

/// The text of a word without values.
pub(super) fn flat_text(word: &ShellWord) -> Option<String> {
    flatten_parts(word)
        .into_iter()
        .map(|part| if let ShellWordPart::Text(text, _) = part { Some(text.as_str()) } else { None })
        .collect()
}

/// A word as a file name; `None`: it contains a command's output.
pub(super) fn file_name_key(word: &ShellWord) -> Option<String> {
    flatten_parts(word)
        .into_iter()
        .map(|part| match part {
            ShellWordPart::Text(text, _) => Some(text.clone()),
            ShellWordPart::Variable(name, _) => Some(format!("${{{name}}}")),
            _ => None,
        })
        .collect()
}

/// The name of a program that is not a literal.
#[derive(Debug, Clone)]
pub(super) struct ProgramGuess {
    pub name: String,
    /// Whether the name is literal: `"$BIN/tool"`, `$(which tool)`.
    pub sure: bool,
}

/// The program that a word with values names: `"$BIN/sh"`, `$(which sh)`, and possibly `${SHELL:-sh}`, `"$PYTHON"`.
pub(super) fn guess_program(word: &ShellWord) -> Option<ProgramGuess> {
    let parts = flatten_parts(word);
    let text = |part: &ShellWordPart| if let ShellWordPart::Text(text, _) = part { Some(text.clone()) } else { None };
    let all: String = parts.iter().filter_map(|p| text(p)).collect();
    let last = all.rsplit('/').next().unwrap_or_default();
    if !last.is_empty() {
        let ends = parts.iter().rev().map_while(|p| text(p)).any(|end| end.contains('/'));
        return Some(ProgramGuess { name: last.to_owned(), sure: ends });
    }
    match parts.into_iter().find(|p| !matches!(p, ShellWordPart::Text(..)))? {
        ShellWordPart::Commands(_, commands) => match commands.as_slice() {
            [command] => {
                let words: Vec<String> = command.words.iter().map(flat_text).collect::<Option<_>>()?;
                let finds = matches!(words.first().map(String::as_str), Some("which" | "command" | "type"));
                Some(ProgramGuess { name: words.last().filter(|_| finds)?.clone(), sure: true })
            }
            _ => None,
        },
        ShellWordPart::Variable(name, _) if name == "SHELL" => {
            Some(ProgramGuess { name: "sh".to_owned(), sure: false })
        }
        ShellWordPart::Variable(name, _) => Some(ProgramGuess { name: name.to_ascii_lowercase(), sure: false }),
        _ => None,
    }
}
