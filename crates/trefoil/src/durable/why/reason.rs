//! Why something is done again, as data.

use std::fmt;

use serde_json::Value as Json;
use trefoil_machine::Key;
use trefoil_machine::request::Role;

use super::words::WordDiff;

/// One reason.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// Somebody wants it to be done again: `--from`.
    Wanted,
    /// It failed before, with this code.
    Failed(String),
    /// The answer was made up, by this model.
    MadeUp(String),
    /// It is asked for as before, and this has used its result.
    Taken(Key),
    /// It was something else before.
    Sort(&'static str),
    /// A text changed.
    Text(TextReason),
    /// A placeholder of a text has the results of other steps than before.
    Source(SourceReason),
    /// A value changed.
    Value(ValueReason),
    /// Something changed of which no more is known.
    Other(&'static str),
}

/// A text that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct TextReason {
    /// Which.
    pub of: TextOf,
    /// What put the words there that are not the same.
    pub source: TextSource,
    /// The whole text, with the places that this reason is about.
    pub diff: WordDiff,
}

/// A placeholder that leads elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceReason {
    /// In which text.
    pub of: TextOf,
    /// The placeholder, as written.
    pub path: String,
    /// Where it is.
    pub place: Option<Place>,
    /// The steps whose results it had; none: it had something else.
    pub before: Vec<Key>,
    /// The steps whose results it has.
    pub now: Vec<Key>,
}

/// Which text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextOf {
    /// A message, by its place if there are several of its role; from 1.
    Message(Role, Option<usize>),
    /// The script of a command.
    Script,
    /// A question.
    Question,
}

/// What put words there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextSource {
    /// The text of the file.
    File(Option<Place>),
    /// The result of a step.
    Step(Key, Option<Place>),
    /// A placeholder of this path.
    Placeholder(String, Option<Place>),
    /// Not known.
    Unknown,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub file: String,
    /// From 1.
    pub line: usize,
}

/// A value that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueReason {
    /// Of which sort it is.
    pub of: ValueOf,
    /// Its name or its path.
    pub path: String,
    /// As it was; none: it was not set.
    pub before: Option<Json>,
    /// As it is; none: it is not set.
    pub now: Option<Json>,
    /// The steps whose results it is made of.
    pub from: Vec<String>,
}

/// Sorts of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueOf {
    /// The model.
    Model,
    /// A parameter of the model call.
    Parameter,
    /// The schema of the answer.
    Schema,
    /// A tool that the model may call.
    Tool,
    /// An argument of a tool or a command.
    Argument,
    /// An entry of a command's environment.
    Environment,
    /// A command's folder.
    Folder,
    /// The default of a question.
    Default,
}

impl ValueOf {
    /// As JSON and messages name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Parameter => "parameter",
            Self::Schema => "schema",
            Self::Tool => "tool",
            Self::Argument => "argument",
            Self::Environment => "environment",
            Self::Folder => "folder",
            Self::Default => "default",
        }
    }
}

impl fmt::Display for TextOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = |role: &Role| match role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        };
        match self {
            Self::Message(of, None) => write!(f, "{} message", role(of)),
            Self::Message(of, Some(number)) => write!(f, "{} message {number}", role(of)),
            Self::Script => f.write_str("script"),
            Self::Question => f.write_str("question"),
        }
    }
}

impl fmt::Display for TextSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, place) = match self {
            Self::File(None) => ("its own text".to_owned(), &None),
            Self::File(Some(place)) => return write!(f, "{place}"),
            Self::Step(key, place) => (format!("the result of `{key}`"), place),
            Self::Placeholder(path, place) => (format!("`{path}`"), place),
            Self::Unknown => return f.write_str("a part of it"),
        };
        match place {
            Some(place) => write!(f, "{what} at {place}"),
            None => f.write_str(&what),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// In words, without the words of texts that changed.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wanted => f.write_str("it was selected to run again"),
            Self::Failed(code) => write!(f, "it failed before: {code}"),
            Self::MadeUp(model) => write!(f, "its answer was a placeholder from `{model}`"),
            Self::Taken(key) => write!(f, "`{key}` has used its result"),
            Self::Sort(before) => write!(f, "it was a {before} before"),
            Self::Text(TextReason { of, source: TextSource::Unknown, .. }) => write!(f, "{of}"),
            Self::Text(TextReason { of, source, .. }) => write!(f, "{of}, {source}"),
            Self::Source(SourceReason { of, path, place, before, now }) => {
                let at = place.as_ref().map(|place| format!(" at {place}")).unwrap_or_default();
                let steps = |keys: &[Key]| match keys {
                    [] => "something else".to_owned(),
                    keys => {
                        let keys: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
                        format!("the result of {}", keys.join(", "))
                    }
                };
                write!(f, "{of}, `{path}`{at} is {}, was {}", steps(now), steps(before))
            }
            Self::Value(value) => write!(f, "{value}"),
            Self::Other(what) => f.write_str(what),
        }
    }
}

/// Characters of a value in a line.
const LONG: usize = 60;

impl fmt::Display for ValueReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, path, before, now, from } = self;
        let of = match of {
            ValueOf::Schema => "schema of the answer,",
            of => of.name(),
        };
        let of = if path.is_empty() { of.trim_end_matches(',') } else { of };
        let path = if path.is_empty() { String::new() } else { format!(" `{path}`") };
        let short = |json: &Json| {
            // A name is no text.
            let text = match json {
                Json::String(name) if matches!(self.of, ValueOf::Model) => format!("`{name}`"),
                json => json.to_string(),
            };
            match text.char_indices().nth(LONG) {
                Some((at, _)) => format!("{}...", text.get(..at).unwrap_or_default()),
                None => text,
            }
        };
        write!(f, "{of}{path}: ")?;
        match (before, now) {
            (Some(before), Some(now)) => write!(f, "{}, was {}", short(now), short(before))?,
            (None, Some(now)) => write!(f, "{}, was not set", short(now))?,
            (Some(before), None) => write!(f, "not set, was {}", short(before))?,
            (None, None) => f.write_str("changed")?,
        }
        if !from.is_empty() {
            write!(f, " (from the result of `{}`)", from.join("`, `"))?;
        }
        Ok(())
    }
}
