//! A word of a command, with the values in it.

use std::collections::BTreeSet;

use trefoil_shell::{ShellWord, ShellWordPart, assigned_variable, is_keyword};

pub(super) type ValueNames = BTreeSet<String>;

/// The number of values that are followed through one variable, so that a script which adds to one variable again and
/// again takes linear time.
const MOST: usize = 256;

/// The marker for a value in a text.
pub(super) const VALUE: char = '\u{fffd}';

/// A value in a word.
#[derive(Debug, Clone)]
pub(super) struct InsertedNames {
    /// The text of the word before it, with a marker for each earlier value.
    pub before: String,
    /// The values that it may be.
    pub names: ValueNames,
    /// Whether the shell splits it into words.
    pub splits: bool,
}

/// A word, and the values in it.
#[derive(Debug, Default, Clone)]
pub(super) struct WordValues {
    /// The text before the first value; the whole text if there is none.
    pub lead: String,
    pub values: Vec<InsertedNames>,
    /// The whole text of a word without values.
    pub whole: Option<String>,
    /// The whole text, with a marker for each value.
    pub text: String,
}

impl WordValues {
    pub fn value_names(&self) -> ValueNames {
        self.values.iter().flat_map(|value| value.names.iter().cloned()).take(MOST).collect()
    }
    /// The values right after this start of the word.
    pub fn names_after(&self, start: &str) -> ValueNames {
        match self.values.first() {
            Some(value) if value.before == start => value.names.clone(),
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
    /// Whether it is an option: a dash with something after it.
    pub fn is_option(&self) -> bool {
        self.lead.len() > 1 && self.lead.starts_with('-')
    }
    pub fn is_written(&self, text: &str) -> bool {
        self.whole.as_deref() == Some(text)
    }
    pub fn assigned_name(&self) -> Option<&str> {
        assigned_variable(&self.lead)
    }
    pub fn is_keyword(&self) -> bool {
        self.whole.as_deref().is_some_and(is_keyword)
    }
}

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
    let mut whole = String::new();
    for part in flatten_parts(word) {
        let ShellWordPart::Text(text, _) = part else { return None };
        whole.push_str(text);
    }
    Some(whole)
}
