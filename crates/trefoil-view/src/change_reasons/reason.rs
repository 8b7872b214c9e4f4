//! The reasons why an activity is repeated, as data.

use std::fmt;

use serde_json::Value as Json;
use trefoil_machine::Key;
use trefoil_machine::request::MessageRole;

use crate::diff::WordDiff;
use crate::plan::PlanLocation;

/// One reason.
#[derive(Debug, Clone, PartialEq)]
pub enum ChangeReason {
    /// The user wants to repeat it: `--from`.
    Wanted,
    /// It failed before, with this code.
    Failed(String),
    /// The answer was a placeholder from this model.
    MadeUp(String),
    /// The request is the same, but this activity has used its result.
    Taken(Key),
    /// The flow that this tool calls was edited.
    Called(String),
    /// It was another kind of activity before.
    Sort(&'static str),
    /// A text changed.
    Text(TextReason),
    /// A placeholder of a text contains the results of other steps than before.
    Source(SourceReason),
    /// A value changed.
    Value(ValueReason),
    /// Something else changed.
    Other(&'static str),
}

/// A text that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct TextReason {
    /// The kind of text.
    pub of: ChangedTextKind,
    /// The origin of the changed words.
    pub source: TextSource,
    /// The whole text, with the places to which this reason applies.
    pub diff: WordDiff,
}

/// A placeholder that refers to another step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceReason {
    /// The text that contains it.
    pub of: ChangedTextKind,
    /// The placeholder, as written.
    pub path: String,
    /// Its place.
    pub place: Option<PlanLocation>,
    /// The steps whose results it contained; empty: it contained something else.
    pub before: Vec<Key>,
    /// The steps whose results it contains now.
    pub now: Vec<Key>,
}

/// The kinds of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedTextKind {
    /// A message, by its index (from 1) if there are several with its role.
    Message(MessageRole, Option<usize>),
    /// The script of a command.
    Script,
    /// A question to a person.
    Question,
}

/// The origin of words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextSource {
    /// The text of the file.
    File(Option<PlanLocation>),
    /// The result of a step.
    Step(Key, Option<PlanLocation>),
    /// A placeholder of this path.
    Placeholder(String, Option<PlanLocation>),
    /// Unknown.
    Unknown,
}

/// A value that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct ValueReason {
    /// Its kind.
    pub of: ChangedValueKind,
    /// Its name or its path.
    pub path: String,
    /// The old value; `None`: it was not set.
    pub before: Option<Json>,
    /// The new value; `None`: it is not set.
    pub now: Option<Json>,
    /// The steps whose results it is made from.
    pub from: Vec<String>,
}

/// The kinds of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangedValueKind {
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
    /// A variable in a command's environment.
    Environment,
    /// A command's working directory.
    Folder,
    /// The default of a question.
    Default,
}

impl ChangedValueKind {
    /// The name in JSON and messages.
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

impl fmt::Display for ChangedTextKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let role = |role: &MessageRole| match role {
            MessageRole::System => "system",
            MessageRole::User => "user",
            MessageRole::Assistant => "assistant",
            MessageRole::Tool => "tool",
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

/// In words, without the contents of changed texts.
impl fmt::Display for ChangeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Wanted => f.write_str("it was selected to run again"),
            Self::Failed(code) => write!(f, "it failed before: {code}"),
            Self::MadeUp(model) => write!(f, "its answer was a placeholder from `{model}`"),
            Self::Taken(key) => write!(f, "`{key}` has used its result"),
            Self::Called(tool) => write!(f, "the flow of the tool `{tool}` was edited"),
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

/// The maximum number of characters of a value in a line.
const LONG: usize = 60;

impl fmt::Display for ValueReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, path, before, now, from } = self;
        let of = match of {
            ChangedValueKind::Schema => "schema of the answer,",
            of => of.name(),
        };
        let of = if path.is_empty() { of.trim_end_matches(',') } else { of };
        let path = if path.is_empty() { String::new() } else { format!(" `{path}`") };
        let short = |json: &Json| {
            // A name is not shown as a string.
            let text = match json {
                Json::String(name) if matches!(self.of, ChangedValueKind::Model) => format!("`{name}`"),
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
