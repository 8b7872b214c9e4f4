//! Probes a provider: its list of models, which is free, and a minimal call.

use trefoil_ir::{ModelParameters, StepId};
use trefoil_runtime::ports::CallSite;
use trefoil_runtime::{
    Key, MessageRole, Meter, ModelAnswer, ModelError, ModelMessage, ModelProvider as _, ModelRequest,
};
use trefoil_template::Value;

use super::Registry;

/// The prompt of the call.
pub const QUESTION: &str = "Reply with the word OK.";
/// Maximum number of answer tokens: the smallest limit that every provider accepts.
pub const ANSWER_TOKENS: u32 = 16;

impl Registry {
    /// The names of the models that a provider offers. The request is free. `None` if the provider has no list.
    ///
    /// # Errors
    ///
    /// Fails if the provider is not configured, cannot be reached, or rejects the key.
    pub async fn list_models(&self, provider: &str) -> Result<Option<Vec<String>>, ModelError> {
        self.http(&self.ready(provider)?)?.list_models().await
    }

    /// Sends [`QUESTION`] to a model. A truncated answer is also a success.
    ///
    /// # Errors
    ///
    /// The same as for any call.
    pub async fn probe_model(&self, provider: &str, model: &str) -> Result<ModelAnswer, ModelError> {
        let request = ModelRequest {
            speaker: "doctor".into(),
            provider: Some(provider.into()),
            model: model.into(),
            messages: vec![ModelMessage::new(MessageRole::User, Value::from(QUESTION))],
            parameters: ModelParameters { max_tokens: Some(ANSWER_TOKENS), ..ModelParameters::default() },
            ..ModelRequest::default()
        };
        let (key, meter) = (Key("doctor".into()), Meter::default());
        let at = CallSite {
            run: "doctor",
            execution: 0,
            key: &key,
            step: StepId(0),
            labels: &[],
            meter: &meter,
            discloses: false,
            limit_ms: None,
        };
        self.by_name().call_model(at, &request, &mut |_| ()).await
    }
}
