//! Passes a run's questions to the client, and the answers back.

use async_trait::async_trait;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use trefoil::internals::answers::word;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{Asked, HumanInbox, HumanRequest};

/// The field of the form.
const ANSWER: &str = "answer";

/// A question of a run. Dropping it means that there is no answer.
pub struct Asking {
    /// The question.
    request: HumanRequest,
    answer: oneshot::Sender<Asked>,
}

/// The inbox that passes questions to the client's call.
pub struct Asker(pub mpsc::UnboundedSender<Asking>);

#[async_trait]
impl HumanInbox for Asker {
    async fn ask(&self, _at: CallSite<'_>, request: &HumanRequest) -> Asked {
        let (answer, answered) = oneshot::channel();
        if self.0.send(Asking { request: request.clone(), answer }).is_err() {
            return Asked::Nobody;
        }
        answered.await.unwrap_or(Asked::Nobody)
    }
}

impl Asking {
    /// The question as a form with one field.
    pub fn form(&self) -> Result<ElicitRequestParams, serde_json::Error> {
        let HumanRequest { prompt, accepts, refused, .. } = &self.request;
        let title = &*self.request.step;
        let choices: Vec<&str> = accepts.iter().map(|one| &**one).collect();
        let field = match choices.is_empty() {
            true => json!({ "type": "string", "title": title }),
            false => json!({ "type": "string", "title": title, "enum": choices }),
        };
        let schema = json!({ "type": "object", "properties": { ANSWER: field }, "required": [ANSWER] });
        let again = refused.as_ref().map(|refused| format!("\n\n\"{refused}\" is not accepted here."));
        let message = format!("{}{}", prompt.to_text(), again.unwrap_or_default());
        let requested_schema: ElicitationSchema = serde_json::from_value(schema)?;
        Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
    }

    /// Passes on the answer. Without an answer, the step's default applies, or the step fails.
    pub fn answered(self, result: Option<ElicitResult>) {
        let accepted = result.filter(|result| result.action == ElicitationAction::Accept);
        let said = accepted.and_then(|result| result.content).and_then(|content| match content.get(ANSWER) {
            Some(serde_json::Value::String(text)) => Some(text.clone()),
            Some(serde_json::Value::Null) | None => None,
            Some(other) => Some(other.to_string()),
        });
        let said = said.map(|said| word(&self.request.accepts, &said).map(str::to_owned).unwrap_or(said));
        let _ = self.answer.send(said.into());
    }
}
