//! A word of a command as the one who follows values sees it.

use std::collections::BTreeSet;

use trefoil_shell::{Part, Word, assigned, is_keyword, is_name};

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
        assigned(&self.lead)
    }
    /// `NAME[...]=`: where the subscript begins and ends.
    pub fn assigns_element(&self) -> Option<(&str, usize, usize)> {
        let (name, rest) = self.text.split_once('[')?;
        let end = rest.find("]=").or_else(|| rest.find("]+="))?;
        let from = name.len() + 1;
        is_name(name).then_some((name, from, from + end))
    }
    pub fn is_keyword(&self) -> bool {
        self.whole.as_deref().is_some_and(is_keyword)
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

/// Where the files are that `<( )` stands for.
pub(super) const DESCRIPTOR: &str = "/dev/fd/";

/// The parts of a word, with what `${ }` can become in its place.
pub(super) fn flat(word: &[Part]) -> Vec<&Part> {
    let mut all = Vec::new();
    for part in word {
        match part {
            Part::Expansion { parts, .. } => all.extend(flat(parts)),
            part => all.push(part),
        }
    }
    all
}

/// The text of a word without values.
pub(super) fn whole(word: &Word) -> Option<String> {
    flat(word).into_iter().map(|part| if let Part::Text(text, _) = part { Some(text.as_str()) } else { None }).collect()
}

/// A word as the name of a file; none: a command prints it.
pub(super) fn key(word: &Word) -> Option<String> {
    flat(word)
        .into_iter()
        .map(|part| match part {
            Part::Text(text, _) => Some(text.clone()),
            Part::Variable(name, _) => Some(format!("${{{name}}}")),
            _ => None,
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
    let parts = flat(word);
    let text = |part: &Part| if let Part::Text(text, _) = part { Some(text.clone()) } else { None };
    let all: String = parts.iter().filter_map(|p| text(p)).collect();
    let last = all.rsplit('/').next().unwrap_or_default();
    if !last.is_empty() {
        let ends = parts.iter().rev().map_while(|p| text(p)).any(|end| end.contains('/'));
        return Some(Guess { name: last.to_owned(), sure: ends });
    }
    match parts.into_iter().find(|p| !matches!(p, Part::Text(..)))? {
        Part::Commands(_, commands) => match commands.as_slice() {
            [command] => {
                let words: Vec<String> = command.words.iter().map(whole).collect::<Option<_>>()?;
                let finds = matches!(words.first().map(String::as_str), Some("which" | "command" | "type"));
                Some(Guess { name: words.last().filter(|_| finds)?.clone(), sure: true })
            }
            _ => None,
        },
        Part::Variable(name, _) if name == "SHELL" => Some(Guess { name: "sh".to_owned(), sure: false }),
        Part::Variable(name, _) => Some(Guess { name: name.to_ascii_lowercase(), sure: false }),
        _ => None,
    }
}
