//! The parts of an answer's content, in all protocols. Each is text of the answer, or known not to be; nothing that may be
//! text is left out in silence.

use serde_json::{Map, Value as Json};
use trefoil_runtime::{AnswerDoubt, ModelError, ModelErrorKind};

use super::ProviderEndpoint;
use super::members::{has_contents, text_member};

/// What a part is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartKind {
    Text,
    Refusal,
    /// A thought of the model, which is not part of its answer.
    Thought,
    /// A tool call. The assembly of calls reads it.
    Call,
    /// What the text refers to, or what the provider's own tools did. The text says what came of it.
    Beside,
    /// What is not text, such as an image.
    Other,
    /// A type that is not in the table.
    Strange,
}

/// Types of parts, blocks and items, of pieces of them, and the members by which Gemini tells its parts apart.
const TYPES: &[(&str, PartKind)] = &[
    ("text", PartKind::Text),
    ("output_text", PartKind::Text),
    ("text_delta", PartKind::Text),
    ("refusal", PartKind::Refusal),
    ("thinking", PartKind::Thought),
    ("redacted_thinking", PartKind::Thought),
    ("thinking_delta", PartKind::Thought),
    ("signature_delta", PartKind::Thought),
    ("signature", PartKind::Thought),
    ("reasoning", PartKind::Thought),
    ("reasoning_text", PartKind::Thought),
    ("reasoning_content", PartKind::Thought),
    ("summary_text", PartKind::Thought),
    ("tool_use", PartKind::Call),
    ("input_json_delta", PartKind::Call),
    ("function_call", PartKind::Call),
    ("tool_call", PartKind::Call),
    ("functionCall", PartKind::Call),
    // Mistral and Anthropic: the sources of the text.
    ("reference", PartKind::Beside),
    ("citation", PartKind::Beside),
    ("citations_delta", PartKind::Beside),
    // What has been searched, read and computed on the way to the text.
    ("server_tool_use", PartKind::Beside),
    ("mcp_tool_use", PartKind::Beside),
    ("web_search_call", PartKind::Beside),
    ("x_search_call", PartKind::Beside),
    ("file_search_call", PartKind::Beside),
    ("code_interpreter_call", PartKind::Beside),
    ("mcp_call", PartKind::Beside),
    ("mcp_list_tools", PartKind::Beside),
    ("compaction", PartKind::Beside),
    ("compaction_delta", PartKind::Beside),
    ("executableCode", PartKind::Beside),
    ("codeExecutionResult", PartKind::Beside),
    ("toolCall", PartKind::Beside),
    ("toolResponse", PartKind::Beside),
    // Not text, or something that waits for an answer. Nobody asked for it, so nobody may miss it.
    ("image", PartKind::Other),
    ("image_url", PartKind::Other),
    ("output_image", PartKind::Other),
    ("image_generation_call", PartKind::Other),
    ("audio", PartKind::Other),
    ("audio_url", PartKind::Other),
    ("input_audio", PartKind::Other),
    ("output_audio", PartKind::Other),
    ("video", PartKind::Other),
    ("video_url", PartKind::Other),
    ("file", PartKind::Other),
    ("document", PartKind::Other),
    ("document_url", PartKind::Other),
    ("container_upload", PartKind::Other),
    ("inlineData", PartKind::Other),
    ("fileData", PartKind::Other),
    ("functionResponse", PartKind::Other),
    ("custom_tool_call", PartKind::Other),
    ("computer_call", PartKind::Other),
    ("local_shell_call", PartKind::Other),
    ("shell_call", PartKind::Other),
    ("apply_patch_call", PartKind::Other),
    ("mcp_approval_request", PartKind::Other),
];

/// Members that say something about a part. A part without a type is of the kind of its first other member.
const ABOUT: &[&str] = &[
    "index",
    "id",
    "type",
    "role",
    "status",
    "annotations",
    "citations",
    "logprobs",
    "cache_control",
    "thought",
    "thoughtSignature",
    "partMetadata",
    "mediaResolution",
    "videoMetadata",
];

/// Where an unknown part may have text.
const TEXTS: &[&str] = &["text", "content", "value", "parts", "delta", "refusal", "output", "message", "transcript"];

/// The type of a part: what it says, or else its first member that is not only about it. Empty if it has none.
pub(super) fn type_of(part: &Map<String, Json>) -> &str {
    if let Some(Json::String(kind)) = part.get("type")
        && !kind.is_empty()
    {
        return kind;
    }
    // What has text is text, whatever it has besides.
    if matches!(part.get("text"), Some(text) if !text.is_null()) {
        return "text";
    }
    for (name, value) in part {
        if !ABOUT.contains(&name.as_str()) && !value.is_null() {
            return name;
        }
    }
    ""
}

/// What a type means.
pub(super) fn kind_of(name: &str) -> PartKind {
    if let Some((_, kind)) = TYPES.iter().find(|(known, _)| *known == name) {
        return *kind;
    }
    let of_tool = name.ends_with("_tool_result") || name.ends_with("_call_output");
    if of_tool { PartKind::Beside } else { PartKind::Strange }
}

/// What content says.
#[derive(Debug, Default)]
pub(super) struct AnswerContent {
    pub text: String,
    pub refusal: String,
    /// There is a thought in it.
    pub thought: bool,
    /// There is a tool call in it.
    call: bool,
    pub doubts: AnswerDoubts,
}

impl AnswerContent {
    /// Reads content: a text, a part, or a list of parts.
    pub fn from_content(endpoint: &ProviderEndpoint, content: Option<&Json>) -> Result<Self, ModelError> {
        let mut said = Self::default();
        said.add(endpoint, content)?;
        Ok(said)
    }

    /// Reads content in a protocol whose tool calls are at another place.
    pub fn without_calls(endpoint: &ProviderEndpoint, content: Option<&Json>) -> Result<Self, ModelError> {
        let said = Self::from_content(endpoint, content)?;
        if said.call { Err(unreadable_answer_error(endpoint, "a tool call within its text")) } else { Ok(said) }
    }

    fn add(&mut self, endpoint: &ProviderEndpoint, content: Option<&Json>) -> Result<(), ModelError> {
        match content {
            None | Some(Json::Null | Json::Bool(false)) => Ok(()),
            Some(Json::String(text)) => {
                self.text.push_str(text);
                Ok(())
            }
            Some(Json::Array(parts)) => parts.iter().try_for_each(|part| self.add(endpoint, Some(part))),
            Some(Json::Object(part)) => self.add_part(endpoint, part),
            Some(Json::Number(_) | Json::Bool(true)) => {
                Err(unreadable_answer_error(endpoint, "content that is no text"))
            }
        }
    }

    /// Adds what other content says.
    pub fn add_all(&mut self, more: Self) {
        self.text.push_str(&more.text);
        self.refusal.push_str(&more.refusal);
        self.thought |= more.thought;
        self.call |= more.call;
        self.doubts.extend(more.doubts);
    }

    /// Reads a part with a type, or with members that stand for one.
    fn add_part(&mut self, endpoint: &ProviderEndpoint, part: &Map<String, Json>) -> Result<(), ModelError> {
        let name = type_of(part);
        let is_thought = part.get("thought").and_then(Json::as_bool) == Some(true);
        match kind_of(name) {
            PartKind::Text | PartKind::Thought if is_thought => self.thought = true,
            PartKind::Text => self.text.push_str(text_in(endpoint, name, part.get("text"))?),
            PartKind::Refusal => {
                self.refusal.push_str(text_in(endpoint, name, part.get("refusal").or(part.get("text")))?)
            }
            PartKind::Thought => self.thought = true,
            PartKind::Call => self.call = true,
            PartKind::Beside => {}
            PartKind::Strange if name.is_empty() => {}
            PartKind::Strange if may_have_text(name, part) => {
                return Err(unreadable_answer_error(
                    endpoint,
                    &format!("a part of the unknown type `{}`", shorten_name(name)),
                ));
            }
            PartKind::Other | PartKind::Strange => self.doubts.leave_out_part(name),
        }
        Ok(())
    }
}

/// Parts of an answer that were left out, each named once.
#[derive(Debug, Default)]
pub(super) struct AnswerDoubts(Vec<AnswerDoubt>);

/// More than this are not told.
const MOST: usize = 8;

impl AnswerDoubts {
    /// Notes a doubt.
    pub fn note_doubt(&mut self, doubt: AnswerDoubt) {
        if self.0.len() < MOST && !self.0.contains(&doubt) {
            self.0.push(doubt);
        }
    }

    /// Notes what was left out.
    pub fn leave_out(&mut self, what: &str) {
        self.note_doubt(AnswerDoubt::LeftOut(what.to_owned()));
    }

    /// Notes a part of this type that was left out.
    pub fn leave_out_part(&mut self, name: &str) {
        self.leave_out(&format!("a part of the type `{}`", shorten_name(name)));
    }

    /// Takes those of a part.
    pub fn extend(&mut self, more: Self) {
        for doubt in more.0 {
            self.note_doubt(doubt);
        }
    }

    /// All of them, in order.
    pub fn into_all(self) -> Vec<AnswerDoubt> {
        self.0
    }
}

/// A name of the server, as it may be shown.
pub(super) fn shorten_name(name: &str) -> String {
    name.chars().take(60).collect()
}

/// Whether a part whose type is not known may have text that belongs to the answer.
fn may_have_text(name: &str, part: &Map<String, Json>) -> bool {
    let is_given = |member: &str| matches!(part.get(member), Some(value) if has_contents(value));
    TEXTS.iter().any(|member| is_given(member)) || (!part.contains_key("type") && is_given(name))
}

/// The text of a part, which may be in an object.
fn text_in<'j>(endpoint: &ProviderEndpoint, name: &str, text: Option<&'j Json>) -> Result<&'j str, ModelError> {
    match text {
        None | Some(Json::Null) => Ok(""),
        Some(Json::String(text)) => Ok(text),
        Some(other) => {
            let inner = match other.get("value") {
                Some(value) => value.as_str(),
                None => text_member(other, "text"),
            };
            let Some(text) = inner else {
                let what = format!("a part of the type `{}` whose text is no text", shorten_name(name));
                return Err(unreadable_answer_error(endpoint, &what));
            };
            Ok(text)
        }
    }
}

/// The error for what is not understood and may be text.
pub(super) fn unreadable_answer_error(endpoint: &ProviderEndpoint, what: &str) -> ModelError {
    endpoint.provider_error(ModelErrorKind::Protocol, &format!("sent {what}, so its answer cannot be read"))
}

/// The text at a place of an answer, if there is one and it is not empty.
pub(super) fn text_at(json: &Json, pointer: &str) -> Option<String> {
    match json.pointer(pointer)? {
        Json::String(text) if !text.is_empty() => Some(text.clone()),
        _ => None,
    }
}
