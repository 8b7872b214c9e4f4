//! Passes a run's questions to the client, and the answers back.

use crate::answers::accepted_word;
use async_trait::async_trait;
use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use trefoil_machine::AnswerSender;
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{HumanInbox, HumanRequest, QuestionState};

/// The field of the form.
const ANSWER: &str = "answer";

/// A question of a run. Dropping it means that the client does not answer it.
pub struct ClientQuestion {
    /// The question.
    request: HumanRequest,
    answer: oneshot::Sender<(String, AnswerSender)>,
}

/// The inbox that passes questions to the client's call.
pub struct QuestionInbox {
    /// The call.
    pub questions: mpsc::UnboundedSender<ClientQuestion>,
    /// Whether the run is stored. The question then stays open if the client does not answer it.
    pub is_stored: bool,
}

/// What a client did with a question.
pub enum QuestionReply {
    /// It answered.
    Answer(String),
    /// The person does not want to answer.
    Declined,
    /// The person closed the form, or the client could not show it.
    Unanswered,
}

#[async_trait]
impl HumanInbox for QuestionInbox {
    async fn ask_question(&self, _at: CallSite<'_>, request: &HumanRequest) -> QuestionState {
        let (answer, answered) = oneshot::channel();
        let asking = ClientQuestion { request: request.clone(), answer };
        let received = match self.questions.send(asking) {
            Ok(()) => answered.await.ok(),
            Err(_) => None,
        };
        match received {
            Some((answer, sender)) => QuestionState::AnswerFrom(answer, sender),
            None if self.is_stored => QuestionState::Later,
            None => QuestionState::Nobody,
        }
    }
}

impl ClientQuestion {
    /// The question as a form with one field.
    pub fn question_form(&self) -> Result<ElicitRequestParams, serde_json::Error> {
        let HumanRequest { prompt, accepts, choices: some, refused, .. } = &self.request;
        let title = &*self.request.step;
        let choices: Vec<&str> = accepts.iter().map(|one| &**one).collect();
        let field = match choices.is_empty() {
            true if some.is_empty() => json!({ "type": "string", "title": title }),
            true => {
                let some = format!("`{}`, or any other answer", some.join("`, `"));
                json!({ "type": "string", "title": title, "description": some })
            }
            false => json!({ "type": "string", "title": title, "enum": choices }),
        };
        let schema = json!({ "type": "object", "properties": { ANSWER: field }, "required": [ANSWER] });
        let again = refused.as_ref().map(|refused| format!("\n\n\"{refused}\" is not accepted here."));
        let message = format!("{}{}", prompt.to_text(), again.unwrap_or_default());
        let requested_schema: ElicitationSchema = serde_json::from_value(schema)?;
        Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
    }

    /// The step that asks.
    pub fn step(&self) -> &str {
        &self.request.step
    }

    /// Whether nobody needs the answer any more.
    pub fn is_closed(&self) -> bool {
        self.answer.is_closed()
    }

    /// Waits until nobody needs the answer any more: the time limit has passed, the run has ended, or the answer came
    /// from elsewhere.
    pub async fn wait_closed(&mut self) {
        self.answer.closed().await;
    }

    /// Passes on an answer. `sender`: the client.
    pub fn send_answer(self, answer: String, sender: AnswerSender) {
        let answer = accepted_word(&self.request.accepts, &answer).map(str::to_owned).unwrap_or(answer);
        let _ = self.answer.send((answer, sender));
    }
}

impl QuestionReply {
    /// What a client sent back.
    pub fn from_result(result: Option<ElicitResult>) -> Self {
        let Some(result) = result else { return Self::Unanswered };
        let content = result.content.as_ref().and_then(|content| content.get(ANSWER));
        match (result.action, content) {
            (ElicitationAction::Accept, Some(serde_json::Value::String(text))) => Self::Answer(text.clone()),
            (ElicitationAction::Accept, Some(serde_json::Value::Null) | None) => Self::Unanswered,
            (ElicitationAction::Accept, Some(other)) => Self::Answer(other.to_string()),
            (ElicitationAction::Decline, _) => Self::Declined,
            _ => Self::Unanswered,
        }
    }
}
