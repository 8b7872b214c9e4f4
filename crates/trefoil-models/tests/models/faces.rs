//! Every protocol with the forms of its responses, to test what all of them have in common.

use serde_json::{Value as Json, json};
use trefoil_models::{ModelTimeLimits, Registry, VendorApi};

use crate::server::{Piece, Received, Reply};

/// A protocol.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Face {
    Chat,
    Responses,
    Messages,
    Gemini,
    Cohere,
    Ollama,
}

/// All protocols.
pub const FACES: [Face; 6] = [Face::Chat, Face::Responses, Face::Messages, Face::Gemini, Face::Cohere, Face::Ollama];

impl Face {
    /// A provider with this protocol.
    pub fn provider(self) -> &'static str {
        match self {
            Self::Chat | Self::Responses => "openai",
            Self::Messages => "anthropic",
            Self::Gemini => "google",
            Self::Cohere => "cohere",
            Self::Ollama => "ollama",
        }
    }

    /// A registry with all providers at one address.
    pub fn registry(self, url: &str, key: &str) -> Registry {
        let env = ["OPENAI", "ANTHROPIC", "GOOGLE_GENERATIVE_AI", "COHERE", "OLLAMA"].into_iter().flat_map(|name| {
            [(format!("{name}_API_KEY"), key.to_owned()), (format!("{name}_BASE_URL"), url.to_owned())]
        });
        let registry = Registry::new(env);
        if self == Self::Responses { registry.with_api("openai", VendorApi::Responses) } else { registry }
    }

    /// The same with short time limits.
    pub fn hurried(self, url: &str, key: &str) -> Registry {
        self.registry(url, key).with_limits(ModelTimeLimits { call_ms: Some(1_500), first_ms: 300, idle_ms: 200 })
    }

    /// A complete answer: 5 input tokens, 2 of them cached; 3 output tokens.
    pub fn whole(self, text: &str) -> Json {
        match self {
            Self::Chat => json!({
                "choices": [{"message": {"content": text}, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 5, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 2}},
            }),
            Self::Responses => json!({
                "status": "completed",
                "output": [{"type": "message", "content": [{"type": "output_text", "text": text}]}],
                "usage": {"input_tokens": 5, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 2}},
            }),
            Self::Messages => json!({
                "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 3, "cache_read_input_tokens": 2, "output_tokens": 3},
            }),
            Self::Gemini => json!({
                "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}],
                "usageMetadata":
                    {"promptTokenCount": 5, "cachedContentTokenCount": 2, "candidatesTokenCount": 1, "thoughtsTokenCount": 2},
            }),
            Self::Cohere => json!({
                "id": "x",
                "message": {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]},
                "finish_reason": "COMPLETE",
                "usage": {"tokens": {"input_tokens": 5.0, "output_tokens": 3.0}, "cached_tokens": 2.0},
            }),
            Self::Ollama => json!({
                "model": "m",
                "message": {"role": "assistant", "content": text},
                "done": true,
                "done_reason": "stop",
                "prompt_eval_count": 5,
                "eval_count": 3,
            }),
        }
    }

    /// An event with a piece of text.
    pub fn piece(self, text: &str) -> Json {
        match self {
            Self::Chat => json!({"choices": [{"delta": {"content": text}}]}),
            Self::Responses => json!({"type": "response.output_text.delta", "delta": text}),
            Self::Messages => json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}}),
            Self::Gemini => json!({"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]}),
            Self::Cohere => {
                json!({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": text}}}})
            }
            Self::Ollama => json!({"model": "m", "message": {"role": "assistant", "content": text}, "done": false}),
        }
    }

    /// The events at the end of a stream, with the same usage.
    fn end(self) -> Vec<Json> {
        let whole = self.whole("");
        match self {
            Self::Chat => vec![
                json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
                json!({"choices": [], "usage": whole["usage"]}),
            ],
            Self::Responses => vec![json!({"type": "response.completed", "response": whole})],
            Self::Messages => vec![
                json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": whole["usage"]}),
                json!({"type": "message_stop"}),
            ],
            Self::Gemini | Self::Ollama => vec![whole],
            Self::Cohere => {
                let delta = json!({"finish_reason": "COMPLETE", "usage": whole["usage"]});
                vec![json!({"type": "message-end", "delta": delta})]
            }
        }
    }

    /// An event as it is sent.
    pub fn event(self, event: &Json) -> String {
        if self == Self::Ollama { format!("{event}\n") } else { format!("data: {event}\n\n") }
    }

    /// A stream with these pieces.
    pub fn stream(self, pieces: Vec<Piece>) -> Reply {
        if self == Self::Ollama { Reply::Lines(pieces) } else { Reply::Stream(pieces) }
    }

    /// A stream of these events.
    pub fn streamed(self, events: &[Json]) -> Reply {
        self.stream(self.sent(events).collect())
    }

    /// The end of a stream.
    pub fn ending(self) -> Vec<Piece> {
        self.sent(&self.end()).collect()
    }

    fn sent(self, events: &[Json]) -> impl Iterator<Item = Piece> {
        let texts = events.iter().map(move |event| Piece::Bytes(self.event(event).into_bytes()));
        texts.chain((self == Self::Chat).then(|| Piece::Bytes(b"data: [DONE]\n\n".to_vec())))
    }

    /// An answer, streamed or complete as requested.
    pub fn answer(self, asked: &Received, texts: &[&str]) -> Reply {
        if !self.streams(asked) {
            return Reply::json(self.whole(&texts.concat()));
        }
        let pieces = texts.iter().map(|text| self.piece(text));
        self.streamed(&pieces.chain(self.end()).collect::<Vec<_>>())
    }

    /// Whether a stream was requested.
    pub fn streams(self, asked: &Received) -> bool {
        match self {
            Self::Gemini => asked.line.contains(":streamGenerateContent?alt=sse "),
            _ => asked.body["stream"] == true,
        }
    }
}
