//! Models made of functions, and empty sets of tools and people: for tests, simulation and embedding.

use async_trait::async_trait;
use trefoil_ir::ToolKind;
use trefoil_template::Value;

use super::{CallSite, HumanInbox, ModelAnswer, ModelError, ModelProvider, QuestionState, ToolError, ToolHost};
use trefoil_machine::key::Key;
use trefoil_machine::request::{HumanRequest, MessageRole, ModelRequest, ToolRequest, Usage};

/// A model that is a function of the call's key and request.
pub struct FnModel<F>(pub F);

#[async_trait]
impl<F> ModelProvider for FnModel<F>
where
    F: Fn(&Key, &ModelRequest) -> Result<String, ModelError> + Send + Sync,
{
    async fn call_model(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let text = (self.0)(at.key, request)?;
        if request.stream {
            delta(&text);
        }
        // Each word counts as a token, so that budgets have something to count.
        let usage = Usage::in_words(request, &text);
        Ok(ModelAnswer::new(text, usage))
    }
    fn label(&self, _request: &ModelRequest) -> String {
        "function".to_owned()
    }
}

/// A model that repeats its user message.
pub fn echo_model() -> impl ModelProvider {
    FnModel(|_: &Key, request: &ModelRequest| {
        let user = request.messages.iter().rev().find(|m| m.role == MessageRole::User);
        Ok(user.map(|m| m.content.to_text().to_string()).unwrap_or_default())
    })
}

/// No tools.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTools;

#[async_trait]
impl ToolHost for NoTools {
    fn offers_tool(&self, _name: &str, _kind: &ToolKind) -> bool {
        false
    }
    async fn call_tool(&self, _at: CallSite<'_>, request: &ToolRequest) -> Result<Value, ToolError> {
        Err(ToolError::Failed(format!("unknown tool `{}`", request.name)))
    }
}

/// No people.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHumans;

#[async_trait]
impl HumanInbox for NoHumans {
    async fn ask_question(&self, _at: CallSite<'_>, _request: &HumanRequest) -> QuestionState {
        QuestionState::Nobody
    }
}
