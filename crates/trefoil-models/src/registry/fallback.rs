//! Fallback models, for a model that is unreachable, overloaded, rate-limited, or has no key.
//!
//! There is no fallback for failures that would be the same elsewhere or are the model's own answer: a refusal, an
//! invalid request, a truncated answer. Nor if text of an answer was already shown.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use trefoil_ir::StepId;
use trefoil_machine::AskedBefore;
use trefoil_runtime::ports::{CallSite, Instead};
use trefoil_runtime::{ModelAnswer, ModelError, ModelErrorKind, ModelProvider, ModelRequest, Usage};

use super::{Availability, Registry};

/// A model with its provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelName {
    /// The provider.
    pub provider: Arc<str>,
    /// Its model.
    pub model: Arc<str>,
}

impl std::fmt::Display for ModelName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.provider, self.model)
    }
}

/// The fallback models of each step that has some, in the order in which they are tried.
pub type Fallbacks = BTreeMap<StepId, Arc<[ModelName]>>;

/// Calls the model that each request names, then the fallback models of its step.
pub(super) struct ByStep {
    pub registry: Registry,
    pub others: Fallbacks,
}

/// Whether another model may succeed.
fn may_be_better_elsewhere(error: &ModelError) -> bool {
    match error.kind {
        ModelErrorKind::Network | ModelErrorKind::Credit => true,
        ModelErrorKind::Status(status) => matches!(status, 402 | 408 | 429) || status >= 500,
        ModelErrorKind::Timeout | ModelErrorKind::Protocol | ModelErrorKind::Setup => false,
    }
}

impl ByStep {
    /// Calls one model, as soon as the limits of its provider allow it. The flag of an error says whether to try the next model.
    async fn ask(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        name: &ModelName,
        instead: Option<Instead>,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, (ModelError, bool)> {
        let provider = self.registry.provider(&name.provider).map_err(|error| {
            let missing = matches!(self.registry.availability(&name.provider), Availability::NoKey { .. });
            (error, missing)
        })?;
        let (provider_name, model) = (Some(name.provider.clone()), name.model.clone());
        let aimed = ModelRequest { provider: provider_name, model, ..request.clone() };
        // From here on the call is this model's, also if it is stopped.
        if let Some(instead) = instead {
            at.meter.turn_to(instead, &aimed).await;
        }
        let mut shown = false;
        let mut show = |text: &str| {
            shown = true;
            delta(text);
        };
        let answer = provider.call(at, &aimed, &mut show).await;
        answer.map_err(|error| {
            let go_on = !shown && may_be_better_elsewhere(&error);
            (error, go_on)
        })
    }
}

#[async_trait]
impl ModelProvider for ByStep {
    async fn call(
        &self,
        at: CallSite<'_>,
        request: &ModelRequest,
        delta: &mut (dyn for<'d> FnMut(&'d str) + Send),
    ) -> Result<ModelAnswer, ModelError> {
        let (Some(others), Some(provider)) = (self.others.get(&at.step), &request.provider) else {
            return self.registry.by_name().call(at, request, delta).await;
        };
        let own = ModelName { provider: provider.clone(), model: request.model.clone() };
        let mut failed = Failed::default();
        for name in std::iter::once(&own).chain(others.iter()) {
            match self.ask(at, request, name, failed.instead(name), delta).await {
                Ok(answer) => return Ok(failed.then(name, answer)),
                Err((error, true)) => failed.add(name, error),
                Err((error, false)) => return Err(failed.and(name.to_string(), error)),
            }
        }
        Err(failed.all())
    }

    fn label(&self, request: &ModelRequest) -> String {
        self.registry.by_name().label(request)
    }
}

/// The models that have failed so far.
#[derive(Default)]
struct Failed(Vec<(String, ModelError)>);

impl Failed {
    fn add(&mut self, name: &ModelName, error: ModelError) {
        self.0.push((name.to_string(), error));
    }

    /// Another one is asked now; none: it is the first.
    fn instead(&self, by: &ModelName) -> Option<Instead> {
        (!self.0.is_empty()).then(|| self.told(by.to_string()))
    }

    /// Interrupted calls may cost money, each at the price of its model.
    fn told(&self, by: String) -> Instead {
        let before = self.0.iter().map(|(model, error)| {
            let usage = error.came.as_ref().map(|came| came.usage);
            AskedBefore { model: model.clone(), why: error.message.clone(), usage }
        });
        Instead { by, before: before.collect() }
    }

    /// Adds the earlier failures to an answer.
    fn then(self, name: &ModelName, mut answer: ModelAnswer) -> ModelAnswer {
        answer.instead = self.instead(name).map(Box::new);
        answer
    }

    /// Adds the earlier failures to an error that ends the call.
    fn and(self, by: String, mut error: ModelError) -> ModelError {
        if self.0.is_empty() {
            return error;
        }
        let told = self.told(by);
        error.message = format!("{}; before that, {}", error.message, told.why());
        if error.came.is_some() || told.before.iter().any(|one| one.usage.is_some()) {
            let came = error.came.get_or_insert_with(|| Box::new(ModelAnswer::new("", Usage::default())));
            came.instead = Some(Box::new(told));
        }
        error
    }

    /// All models have failed. The wait before a retry is the shortest one that they requested.
    fn all(mut self) -> ModelError {
        let waits: Option<Vec<u64>> = self.0.iter().map(|(_, error)| error.retry_after_ms).collect();
        let wait = waits.and_then(|waits| waits.into_iter().min());
        let Some((by, last)) = self.0.pop() else {
            return ModelError::new(ModelErrorKind::Setup, "no model is configured");
        };
        ModelError { retry_after_ms: wait, ..self.and(by, last) }
    }
}
