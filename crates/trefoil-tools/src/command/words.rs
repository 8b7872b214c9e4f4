//! The words of a command: `["git", "log", "-n", "{count}", "--", "{path?}"]`.
//!
//! A placeholder is a part of one word, and its value stays in that word, because no shell interprets it. The program
//! could still read the value as an option, so a value at the start of a word must not start with `-`, unless `--`
//! comes before it. `find` and the like also read some words without a dash as operators.

use std::sync::Arc;

use trefoil_runtime::ToolError;
use trefoil_template::ValueObject;

/// Programs that read operators among their arguments, and the operators without a dash.
const WITH_OPERATORS: [&str; 4] = ["find", "test", "[", "expr"];
const OPERATORS: [&str; 4] = ["!", "(", ")", ","];

/// A command with placeholders.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandTemplate(Vec<Vec<WordPart>>);

/// A part of a word.
#[derive(Debug, Clone, PartialEq)]
pub enum WordPart {
    /// Text.
    Text(String),
    /// A parameter. If it is optional and has no value, the whole word is dropped.
    Parameter {
        /// Its name.
        name: Arc<str>,
        /// Whether it is optional.
        optional: bool,
    },
}

impl CommandTemplate {
    /// Parses a command, or returns what is wrong with it.
    pub fn parse(command: &[String]) -> Result<Self, String> {
        let words: Vec<Vec<WordPart>> = command.iter().map(|word| parse(word)).collect::<Result<_, _>>()?;
        match words.first().map(Vec::as_slice) {
            Some([WordPart::Text(program)]) if !program.is_empty() => Ok(Self(words)),
            Some(_) => Err("the program must be a name or a path without placeholders".to_owned()),
            None => Err("a command needs a program".to_owned()),
        }
    }

    /// The parts of each word.
    pub fn word_parts(&self) -> &[Vec<WordPart>] {
        &self.0
    }

    /// Whether its program reads operators among its arguments.
    fn has_operators(&self) -> bool {
        let Some([WordPart::Text(program)]) = self.0.first().map(Vec::as_slice) else { return false };
        matches!(program.rsplit('/').next(), Some(name) if WITH_OPERATORS.contains(&name))
    }

    /// The parameters, and whether they are optional.
    pub fn parameter_names(&self) -> Vec<(Arc<str>, bool)> {
        let mut found: Vec<(Arc<str>, bool)> = Vec::new();
        for part in self.0.iter().flatten() {
            let WordPart::Parameter { name, optional } = part else { continue };
            match found.iter_mut().find(|(have, _)| have == name) {
                Some((_, only)) => *only &= optional,
                None => found.push((name.clone(), *optional)),
            }
        }
        found
    }

    /// Fills in the values.
    pub fn fill_values(&self, arguments: &ValueObject) -> Result<Vec<String>, ToolError> {
        let mut words = Vec::new();
        let mut options_end = false;
        for parts in &self.0 {
            let Some(word) = filled(parts, arguments, options_end)? else { continue };
            let is_value = matches!(parts.as_slice(), [WordPart::Parameter { .. }]);
            if is_value && self.has_operators() && OPERATORS.contains(&word.as_str()) {
                let why = format!("an argument must not be `{word}`, because the command would read it as an operator");
                return Err(ToolError::with_advice(why, "pass another value"));
            }
            options_end |= word == "--" && matches!(parts.as_slice(), [WordPart::Text(_)]);
            words.push(word);
        }
        Ok(words)
    }
}

fn filled(parts: &[WordPart], arguments: &ValueObject, options_end: bool) -> Result<Option<String>, ToolError> {
    let failed = |what: String, help| Err(ToolError::with_advice(what, help));
    let mut word = String::new();
    for part in parts {
        let (name, optional) = match part {
            WordPart::Text(text) => {
                word.push_str(text);
                continue;
            }
            WordPart::Parameter { name, optional } => (name, *optional),
        };
        let value = match arguments.get(&**name) {
            Some(value) if !value.is_null() => value,
            _ if optional => return Ok(None),
            _ => {
                let help = "pass it, or write `{NAME?}` in `command` if it is optional";
                return failed(format!("the parameter `{name}` is missing"), help);
            }
        };
        let text = value.to_text();
        if text.contains('\0') {
            let what = format!("`{name}` contains a NUL character, which is not allowed in command-line arguments");
            return failed(what, "pass another value, or set `input = \"json\"`");
        }
        if word.is_empty() && text.starts_with('-') && !options_end {
            let what = format!("`{name}` must not start with `-`, because the command would read it as an option");
            return failed(what, "pass another value, or write `--` before it in `command`");
        }
        word.push_str(&text);
    }
    Ok(Some(word))
}

fn parse(word: &str) -> Result<Vec<WordPart>, String> {
    let (mut parts, mut text, mut rest) = (Vec::new(), String::new(), word);
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        text.push_str(before);
        if let Some(after) = from.strip_prefix("{{").or_else(|| from.strip_prefix("}}")) {
            text.push_str(from.get(..1).unwrap_or_default());
            rest = after;
            continue;
        }
        let inside = from.strip_prefix('{').and_then(|from| from.split_once('}'));
        let Some((inside, after)) = inside else {
            return Err(format!("`{word}` has a single brace; write `{{{{` or `}}}}` for the character"));
        };
        let (name, optional) = match inside.strip_suffix('?') {
            Some(name) => (name, true),
            None => (inside, false),
        };
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
            return Err(format!("`{{{inside}}}` is not a parameter; write `{{name}}` or `{{name?}}`"));
        }
        if !text.is_empty() {
            parts.push(WordPart::Text(std::mem::take(&mut text)));
        }
        parts.push(WordPart::Parameter { name: name.into(), optional });
        rest = after;
    }
    text.push_str(rest);
    if !text.is_empty() || parts.is_empty() {
        parts.push(WordPart::Text(text));
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use trefoil_template::Value;

    use super::*;

    fn words(command: &[&str]) -> Result<CommandTemplate, String> {
        CommandTemplate::parse(&command.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    fn fill(command: &[&str], arguments: &[(&str, &str)]) -> Result<Vec<String>, ToolError> {
        let all = arguments.iter().map(|(name, value)| (Arc::from(*name), Value::from(*value)));
        words(command).unwrap().fill_values(&all.collect())
    }

    #[test]
    fn a_value_stays_in_its_word_whatever_it_is() {
        for value in ["a b", "$(id)", "`id`", "; rm -rf /", "'\"\n", "{other}", "*", "a\\", "&& x", ""] {
            let found = fill(&["grep", "x={v}.txt", "{v}"], &[("v", value), ("other", "no")]).unwrap();
            assert_eq!(found, ["grep".to_owned(), format!("x={value}.txt"), value.to_owned()]);
        }
    }

    #[test]
    fn a_value_is_never_an_option() {
        let fails = |command: &[&str], value: &str| fill(command, &[("v", value)]).is_err();
        assert!(fails(&["ls", "{v}"], "-la") && fails(&["ls", "{v}/x"], "--help") && fails(&["ls", "{v}"], "-"));
        assert!(!fails(&["ls", "--", "{v}"], "-la") && !fails(&["ls", "--name={v}"], "-la"));
        assert!(fails(&["ls", "{v}"], "a\0b"));
        assert!(fails(&["/usr/bin/find", "{v}"], "!") && fails(&["find", "{v}"], "(") && !fails(&["ls", "{v}"], "!"));
        assert!(!fails(&["find", "{v}"], "!x") && !fails(&["find", "./{v}"], "!"));
        // A `--` from a value does not count.
        let two = fill(&["ls", "{a}", "{v}"], &[("a", "--"), ("v", "-la")]);
        assert!(two.is_err(), "{two:?}");
    }

    #[test]
    fn a_word_whose_optional_value_is_missing_is_dropped() {
        assert_eq!(fill(&["ls", "--depth={depth?}", "{{x}}"], &[]).unwrap(), ["ls", "{x}"]);
        assert_eq!(
            fill(&["ls", "{a}"], &[]),
            Err(ToolError::with_advice(
                "the parameter `a` is missing",
                "pass it, or write `{NAME?}` in `command` if it is optional"
            ))
        );
    }

    #[test]
    fn what_is_no_command_is_said() {
        for wrong in [&[][..], &[""], &["{p}"], &["ls", "{"], &["ls", "}"], &["ls", "{a b}"], &["ls", "{}"]] {
            assert!(words(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(
            words(&["x", "{a}{b?}", "{b}"]).unwrap().parameter_names(),
            [("a".into(), false), ("b".into(), false)]
        );
    }
}
