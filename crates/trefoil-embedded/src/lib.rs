//! The embedded model: answers without network, key or cost that let a whole run succeed.
//!
//! It is deterministic: the same program, seed and step key give the same answer on every machine. It does not
//! understand prompts, but it knows the program: the schema of an answer, the conditions that compare it, the loops
//! that it ends, the fan-outs over it. Answers match schemas and validators; values that conditions read vary with the
//! seed, so that every branch is taken; loops end. Other text names the agent and quotes the prompt.
//!
//! Token usage is counted in words.

mod answer;
mod decisions;
mod hints;
mod origins;
mod pattern;
mod requirements;
mod schema;

use async_trait::async_trait;
use trefoil_ir::Program;
use trefoil_machine::key::without_try;
use trefoil_machine::{MessageRole, ModelRequest, Usage};
use trefoil_runtime::ports::{CallSite, ModelAnswer, ModelError, ModelProvider};

use hints::{AnswerHints, ProgramHints};
use schema::CheckedSchema;

/// Number of characters that are quoted.
const QUOTED: usize = 80;
/// The same if several texts of one answer quote the prompt.
const TOPIC: usize = 48;
/// Number of pieces of a streamed answer.
const PIECES: usize = 4;

/// The embedded model for one program.
#[derive(Debug)]
pub struct EmbeddedModel {
    knowledge: ProgramHints,
    nothing: AnswerHints,
    seed: u64,
}

impl EmbeddedModel {
    /// Creates the model for a program. Another seed takes other branches.
    pub fn new(program: &Program, seed: u64) -> Self {
        Self { knowledge: ProgramHints::from_program(program), nothing: AnswerHints::default(), seed }
    }

    fn text(&self, at: CallSite<'_>, request: &ModelRequest) -> String {
        let hints = self.knowledge.steps.get(&at.step).unwrap_or(&self.nothing);
        let schema = match &request.schema {
            Some((_, schema)) if hints.schemas.is_empty() => Some(CheckedSchema::new(schema.to_json())),
            _ => None,
        };
        let topic = topic(request);
        let plain = plain(request, &topic);
        // A retry gets the same answer.
        let question = at.key.as_str().split('/').map(without_try).collect::<Vec<_>>().join("/");
        answer::AnswerGenerator {
            seed: self.seed,
            key: &question,
            step: at.step,
            hints,
            decisions: &self.knowledge.decisions,
            schema,
            plain,
            about: cut(&topic, TOPIC),
        }
        .generate_text()
    }
}

#[async_trait]
impl ModelProvider for EmbeddedModel {
    fn sees_holes(&self) -> bool {
        false
    }
    fn calls_tools(&self) -> bool {
        false
    }
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let text = self.text(at, request);
        if request.stream {
            pieces(&text).for_each(delta);
        }
        let usage = Usage::in_words(request, &text);
        Ok(ModelAnswer::new(text, usage))
    }

    fn label(&self, _request: &ModelRequest) -> String {
        "embedded".to_owned()
    }
}

/// The topic of an answer: the last user message on one line. The embedded model's own earlier answers in it are
/// replaced by their topics, so that a text passed through ten agents is not quoted ten times.
fn topic(request: &ModelRequest) -> String {
    let last = request.messages.iter().rev().find(|m| m.role == MessageRole::User);
    let read = last.map(|m| m.content.to_text()).unwrap_or_default();
    let line = read.split_whitespace().collect::<Vec<_>>().join(" ");
    bare(&line)
}

/// Removes the embedded model's own words around its quotation.
fn bare(line: &str) -> String {
    const OWN: &str = "[embedded] ";
    const ABOUT: &str = "about ";
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, own)) = rest.split_once(OWN) {
        out.push_str(before);
        // In an answer that is JSON, quotation marks are escaped.
        let quote = own.split_once(ABOUT).and_then(|(_, quote)| {
            let mark = if quote.starts_with("\\\"") { "\\\"" } else { "\"" };
            quote.strip_prefix(mark)?.split_once(mark)
        });
        match quote {
            Some((quoted, after)) => {
                out.push_str(quoted);
                rest = after;
            }
            None => rest = own,
        }
    }
    out.push_str(rest);
    out
}

/// Cuts a text and marks the cut.
fn cut(text: &str, longest: usize) -> String {
    let quote: String = text.chars().take(longest).collect();
    if quote.len() == text.len() {
        return text.trim_end().to_owned();
    }
    format!("{}…", quote.trim_end_matches([' ', '…']))
}

/// An answer that names the agent and the topic.
fn plain(request: &ModelRequest, line: &str) -> String {
    if line.is_empty() {
        return format!("[embedded] {}", request.speaker);
    }
    format!("[embedded] {}: about \"{}\"", request.speaker, cut(line, QUOTED))
}

/// Splits a text into a few pieces, after words if possible.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let aim = text.len().div_ceil(PIECES).max(1);
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = aim.min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let end = rest.get(end..).and_then(|r| r.find(' ')).map_or(rest.len(), |space| end + space);
        let (piece, more) = rest.split_at_checked(end)?;
        rest = more;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_said_itself_is_quoted_once() {
        let once = "[embedded] writer: about \"tide tables\"";
        assert_eq!(bare(once), "tide tables");
        assert_eq!(bare(&format!("Improve {once}, please")), "Improve tide tables, please");
        assert_eq!(bare("{\"a\":\"[embedded] a about \\\"tea\\\"\",\"n\":1}"), "{\"a\":\"tea\",\"n\":1}");
        for odd in ["[embedded] ", "[embedded] x: about ", "about \"x\"", "[embedded] x: about \"y"] {
            assert!(!bare(odd).contains("[embedded]"), "{odd}");
        }
    }

    #[test]
    fn pieces_are_the_text() {
        for text in ["", "word", "[embedded] writer: about \"ä ö ü and more of it\"", "ääääääääääääääää"]
        {
            let all: Vec<&str> = pieces(text).collect();
            assert_eq!(all.concat(), text);
            assert!(all.len() <= PIECES, "{all:?}");
        }
        assert!(pieces("one two three four five six seven eight").count() > 1);
    }
}
