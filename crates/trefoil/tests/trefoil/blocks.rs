//! Content blocks of an input are passed to a model.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::json;
use trefoil::ports::{CallSite, ModelAnswer, ModelError, ModelProvider, ModelRequest, Usage};
use trefoil::{Engine, Flow};
use trefoil_runtime::{Event, EventKind, EventSink};

/// Records the requests, and what is shown of them.
#[derive(Clone, Default)]
struct Seen {
    asked: Arc<Mutex<Vec<serde_json::Value>>>,
    shown: Arc<Mutex<Vec<String>>>,
}

#[async_trait]
impl ModelProvider for Seen {
    async fn call_model(
        &self,
        _at: CallSite<'_>,
        request: &ModelRequest,
        _delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        self.asked.lock().unwrap().push(request.messages.last().unwrap().content.to_json());
        Ok(ModelAnswer::new("A sky.", Usage::default()))
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "own".to_owned()
    }
}

impl EventSink for Seen {
    fn receive_event(&self, event: &Event) {
        if let EventKind::ModelStarted { messages, .. } = &event.kind {
            self.shown.lock().unwrap().push(messages.last().unwrap().content.to_string());
        }
    }
}

async fn asked(prompt: &str, input: serde_json::Value) -> (serde_json::Value, String) {
    let agent = format!("id: a\nkind: llm\nmodel: {{ provider: openai, name: m }}\ninstruction: Be brief.\n{prompt}");
    let flow = Flow::from_text("a.yaml", &agent).unwrap();
    let seen = Seen::default();
    let engine = Engine::new().provider(seen.clone()).events(seen.clone());
    engine.start_run(&flow, input).unwrap().wait_outcome().await.result.unwrap();
    let (asked, shown) = (seen.asked.lock().unwrap()[0].clone(), seen.shown.lock().unwrap()[0].clone());
    (asked, shown)
}

#[tokio::test]
async fn an_agent_without_a_prompt_passes_content_blocks_on() {
    let blocks = json!([
        {"type": "text", "text": "What is this?"},
        {"type": "image", "base64": "aW1hZ2U=", "mediaType": "image/png"},
    ]);
    let (sent, shown) = asked("", blocks.clone()).await;
    assert_eq!(sent, blocks);
    assert_eq!(shown, "What is this?\n[image/png, 5 bytes]", "pages and events do without the bytes");
    // Inside a prompt they are an ordinary value, and so is a list of something else.
    let (sent, _) = asked("prompt: \"Look: {{userQuery}}\"\n", blocks.clone()).await;
    assert_eq!(sent, format!("Look: {blocks}"));
    let (sent, _) = asked("", json!([1, 2])).await;
    assert_eq!(sent, "[1,2]");
}
